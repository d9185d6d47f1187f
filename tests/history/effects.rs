//! I7 and I8: what really happened in the simulated world, beside the orders.

use crate::history::journal::Journal;
use crate::history::rows::Rows;
use crate::history::{Invariant, Violation};
use std::collections::{BTreeMap, HashMap};

/// Everything that is wrong.
pub fn check(rows: &Rows, journal: &Journal) -> Vec<Violation> {
    let mut found = one_charge_for_each_attempt(journal);
    found.extend(captured_is_the_amount(rows, journal));
    found.extend(every_charge_is_an_effect(journal));
    found.extend(one_effect_for_each_key(journal));
    found
}

fn one_charge_for_each_attempt(journal: &Journal) -> Vec<Violation> {
    let mut attempts: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for (id, charge) in &journal.charges {
        attempts.entry((&charge.order_id, &charge.attempt)).or_default().push(id);
    }
    let twice = attempts.into_iter().filter(|(_, ids)| ids.len() > 1);
    let say = |((order, attempt), ids): ((&str, &str), Vec<&str>)| {
        format!("attempt {attempt} of order {order} was charged {} times: {}", ids.len(), ids.join(", "))
    };
    twice.map(|attempt| Violation::new(Invariant::I7, say(attempt))).collect()
}

fn captured_is_the_amount(rows: &Rows, journal: &Journal) -> Vec<Violation> {
    let amounts: HashMap<&str, i64> = rows.orders.iter().map(|((_, id), amount)| (id.as_str(), *amount)).collect();
    let mut captured: BTreeMap<&str, i64> = BTreeMap::new();
    for charge in journal.charges.values() {
        *captured.entry(&charge.order_id).or_default() += charge.amount;
    }
    let wrong = captured.into_iter().filter_map(|(order, sum)| match amounts.get(order) {
        None => Some(format!("{sum} was taken for the order {order:?}, which is not there")),
        Some(amount) if *amount != sum => Some(format!("{sum} was taken for order {order}, whose amount is {amount}")),
        Some(_) => None,
    });
    wrong.map(|what| Violation::new(Invariant::I7, what)).collect()
}

/// The world counts money twice, as charges and as effects. If the two do not agree, neither is a judge.
fn every_charge_is_an_effect(journal: &Journal) -> Option<Violation> {
    let money = journal.effects.iter().filter(|((kind, _), _)| kind == "charge");
    let (effects, charges) = (money.map(|(_, count)| *count).sum::<u64>(), journal.charges.len() as u64);
    let what = || format!("the journal tells of {charges} charges that took money, and of {effects} effects");
    (effects != charges).then(|| Violation::new(Invariant::I7, what()))
}

fn one_effect_for_each_key(journal: &Journal) -> Vec<Violation> {
    let twice = journal.effects.iter().filter(|(_, count)| **count > 1);
    let say = |((kind, key), count): (&(String, String), &u64)| {
        let invariant = if kind == "charge" { Invariant::I7 } else { Invariant::I8 };
        Violation::new(invariant, format!("{kind} was done {count} times under the key {key}"))
    };
    twice.map(say).collect()
}
