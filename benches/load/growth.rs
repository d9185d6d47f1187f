//! What happens when the tables are large: the same works on an empty and on a loaded database in turn.
//!
//! Twice, each with databases of its own: with random keys, and with keys that grow with time. At last the clean-up runs
//! beside the works, with one in twenty of the loaded keys to remove.
//!
//! Replays ask for any of the loaded keys, on the empty database for any of the few that there are: what caches give to
//! those is part of the comparison.

mod fill;
mod report;

use std::path::Path;
use std::time::Duration;

use tokio_postgres::Client;

use crate::Failure;
use crate::keys::{KeyOrder, Keys, Listed, Loaded};
use crate::options::Options;
use crate::plan::{Progress, Run, describe};
use crate::service::{Service, raise_open_files};
use crate::setup::Running;
use crate::stand::Stand;
use crate::work::{GROWTH_WORKS, Work};

pub use report::GrowthReport;

/// With how many connections the works run, unless others are asked for.
const CONNECTIONS: [usize; 1] = [128];

/// How much write-ahead log is kept: the disk has to hold it beside the rows, and it is enough for all runs without a
/// checkpoint.
const WAL: &str = "6GB";

/// What runs while keys are removed.
const CLEANED_WORKS: [Work; 2] = [Work::New, Work::Replay];

/// Where a work ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// On a database that the bench only has begun to fill.
    Empty,
    /// On one with many orders.
    Loaded,
    /// On that, while expired keys are removed.
    Cleaned,
}

/// The two services that are compared.
struct Pair {
    order: KeyOrder,
    empty: (Service, Keys),
    loaded: (Service, Keys),
}

/// Measures both variants.
pub async fn measure(options: &Options, directory: &Path) -> Result<GrowthReport, Failure> {
    raise_open_files();
    let rows = fill::rows()?;
    let stand = Stand::start(directory, WAL).await?;
    let mut report = GrowthReport::new(stand.environment.clone(), options, rows);
    eprintln!("{}", stand.environment.line());
    for order in [KeyOrder::Random, KeyOrder::TimeOrdered] {
        // What one variant has found is told whatever becomes of the other.
        if let Err(failure) = variant(&stand, order, rows, options, &mut report).await {
            report.fail(order, &failure);
        }
    }
    Ok(report)
}

async fn variant(
    stand: &Stand,
    order: KeyOrder,
    rows: u64,
    options: &Options,
    report: &mut GrowthReport,
) -> Result<(), Failure> {
    let pair = Pair::start(stand, order, rows).await?;
    pair.measure(stand, options, report).await?;
    pair.end(stand).await
}

impl Pair {
    async fn start(stand: &Stand, order: KeyOrder, rows: u64) -> Result<Self, Failure> {
        let empty = Service::start(stand, "empty").await?;
        empty.warm_up(stand).await?;
        let loaded = Service::start(stand, "loaded").await?;
        loaded.warm_up(stand).await?;
        fill::check_disk(&loaded, stand.directory.path(), rows).await?;
        let filled = fill::fill(stand, &loaded, rows, order).await?;
        // Once more: its statements are planned for the tables as they are now.
        loaded.warm(stand).await?;
        let empty_keys = keys(&empty, order, None).await?;
        let loaded_keys = keys(&loaded, order, Some(filled)).await?;
        Ok(Self { order, empty: (empty, empty_keys), loaded: (loaded, loaded_keys) })
    }

    async fn measure(&self, stand: &Stand, options: &Options, report: &mut GrowthReport) -> Result<(), Failure> {
        let both = [Place::Empty, Place::Loaded];
        self.run_all(stand, options, report, &both, &GROWTH_WORKS).await?;
        let (service, _) = &self.loaded;
        // What a worker does every minute, begun at once.
        let cleaner = Running::start(stand.directory.path(), "cleaner", &service.url, &["cleanup"])?;
        let before = expired(&service.client).await?;
        self.run_all(stand, options, report, &[Place::Cleaned], &CLEANED_WORKS).await?;
        let left = expired(&service.client).await?;
        cleaner.end().await;
        eprintln!("the clean-up removed {} keys meanwhile, and {left} were left", before - left);
        report.add_removed(self.order, before - left, left);
        Ok(())
    }

    async fn run_all(
        &self,
        stand: &Stand,
        options: &Options,
        report: &mut GrowthReport,
        places: &[Place],
        works: &[Work],
    ) -> Result<(), Failure> {
        let mut runs = Vec::new();
        for _ in 0..options.rounds {
            for &connections in options.connections(&CONNECTIONS) {
                for &work in works.iter().filter(|work| options.wants(work.word())) {
                    let run = Run { work, connections, duration: options.duration };
                    runs.extend(places.iter().map(|&place| (place, run)));
                }
            }
        }
        let mut progress = Progress::new(&runs.iter().map(|(_, run)| *run).collect::<Vec<_>>(), Duration::ZERO);
        for (place, run) in runs {
            let (service, keys) = if place == Place::Empty { &self.empty } else { &self.loaded };
            progress.begin();
            let sample = service.run(stand, &run, *keys).await?;
            progress.end(&run);
            eprintln!("{:?}, {place:?}: {}  ({progress})", self.order, describe(&run, &sample));
            report.add((self.order, run.work, run.connections, place), sample);
        }
        Ok(())
    }

    /// Gives the disk back before the next variant needs it.
    async fn end(self, stand: &Stand) -> Result<(), Failure> {
        for (service, name) in [(self.empty.0, "empty"), (self.loaded.0, "loaded")] {
            service.server.end().await;
            drop(service.client);
            stand.client.batch_execute(&format!("DROP DATABASE {name} WITH (FORCE)")).await?;
        }
        stand.client.batch_execute("CHECKPOINT").await?;
        Ok(())
    }
}

async fn keys(service: &Service, order: KeyOrder, loaded: Option<Loaded>) -> Result<Keys, Failure> {
    let ends = "SELECT (SELECT order_id FROM orders WHERE org_id = $1 ORDER BY order_id LIMIT 1),
        (SELECT order_id FROM orders WHERE org_id = $1 ORDER BY order_id DESC LIMIT 1)";
    let row = service.client.query_one(ends, &[&service.org_id]).await?;
    Ok(Keys { order, loaded, listed: Some(Listed { low: row.try_get(0)?, high: row.try_get(1)? }) })
}

async fn expired(client: &Client) -> Result<i64, Failure> {
    let count = "SELECT count(*) FROM idempotency_keys WHERE expires_at <= now()";
    Ok(client.query_one(count, &[]).await?.try_get(0)?)
}
