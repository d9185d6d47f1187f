//! Nothing is left half done.

use crate::judge::evidence::Evidence;
use crate::ledger::{Kind, Violation};

/// Everything that is wrong.
pub fn check(evidence: &Evidence, max_cases: usize) -> Vec<Violation> {
    let mut found = Vec::new();
    for ((org_id, key), claim) in evidence.claims.iter().filter(|(_, claim)| claim.state != "completed") {
        if !evidence.is_flagged(claim.order_id.as_ref()) {
            let what = format!("{key} of organisation {org_id} is {}", claim.state);
            found.push(Violation::new(Kind::Unfinished, what));
        }
    }
    if evidence.unfinished_operations() > 0 {
        let what = format!("operations by state: {:?}", evidence.operations);
        found.push(Violation::new(Kind::Unfinished, what));
    }
    if evidence.idle_in_transaction > 0 {
        let what = format!("{} sessions are idle in a transaction", evidence.idle_in_transaction);
        found.push(Violation::new(Kind::Unfinished, what));
    }
    for record in evidence.records.iter().filter(|record| record.told.is_none()) {
        if !evidence.is_flagged(evidence.order_id_of(record)) {
            let what = format!("{} of organisation {} has no definite answer", record.call.key, record.org_id);
            found.push(Violation::new(Kind::Unfinished, what));
        }
    }
    let cases = evidence.cases.len().max(evidence.flagged.len());
    if cases > max_cases {
        let what = format!("{cases} orders wait for a person, {max_cases} are tolerated");
        found.push(Violation::new(Kind::Cases, what));
    }
    found
}
