//! The judges: pure functions that compare what clients were told with what the database holds and with what the
//! simulated gateway really did.

mod acknowledgements;
mod charges;
mod evidence;
mod history;
mod leftovers;
mod settle;
pub mod steps;
mod teeth;

use crate::ledger::Violation;

pub use evidence::Evidence;
pub use history::check_history;
pub use settle::settle;
pub use teeth::{TEETH, bite};

/// Everything that is wrong. `max_cases` open reconciliation cases are tolerated.
pub fn judge(evidence: &Evidence, max_cases: usize) -> Vec<Violation> {
    let mut found = acknowledgements::check(evidence);
    found.extend(charges::check(evidence));
    found.extend(steps::check(evidence));
    found.extend(leftovers::check(evidence, max_cases));
    found
}
