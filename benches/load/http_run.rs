//! One run of HTTP load: many connections, each with one request under way at any time.

use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::Failure;
use crate::client::{Answer, Connection, ORDER_ANSWER_BYTES, PAGE_ANSWER_BYTES};
use crate::keys::Keys;
use crate::requests::{KNOWN, Requests};
use crate::tally::{Tally, unexpected};
use crate::work::Work;

/// How long the last answers may take after the end of a run.
pub const GRACE: Duration = Duration::from_secs(10);

/// A connection with more errors than this gives up: the run has failed anyway.
const ERROR_LIMIT: u64 = 20;

/// Whom the load goes to.
#[derive(Debug, Clone)]
pub struct Target {
    /// Host and port.
    pub address: String,
    /// The API key.
    pub token: String,
}

/// What is sent.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    /// Which requests.
    pub work: Work,
    /// How their keys are made, unless the work says.
    pub keys: Keys,
    /// How many requests are under way at any time.
    pub connections: usize,
    /// For how long.
    pub duration: Duration,
    /// The number of this run, another one for each.
    pub run: u32,
}

impl Load {
    fn answer_bytes(&self) -> usize {
        if self.work.is_list() { PAGE_ANSWER_BYTES } else { ORDER_ANSWER_BYTES }
    }
}

/// One connection at the end of a run.
struct Driven {
    tally: Tally,
    /// Keys of the run that this connection has sent, all from 0 on.
    sent: u32,
    /// Those of them that it was told to have made.
    made: Vec<u32>,
}

impl Driven {
    /// Makes the next request; gives the status that is expected.
    fn prepare(&mut self, requests: &mut Requests, load: Load) -> u16 {
        if load.work != Work::Storm {
            return requests.next(load.work);
        }
        requests.numbered(load.run, self.sent);
        self.sent += 1;
        201
    }

    fn note(&mut self, work: Work, expected: u16, answer: &Answer<'_>, latency: Duration) {
        self.tally.answer(work, expected, answer, latency);
        if work == Work::Storm && answer.status == 201 {
            self.made.push(self.sent - 1);
        }
    }
}

/// Sends a load; gives what happened and how long it took until the last answer.
pub async fn run(target: &Target, load: Load) -> Result<(Tally, Duration), Failure> {
    let opened = open(target, load.connections, load.answer_bytes()).await?;
    let start = Instant::now();
    let until = start + load.duration;
    let mut tasks = JoinSet::new();
    for connection in opened {
        tasks.spawn(drive(connection, target.clone(), load, until));
    }
    let mut total = Tally::default();
    let mut race = Race::default();
    let all = async {
        while let Some(driven) = tasks.join_next().await {
            let Driven { tally, sent, made } = driven?;
            total.merge(tally);
            race.add(sent, &made);
        }
        Ok::<(), Failure>(())
    };
    let in_time = timeout(load.duration + GRACE, all).await;
    let elapsed = start.elapsed();
    match in_time {
        Ok(result) => result?,
        // Tasks that hang end when the set is dropped, and what they have measured is lost with them.
        Err(_) => (0..tasks.len()).for_each(|_| total.error(format!("no answer within {GRACE:?}"))),
    }
    race.judge(&mut total);
    Ok((total, elapsed))
}

/// How often each key of a same-key storm has made an order, by its number.
#[derive(Debug, Default)]
struct Race(Vec<u32>);

impl Race {
    fn add(&mut self, sent: u32, made: &[u32]) {
        self.0.resize(self.0.len().max(sent as usize), 0);
        for &index in made {
            self.0[index as usize] += 1;
        }
    }

    /// Each key must have made exactly one order.
    fn judge(&self, total: &mut Tally) {
        for (index, &made) in self.0.iter().enumerate().filter(|&(_, &made)| made != 1) {
            total.error(format!("key {index} was answered with 201 {made} times"));
        }
    }
}

/// Makes the orders that are replayed later. Each request must be answered as new.
pub async fn create_known(target: &Target, connections: usize) -> Result<(), Failure> {
    let connections = u32::try_from(connections)?;
    let mut tasks = JoinSet::new();
    for (first, mut connection) in (0..).zip(open(target, connections as usize, ORDER_ANSWER_BYTES).await?) {
        let mut requests = Requests::new(&target.address, &target.token, Work::New, Keys::RANDOM);
        tasks.spawn(async move {
            for index in (first..KNOWN).step_by(connections as usize) {
                requests.known(index);
                let answer = connection.exchange(requests.bytes()).await?;
                if answer.status != 201 {
                    return Err(Failure::from(unexpected(&answer)));
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

/// Sends one request on a connection of its own; gives the status.
pub async fn send_one(target: &Target, request: &[u8]) -> Result<u16, Failure> {
    let mut connection = Connection::open(&target.address, ORDER_ANSWER_BYTES).await?;
    let answer = timeout(GRACE, connection.exchange(request)).await??;
    Ok(answer.status)
}

async fn open(target: &Target, connections: usize, answer_bytes: usize) -> Result<Vec<Connection>, Failure> {
    let mut opened = Vec::with_capacity(connections);
    for number in 1..=connections {
        let connection = timeout(GRACE, Connection::open(&target.address, answer_bytes)).await;
        let connection = connection.map_err(|_| format!("connection {number} was not accepted within {GRACE:?}"))?;
        opened.push(connection.map_err(|error| format!("connection {number}: {error}"))?);
    }
    Ok(opened)
}

/// One connection's loop. Never waits for anything but the answer.
async fn drive(mut connection: Connection, target: Target, load: Load, until: Instant) -> Driven {
    let mut requests = Requests::new(&target.address, &target.token, load.work, load.keys);
    let mut driven = Driven { tally: Tally::default(), sent: 0, made: Vec::new() };
    let mut now = Instant::now();
    while now < until && driven.tally.errors < ERROR_LIMIT {
        let expected = driven.prepare(&mut requests, load);
        let sent = Instant::now();
        let outcome = connection.exchange(requests.bytes()).await;
        now = Instant::now();
        match outcome {
            Ok(answer) => driven.note(load.work, expected, &answer, now - sent),
            Err(error) => {
                driven.tally.error(error.to_string());
                match Connection::open(&target.address, load.answer_bytes()).await {
                    Ok(next) => connection = next,
                    Err(error) => {
                        driven.tally.error(error.to_string());
                        return driven;
                    }
                }
            }
        }
    }
    driven
}
