//! Money moved exactly where a client was told so, once, and in the order's amount.

use crate::clients::Record;
use crate::judge::evidence::{Effect, Evidence};
use crate::judge::steps::STEPS;
use crate::ledger::{Kind, Violation};
use crate::orders::Method;
use std::collections::HashMap;

/// What really happened to one order.
#[derive(Debug, Clone, Copy, Default)]
struct Money {
    charges: u64,
    refunds: u64,
}

type Ledgers<'a> = HashMap<&'a str, Money>;

/// Everything that is wrong.
pub fn check(evidence: &Evidence) -> Vec<Violation> {
    let (ledgers, mut found) = add_up(evidence);
    for (order_id, money) in &ledgers {
        if money.charges > 1 {
            found.push(Violation::new(Kind::DoubleCharge, format!("order {order_id} was charged: {money:?}")));
        }
        if money.refunds > 1 || money.charges < money.refunds {
            found.push(Violation::new(Kind::WrongRefund, format!("order {order_id} was refunded: {money:?}")));
        }
    }
    for record in &evidence.records {
        let order_id = evidence.order_id_of(record);
        let money = order_id.and_then(|order_id| ledgers.get(order_id.as_str())).copied().unwrap_or_default();
        found.extend(charged(record, money).err());
        found.extend(refunded(evidence, record, money).err());
    }
    found
}

/// Effects by order; those of no order, or of another amount, are wrong.
fn add_up(evidence: &Evidence) -> (Ledgers<'_>, Vec<Violation>) {
    let amounts: HashMap<_, _> = evidence.orders.iter().map(|((_, id), amount)| (id.as_str(), *amount)).collect();
    let mut ledgers = Ledgers::new();
    let mut found = Vec::new();
    let money = |effect: &&Effect| !STEPS.contains(&effect.kind.as_str());
    for effect in evidence.effects.iter().filter(money) {
        let order_id = effect.order_id.as_deref().unwrap_or_default();
        let kind = if effect.kind == "refund" { Kind::WrongRefund } else { Kind::WrongCharge };
        match amounts.get(order_id) {
            None => found.push(Violation::new(kind, format!("of an order that is not there: {effect:?}"))),
            Some(amount) if effect.amount != Some(*amount) => {
                found.push(Violation::new(kind, format!("the order's amount is {amount}: {effect:?}")));
            }
            Some(_) => {}
        }
        add(ledgers.entry(order_id).or_default(), effect);
    }
    (ledgers, found)
}

fn add(money: &mut Money, effect: &Effect) {
    if effect.kind == "refund" {
        money.refunds += effect.count;
    } else {
        money.charges += effect.count;
    }
}

/// The charge is what the client was told. That there is at most one is looked at elsewhere.
fn charged(record: &Record, money: Money) -> Result<(), Violation> {
    let wrong = |kind, why: &str| {
        let told = record.told.as_ref().map(|told| told.answer.to_string());
        let (key, method) = (&record.call.key, record.order.method);
        let what = format!("{key} of organisation {}, {method:?}: {why}; {money:?}, told {told:?}", record.org_id);
        Err(Violation::new(kind, what))
    };
    if record.order.method.is_none() && money.charges > 0 {
        return wrong(Kind::WrongCharge, "a charge nobody asked for");
    }
    let Some(told) = &record.told else { return Ok(()) };
    let Some(method) = record.order.method else {
        return if told.answer.status == 402 { wrong(Kind::Answer, "declined without a payment") } else { Ok(()) };
    };
    match told.answer.status {
        402 if money.charges > 0 => wrong(Kind::WrongCharge, "charged, and told that it was declined"),
        402 if method != Method::Declined => wrong(Kind::WrongCharge, "a good card was declined"),
        402 => Ok(()),
        _ if money.charges == 0 => wrong(Kind::WrongCharge, "told that it was paid, and not charged"),
        _ if told.answer.payment_status().as_deref() != Some("succeeded") => {
            wrong(Kind::Answer, "a definite answer without a payment that succeeded")
        }
        _ => Ok(()),
    }
}

/// A charge is given back if, and only if, its order was cancelled.
fn refunded(evidence: &Evidence, record: &Record, money: Money) -> Result<(), Violation> {
    let wrong = |why: &str| {
        let what = format!("{} of organisation {}: {why}; {money:?}", record.call.key, record.org_id);
        Err(Violation::new(Kind::WrongRefund, what))
    };
    match &record.cancel {
        None if money.refunds > 0 => wrong("a refund nobody asked for"),
        Some(cancel) if cancel.told.is_some() && money.refunds < money.charges => {
            // A person decides, and the case is counted.
            let waits = evidence.is_flagged(evidence.order_id_of(record));
            if waits { Ok(()) } else { wrong("cancelled, and not given back") }
        }
        _ => Ok(()),
    }
}
