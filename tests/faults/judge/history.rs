//! The history beside the tables and the gateway's journal: the checker that any run can use, fed with this one.

use crate::Failure;
use crate::gateway::Gateway;
use crate::history::answer::sha256;
use crate::history::journal::Journal;
use crate::history::reader::History;
use crate::history::rows::{ClaimRow, Rows};
use crate::history::{Verdict, check};
use crate::judge::evidence::{Claim, Evidence};
use std::path::Path;

/// Checks a history that is over.
///
/// # Errors
///
/// When the history or the journal cannot be read: what was not looked at is not proven.
pub fn check_history(book: &Path, evidence: &Evidence, gateways: &[Gateway]) -> Result<Verdict, Failure> {
    let history = History::read(book)?;
    let journals: Vec<_> = gateways.iter().map(|gateway| gateway.journal.as_path()).collect();
    let journal = if journals.is_empty() { None } else { Some(Journal::read(&journals)?) };
    Ok(check(&history, &rows(evidence), journal.as_ref()))
}

fn rows(evidence: &Evidence) -> Rows {
    let claims = evidence.claims.iter().map(|(name, claim)| (name.clone(), row(claim)));
    let orders = evidence.orders.iter().map(|(name, amount)| (name.clone(), *amount));
    Rows { claims: claims.collect(), orders: orders.collect() }
}

fn row(claim: &Claim) -> ClaimRow {
    let body = claim.body.as_ref().filter(|_| claim.state == "completed");
    ClaimRow { order_id: claim.order_id.clone(), answer: body.map(|body| sha256(&[body])) }
}
