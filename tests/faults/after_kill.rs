//! How long a client waits for its definite answer when its server is killed.

use crate::ledger::{Kind, Violation};
use crate::stack::LEASE;
use std::time::Duration;

/// p99 is to be within the lease, which nobody can shorten for a holder that died, and the time to notice, ask and answer.
pub const BOUND: Duration = LEASE.saturating_add(Duration::from_secs(2));

/// How long a call took that was caught in a kill.
#[derive(Debug, Clone, Copy)]
pub struct AfterKill {
    /// From the first kill that caught it to its definite answer.
    pub time: Duration,
    /// Whether nothing else went wrong in that time.
    pub alone: bool,
}

/// Of these times.
#[derive(Debug, Clone, Copy)]
pub struct Percentiles {
    /// How many there are.
    pub count: usize,
    /// The middle.
    pub p50: Duration,
    /// Nearest rank.
    pub p99: Duration,
    /// The longest.
    pub most: Duration,
}

impl Percentiles {
    /// Of some times; `None` of none.
    pub fn of(times: impl IntoIterator<Item = Duration>) -> Option<Self> {
        let mut times: Vec<_> = times.into_iter().collect();
        times.sort_unstable();
        let at = |percent: usize| times.get((times.len() * percent).div_ceil(100).saturating_sub(1)).copied();
        Some(Self { count: times.len(), p50: at(50)?, p99: at(99)?, most: at(100)? })
    }

    /// Of the calls that were caught in one kill and nothing else.
    pub fn alone(all: &[AfterKill]) -> Option<Self> {
        Self::of(all.iter().filter(|after| after.alone).map(|after| after.time))
    }
}

/// A run of single kills in which answers took too long, or in which nothing was caught and nothing is known.
pub fn check(all: &[AfterKill]) -> Option<Violation> {
    match Percentiles::alone(all) {
        None => Some(Violation::new(Kind::Late, "no request was caught in a kill")),
        Some(times) if times.p99 > BOUND => Some(Violation::new(
            Kind::Late,
            format!("from a kill to the answer p99 is {:?}, over {BOUND:?}", times.p99),
        )),
        Some(_) => None,
    }
}
