//! One run of HTTP load: many connections, each with one request under way at any time.

use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::Failure;
use crate::client::Connection;
use crate::requests::{KNOWN, Requests};
use crate::work::Work;

/// How long the last answers may take after the end of a run.
const GRACE: Duration = Duration::from_secs(10);

/// A connection with more errors than this gives up: the run has failed anyway.
const ERROR_LIMIT: u64 = 20;

/// How many errors are described.
const NOTES: usize = 3;

/// How much of an unexpected answer is shown.
const NOTE_LENGTH: usize = 300;

/// Whom the load goes to.
#[derive(Debug, Clone)]
pub struct Target {
    /// Host and port.
    pub address: String,
    /// The API key.
    pub token: String,
}

/// What happened on one connection, or on all of them.
#[derive(Debug, Default)]
pub struct Tally {
    /// Microseconds of each request that was answered as it should be.
    pub latencies: Vec<u32>,
    /// Requests that were not.
    pub errors: u64,
    /// The first few of these.
    pub notes: Vec<String>,
}

impl Tally {
    fn error(&mut self, note: String) {
        self.errors += 1;
        if self.notes.len() < NOTES {
            self.notes.push(note);
        }
    }

    fn merge(&mut self, other: Tally) {
        self.latencies.extend(other.latencies);
        self.errors += other.errors;
        self.notes.extend(other.notes);
        self.notes.truncate(NOTES);
    }
}

/// Runs a work for a time; gives what happened and how long it took until the last answer.
pub async fn run(
    target: &Target,
    work: Work,
    connections: usize,
    duration: Duration,
) -> Result<(Tally, Duration), Failure> {
    let opened = open(target, connections).await?;
    let start = Instant::now();
    let until = start + duration;
    let mut tasks = JoinSet::new();
    for connection in opened {
        tasks.spawn(drive(connection, target.clone(), work, until));
    }
    let mut total = Tally::default();
    let all = async {
        while let Some(tally) = tasks.join_next().await {
            total.merge(tally?);
        }
        Ok::<(), Failure>(())
    };
    let in_time = timeout(duration + GRACE, all).await;
    let elapsed = start.elapsed();
    match in_time {
        Ok(result) => result?,
        // Tasks that hang end when the set is dropped, and what they have measured is lost with them.
        Err(_) => (0..tasks.len()).for_each(|_| total.error(format!("no answer within {GRACE:?}"))),
    }
    Ok((total, elapsed))
}

/// Makes the orders that are replayed later. Each request must be answered as new.
pub async fn create_known(target: &Target, connections: usize) -> Result<(), Failure> {
    let connections = u32::try_from(connections)?;
    let mut tasks = JoinSet::new();
    for (first, mut connection) in (0..).zip(open(target, connections as usize).await?) {
        let mut requests = Requests::new(&target.address, &target.token);
        tasks.spawn(async move {
            for index in (first..KNOWN).step_by(connections as usize) {
                requests.known(index);
                let (status, body) = connection.exchange(requests.bytes()).await?;
                if status != 201 {
                    return Err(Failure::from(unexpected(status, body)));
                }
            }
            Ok(())
        });
    }
    let all = async {
        while let Some(result) = tasks.join_next().await {
            result??;
        }
        Ok(())
    };
    timeout(GRACE, all).await.map_err(|_| "the orders to replay could not be made in time")?
}

async fn open(target: &Target, connections: usize) -> Result<Vec<Connection>, Failure> {
    let mut opened = Vec::with_capacity(connections);
    for _ in 0..connections {
        opened.push(timeout(GRACE, Connection::open(&target.address)).await??);
    }
    Ok(opened)
}

/// One connection's loop. Never waits for anything but the answer.
async fn drive(mut connection: Connection, target: Target, work: Work, until: Instant) -> Tally {
    let mut requests = Requests::new(&target.address, &target.token);
    let mut tally = Tally::default();
    let mut now = Instant::now();
    while now < until && tally.errors < ERROR_LIMIT {
        let expected = requests.next(work);
        let sent = Instant::now();
        let outcome = connection.exchange(requests.bytes()).await;
        now = Instant::now();
        match outcome {
            Ok((status, _)) if status == expected => tally.latencies.push(micros(now - sent)),
            Ok((status, body)) => tally.error(unexpected(status, body)),
            Err(error) => {
                tally.error(error.to_string());
                match Connection::open(&target.address).await {
                    Ok(next) => connection = next,
                    Err(error) => {
                        tally.error(error.to_string());
                        return tally;
                    }
                }
            }
        }
    }
    tally
}

fn unexpected(status: u16, body: &[u8]) -> String {
    let shown = &body[..body.len().min(NOTE_LENGTH)];
    format!("unexpected status {status}: {}", String::from_utf8_lossy(shown))
}

fn micros(duration: Duration) -> u32 {
    u32::try_from(duration.as_micros()).unwrap_or(u32::MAX)
}
