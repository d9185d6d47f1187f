//! What a run costs, seen from outside: CPU time, memory, write-ahead log.

use std::cell::Cell;
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::time::sleep;
use tokio_postgres::Client;

use crate::Failure;
use crate::process;
use crate::work::{Memory, Sample};

/// How often memory is looked at during a run.
const MEMORY_INTERVAL: Duration = Duration::from_millis(100);

/// Where the write-ahead log ends, in bytes. A double holds whole numbers up to 9 PB.
const WAL_END: &str = "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8";

/// Whom to look at.
pub struct Meter<'a> {
    /// For questions to PostgreSQL, before and after.
    pub client: &'a Client,
    /// PostgreSQL's first process.
    pub postmaster: u32,
    /// Processors.
    pub cores: usize,
    /// The processes of the service; none when it has no part.
    pub server: Vec<u32>,
}

/// What a run gave, seen from inside.
pub struct Outcome {
    /// Its figures.
    pub sample: Sample,
    /// How many requests or transactions there were.
    pub requests: f64,
    /// How many orders they made; 0 where that is not told.
    pub orders: f64,
}

/// What a run may tell while it goes on.
#[derive(Debug, Clone, Copy)]
pub enum Mark {
    /// The warm-up ends now.
    Warm,
    /// So many requests have been done since.
    Done(f64),
}

/// The last thing that was told by a run while it goes on.
#[derive(Default)]
pub struct Marks {
    last: Cell<Option<Mark>>,
    changed: Notify,
}

impl Marks {
    /// Tells it.
    pub fn set(&self, mark: Mark) {
        self.last.set(Some(mark));
        self.changed.notify_one();
    }
}

/// What was used at one moment since the beginning of time.
struct Used {
    at: Instant,
    server: Option<Duration>,
    postgres: Option<Duration>,
    others: Option<Duration>,
    wal: f64,
}

impl Meter<'_> {
    /// Runs something, and adds what it cost to its figures.
    pub async fn watch(&self, run: impl Future<Output = Result<Outcome, Failure>>) -> Result<Sample, Failure> {
        self.watch_marked(run, &Marks::default()).await
    }

    /// The same for what warms up first and is slow to end: counts from the first mark to the last.
    pub async fn watch_marked(
        &self,
        run: impl Future<Output = Result<Outcome, Failure>>,
        marks: &Marks,
    ) -> Result<Sample, Failure> {
        let mut before = self.used().await?;
        let mut marked = None;
        let mut memory = None;
        tokio::pin!(run);
        let Outcome { mut sample, mut requests, orders } = loop {
            tokio::select! {
                result = &mut run => break result?,
                () = sleep(MEMORY_INTERVAL) => memory = greatest(memory, self.memory()),
                () = marks.changed.notified() => {}
            }
            match marks.last.take() {
                Some(Mark::Warm) => before = self.used().await?,
                Some(Mark::Done(requests)) => marked = Some((self.used().await?, requests)),
                None => {}
            }
        };
        memory = greatest(memory, self.memory());
        let mut after = self.used().await?;
        if let Some((used, done)) = marked {
            (after, requests) = (used, done);
        }
        let orders = if orders > 0.0 { orders } else { requests };
        sample.memory = memory;
        sample.server_cpu_us = each(before.server, after.server, requests);
        sample.postgres_cpu_us = each(before.postgres, after.postgres, requests);
        sample.wal_bytes = (orders > 0.0).then(|| (after.wal - before.wal) / orders);
        let all = (after.at - before.at).as_secs_f64() * f64::from(u32::try_from(self.cores)?);
        let others = after.others.zip(before.others).map(|(after, before)| after.saturating_sub(before));
        sample.others = others.map(|used| used.as_secs_f64() / all);
        Ok(sample)
    }

    fn memory(&self) -> Option<Memory> {
        if self.server.is_empty() { None } else { process::memory(&self.server) }
    }

    async fn used(&self) -> Result<Used, Failure> {
        let at = Instant::now();
        let server = if self.server.is_empty() { None } else { process::cpu(&self.server) };
        let postgres = process::cpu_with_children(self.postmaster);
        let others = self.others();
        // Last, since PostgreSQL may be busy and answer late.
        let wal = self.client.query_one(WAL_END, &[]).await?.try_get(0)?;
        Ok(Used { at, server, postgres, others, wal })
    }

    /// CPU time of everything that does not belong to the bench.
    fn others(&self) -> Option<Duration> {
        let mut ours = process::tree(std::process::id());
        ours.extend(process::tree(self.postmaster));
        ours.sort_unstable();
        ours.dedup();
        process::cpu_of_all()?.checked_sub(process::cpu_with_ended(&ours))
    }
}

/// The greater of both figures.
fn greatest(seen: Option<Memory>, now: Option<Memory>) -> Option<Memory> {
    match (seen, now) {
        (Some(seen), Some(now)) => Some(seen.greatest(now)),
        (seen, now) => now.or(seen),
    }
}

/// Microseconds for each request.
fn each(before: Option<Duration>, after: Option<Duration>, requests: f64) -> Option<f64> {
    let used = after?.saturating_sub(before?);
    (requests > 0.0).then(|| used.as_secs_f64() * 1e6 / requests)
}
