//! What happens when the tables are large: the same works on an empty and on a loaded database in turn.
//!
//! Twice, each with databases of its own: with random keys, and with keys that grow with time. Of each page of an index that is
//! changed for the first time after a checkpoint PostgreSQL logs a full image: just after one nearly every order changes
//! such pages, later few do. So new orders are measured for a long time too, from a checkpoint on. At last the clean-up runs beside
//! the works, with one in twenty of the loaded keys to remove.
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
use crate::work::{GROWTH_WORKS, Sample, Work};

pub use report::GrowthReport;

/// With how many connections the works run, unless others are asked for.
const CONNECTIONS: [usize; 1] = [128];

/// How much write-ahead log is kept: the disk has to hold it beside the rows. A checkpoint comes by itself when about half of it is
/// written, which is more than the longest run writes.
const WAL: &str = "11GB";

/// New orders run for as long as so many other runs: by then most pages that they change have been changed since the checkpoint,
/// as during most of the time between two.
const SUSTAINED: u32 = 20;

/// What runs while keys are removed.
const CLEANED_WORKS: [Work; 2] = [Work::New, Work::Replay];

/// Where a work ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// On a database that the bench only has begun to fill.
    Empty,
    /// On one with many orders.
    Loaded,
    /// On that, while PostgreSQL compresses the images of pages in its log.
    Compressed,
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
    for &order in &options.keys {
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
        self.run_sustained(stand, options, report).await?;
        stand.client.batch_execute("CHECKPOINT").await?;
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

    async fn run_sustained(&self, stand: &Stand, options: &Options, report: &mut GrowthReport) -> Result<(), Failure> {
        if !options.wants(Work::Sustained.word()) {
            return Ok(());
        }
        for &connections in options.connections(&CONNECTIONS) {
            let run = Run { work: Work::Sustained, connections, duration: options.duration * SUSTAINED };
            for place in [Place::Empty, Place::Loaded] {
                self.run_from_checkpoint(stand, place, &run, report).await?;
            }
            // PostgreSQL can be built without it.
            if can_compress(&stand.client).await? {
                set_wal_compression(&stand.client, "lz4").await?;
                let measured = self.run_from_checkpoint(stand, Place::Compressed, &run, report).await;
                set_wal_compression(&stand.client, "off").await?;
                measured?;
            }
        }
        Ok(())
    }

    async fn run_from_checkpoint(
        &self,
        stand: &Stand,
        place: Place,
        run: &Run,
        report: &mut GrowthReport,
    ) -> Result<(), Failure> {
        stand.client.batch_execute("CHECKPOINT").await?;
        let before = checkpoint(&stand.client).await?;
        let mut sample = self.run(stand, place, run).await?;
        if checkpoint(&stand.client).await? != before {
            sample.errors += 1;
            sample.notes.push("another checkpoint fell into the run".to_owned());
        }
        eprintln!("{:?}, {place:?}: {}", self.order, describe(run, &sample));
        report.add((self.order, run.work, run.connections, place), sample);
        Ok(())
    }

    async fn run(&self, stand: &Stand, place: Place, run: &Run) -> Result<Sample, Failure> {
        let (service, keys) = if place == Place::Empty { &self.empty } else { &self.loaded };
        service.run(stand, run, *keys).await
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
            progress.begin();
            let sample = self.run(stand, place, &run).await?;
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

/// Where recovery would begin: another place after each checkpoint, as soon as that begins.
async fn checkpoint(client: &Client) -> Result<String, Failure> {
    let redo = "SELECT redo_lsn::text FROM pg_control_checkpoint()";
    Ok(client.query_one(redo, &[]).await?.try_get(0)?)
}

async fn can_compress(client: &Client) -> Result<bool, Failure> {
    let values = "SELECT 'lz4' = ANY (enumvals) FROM pg_settings WHERE name = 'wal_compression'";
    Ok(client.query_one(values, &[]).await?.try_get::<_, Option<bool>>(0)?.unwrap_or(false))
}

async fn set_wal_compression(client: &Client, value: &str) -> Result<(), Failure> {
    client.batch_execute(&format!("ALTER SYSTEM SET wal_compression = '{value}'")).await?;
    Ok(client.batch_execute("SELECT pg_reload_conf()").await?)
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
