//! Whatever a client was told is in the database, with the same bytes; and each key has made one order.

use crate::answer::Call;
use crate::clients::{Record, Told};
use crate::judge::evidence::{Evidence, Name};
use crate::ledger::{Kind, Violation};
use std::collections::HashMap;

/// Everything that is wrong.
pub fn check(evidence: &Evidence) -> Vec<Violation> {
    let mut found = Vec::new();
    for record in &evidence.records {
        if let Some(told) = &record.told {
            found.extend(stored(evidence, record.org_id, &record.call, told).err());
            found.extend(ordered(evidence, record, told).err());
        }
        if let Some(cancel) = &record.cancel
            && let Some(told) = &cancel.told
        {
            found.extend(stored(evidence, record.org_id, &cancel.call, told).err());
        }
    }
    found.extend(one_order_for_each_key(evidence));
    found
}

/// The stored answer is the one that was given.
fn stored(evidence: &Evidence, org_id: i64, call: &Call, told: &Told) -> Result<(), Violation> {
    let lost = |why: &str| {
        let what = format!("{} of organisation {org_id}: {why}; it was told {}", call.key, told.answer);
        Err(Violation::new(Kind::LostAcknowledgement, what))
    };
    let Some(claim) = evidence.claims.get(&(org_id, call.key.clone())) else {
        return lost("the key is not there");
    };
    if claim.state != "completed" {
        return lost(&format!("the key is {}", claim.state));
    }
    if claim.body.as_deref() != Some(&told.answer.body) {
        return lost("other bytes are stored");
    }
    if (claim.status == Some(402)) != (told.answer.status == 402) {
        return lost(&format!("the stored status is {:?}", claim.status));
    }
    Ok(())
}

/// The order is the one that was told of, and has the amount that was asked for.
fn ordered(evidence: &Evidence, record: &Record, told: &Told) -> Result<(), Violation> {
    let key = &record.call.key;
    let lost = |why: String| {
        let what = format!("{key} of organisation {}: {why}; it was told {}", record.org_id, told.answer);
        Err(Violation::new(Kind::LostAcknowledgement, what))
    };
    let Some(order_id) = told.answer.order_id() else {
        return lost("the answer names no order".to_owned());
    };
    if evidence.order_id_of(record) != Some(&order_id) {
        return lost("the key belongs to another order".to_owned());
    }
    match evidence.orders.get(&(record.org_id, order_id)) {
        None => lost("the order is not there".to_owned()),
        Some(amount) if *amount != record.order.amount => lost(format!("the order's amount is {amount}")),
        Some(_) => Ok(()),
    }
}

/// The keys of cancellations and of further payments belong to an order that another key has made.
fn makes_an_order(key: &str) -> bool {
    key.starts_with("order-")
}

fn one_order_for_each_key(evidence: &Evidence) -> Vec<Violation> {
    let mut claims: HashMap<Name, u32> = HashMap::new();
    let mut found = Vec::new();
    for ((org_id, key), claim) in evidence.claims.iter().filter(|((_, key), _)| makes_an_order(key)) {
        let order = (*org_id, claim.order_id.clone().unwrap_or_default());
        if !evidence.orders.contains_key(&order) {
            found.push(format!("{key} of organisation {org_id} has no order"));
        }
        *claims.entry(order).or_default() += 1;
    }
    let counts = evidence.orders.keys().map(|order| (order, claims.get(order).copied().unwrap_or_default()));
    let wrong = counts.filter(|(_, count)| *count != 1);
    found.extend(wrong.map(|(order, count)| format!("order {} belongs to {count} keys", order.1)));
    found.into_iter().map(|what| Violation::new(Kind::OrdersPerKey, what)).collect()
}
