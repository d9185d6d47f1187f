//! Every business step was done once for an order that was paid, and for no other.

use crate::judge::evidence::Evidence;
use crate::ledger::{Kind, Violation};
use std::collections::HashMap;

/// What a confirmed order starts here.
pub const STEPS: [&str; 4] = ["stock_reservation", "shipment_request", "confirmation_mail", "accounting_entry"];

/// Everything that is wrong.
pub fn check(evidence: &Evidence) -> Vec<Violation> {
    let (mut done, mut charged) = (HashMap::<(&str, &str), u64>::new(), HashMap::<&str, u64>::new());
    for effect in &evidence.effects {
        let order_id = effect.order_id.as_deref().unwrap_or_default();
        if STEPS.contains(&effect.kind.as_str()) {
            *done.entry((order_id, &effect.kind)).or_default() += effect.count;
        } else if effect.kind == "charge" {
            *charged.entry(order_id).or_default() += effect.count;
        }
    }
    let mut found = Vec::new();
    for ((order_id, step), count) in &done {
        if *count > 1 {
            found.push(Violation::new(Kind::DoubleStep, format!("{step} of order {order_id} was done {count} times")));
        }
        if !charged.contains_key(order_id) {
            found.push(Violation::new(
                Kind::WrongStep,
                format!("{step} was done for order {order_id}, which is not paid"),
            ));
        }
    }
    for record in &evidence.records {
        let told = record.told.as_ref().is_some_and(|told| told.answer.status < 300);
        let Some(order_id) = evidence.order_id_of(record).filter(|_| told && record.order.method.is_some()) else {
            continue;
        };
        // A cancelled order may have got as far as any step.
        if record.cancel.is_some() || evidence.is_flagged(Some(order_id)) {
            continue;
        }
        let missing = STEPS.iter().filter(|step| !done.contains_key(&(order_id.as_str(), *step)));
        found.extend(
            missing.map(|step| Violation::new(Kind::WrongStep, format!("{step} of order {order_id} was never done"))),
        );
    }
    found
}
