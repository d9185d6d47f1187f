//! Orders at a fixed pace, whatever the answers do: each request has a moment at which it is due, and its latency counts
//! from there. A service that stops for a second is charged with every request that was due in that second; a load
//! generator that waits for answers before it sends would leave them out.
//!
//! Each connection has a thread of its own, which sleeps until its next request is due and then waits for the answer in
//! the kernel. The timers of an asynchronous runtime have a granularity of 1 ms, more than what is measured; one that
//! looks at the clock all the time would take a core from the service. A thread that sleeps wakes within microseconds
//! once the kernel is asked not to gather its timers ([`Slack`]), and costs three system calls for each request.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::time::timeout;

use crate::Failure;
use crate::client::BlockingConnection;
use crate::http_run::{GRACE, Load, Target};
use crate::requests::Requests;
use crate::tally::{Tally, micros};
use crate::work::PACE;

/// Until the first request is due; all threads have begun to wait by then.
const HEAD_START: Duration = Duration::from_millis(100);

/// What a thread needs for its few buffers.
const STACK_BYTES: usize = 256 * 1024;

/// The part of the pace that has to be reached to speak of it.
pub const REACHED: f64 = 0.99;

/// One connection's part: every request whose number is `first` and some multiple of `step` more.
struct Part {
    connection: BlockingConnection,
    requests: Requests,
    load: Load,
    start: Instant,
    first: u32,
    step: u32,
    all: u32,
}

/// Sends new orders at [`PACE`]; gives what happened and how long it took from the first due moment to the last answer.
pub async fn run(target: &Target, load: Load) -> Result<(Tally, Duration), Failure> {
    let step = u32::try_from(load.connections)?;
    let all = PACE * u32::try_from(load.duration.as_secs())?;
    let opened: Vec<_> =
        (0..step).map(|_| BlockingConnection::open(&target.address, GRACE)).collect::<Result<_, _>>()?;
    let (done, mut parts) = unbounded_channel();
    let start = Instant::now() + HEAD_START;
    let slack = Slack::least();
    for (first, connection) in (0..).zip(opened) {
        let requests = Requests::new(&target.address, &target.token, load.work, load.keys);
        let part = Part { connection, requests, load, start, first, step, all };
        let done = done.clone();
        thread::Builder::new().stack_size(STACK_BYTES).spawn(move || part.send(&done))?;
    }
    drop(slack);
    drop(done);
    let mut total = Tally::default();
    let in_time = timeout(HEAD_START + load.duration + 2 * GRACE, async {
        while let Some(tally) = parts.recv().await {
            total.merge(tally);
        }
    });
    in_time.await.map_err(|_| "the threads of the paced run do not end")?;
    Ok((total, start.elapsed()))
}

impl Part {
    fn send(mut self, done: &UnboundedSender<Tally>) {
        let mut tally = Tally::default();
        for index in (self.first..self.all).step_by(self.step as usize) {
            let due = self.start + Duration::from_secs(1) * index / PACE;
            let expected = self.requests.next(self.load.work);
            thread::sleep(due.saturating_duration_since(Instant::now()));
            tally.sent_late.push(micros(due.elapsed()));
            match self.connection.exchange(self.requests.bytes()) {
                Ok(answer) => tally.answer(self.load.work, expected, &answer, due.elapsed()),
                Err(error) => {
                    // The requests that are left will not be sent: the pace is not reached, and it is said why.
                    tally.error(error.to_string());
                    break;
                }
            }
        }
        // Nobody listens any more when the bench is ending.
        let _ = done.send(tally);
    }
}

/// How much later than asked the kernel may wake a thread so as to wake several at once: 50 µs unless it is told
/// otherwise. Threads take it over from the one that starts them. Set back on drop.
struct Slack(Option<String>);

/// The main thread's, which is the one that starts the others.
const SLACK_FILE: &str = "/proc/self/timerslack_ns";

impl Slack {
    fn least() -> Self {
        let before = fs::read_to_string(SLACK_FILE).ok();
        // Where it cannot be set, latencies are those 50 µs longer, and the line about the pace shows it.
        let _ = fs::write(SLACK_FILE, "1");
        Self(before)
    }
}

impl Drop for Slack {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            let _ = fs::write(SLACK_FILE, before.trim());
        }
    }
}
