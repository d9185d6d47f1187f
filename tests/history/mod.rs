//! A history of what clients sent and were told, and the checker of it: what a run of any kind has to be true to, read
//! from three books that nobody of them wrote alone: the history, the database's rows, the simulated world's journal.
//!
//! A client writes a line before it sends and a line once it knows ([`writer`]); a call without its second line may have
//! happened at any later time, or never. The format is in [`line`]. Both test programs include this module; it knows
//! nothing of them, of the service's code or of its database.

pub mod answer;
mod effects;
pub mod journal;
pub mod line;
mod linear;
mod orders;
pub mod reader;
pub mod register;
pub mod rows;
pub mod writer;

use journal::Journal;
use reader::History;
use rows::Rows;
use std::fmt::{self, Display, Formatter};

/// What has to be true of every run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Invariant {
    /// One order for each key with an acknowledgement, at most one for any other.
    I1,
    /// All acknowledgements of one key and request carry the same order, amount and bytes.
    I2,
    /// Every acknowledged order is there.
    I3,
    /// Another request under a used key gets nothing and leaves nothing.
    I4,
    /// No answer holds another organisation's order.
    I5,
    /// Each key is linearizable as a write-once register.
    I6,
    /// One successful charge for each attempt, of the order's amount.
    I7,
    /// One effect for each operation key at every partner.
    I8,
}

/// One thing that is not true, with the reason in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Of which invariant.
    pub invariant: Invariant,
    /// What exactly.
    pub what: String,
}

impl Violation {
    /// One of this invariant.
    pub fn new(invariant: Invariant, what: impl Into<String>) -> Self {
        Self { invariant, what: what.into() }
    }
}

impl Display for Violation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.invariant, self.what)
    }
}

/// What the checker came to.
#[derive(Debug, Clone, Default)]
pub struct Verdict {
    /// Everything that is wrong.
    pub violations: Vec<Violation>,
    /// Calls that were looked at.
    pub calls: usize,
    /// Keys that were looked at.
    pub keys: usize,
    /// Registers that the search looked at, beside the rule.
    pub searched: usize,
    /// Registers with too many operations for the search, which the rule alone has judged.
    pub ruled: usize,
}

/// Checks all invariants. A journal of `None` is a world that nobody kept: then nothing is said of effects.
pub fn check(history: &History, rows: &Rows, journal: Option<&Journal>) -> Verdict {
    let mut verdict = Verdict { calls: history.calls.len(), ..Verdict::default() };
    verdict.violations.extend(orders::check(history, rows));
    linear::check(history, &mut verdict);
    if let Some(journal) = journal {
        verdict.violations.extend(effects::check(rows, journal));
    }
    verdict
}
