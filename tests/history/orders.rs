//! I1 to I5: plain joins of what clients were told with what the tables hold.

use crate::history::line::{Op, Said};
use crate::history::reader::{Call, History, Name};
use crate::history::rows::Rows;
use crate::history::{Invariant, Violation};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Everything that is wrong.
pub fn check(history: &History, rows: &Rows) -> Vec<Violation> {
    let keys = history.by_key();
    let mut found = Vec::new();
    for (name, calls) in &keys {
        found.extend(one_order(name, calls, rows));
        found.extend(same_answer(calls));
        found.extend(stored_answer(name, calls, rows));
        found.extend(one_request(name, calls));
    }
    for call in &history.calls {
        found.extend(still_there(call, rows));
    }
    found.extend(one_key_for_each_order(&keys, rows));
    found.extend(own_orders_only(history, rows));
    found
}

/// I1, for one key: every acknowledgement, and the claim, name one and the same order.
fn one_order(name: &Name, calls: &[&Call], rows: &Rows) -> Option<Violation> {
    let acknowledged = calls.iter().filter_map(|call| call.acknowledged());
    let mut orders: BTreeSet<_> = acknowledged.filter_map(|said| said.order_id.clone()).collect();
    let claim = rows.claims.get(name);
    orders.extend(claim.and_then(|claim| claim.order_id.clone()));
    let what = || format!("{} of organisation {} belongs to several orders: {orders:?}", name.1, name.0);
    (orders.len() > 1).then(|| Violation::new(Invariant::I1, what()))
}

/// I1, for the tables: each order belongs to exactly one of the keys that were to make one.
fn one_key_for_each_order(keys: &BTreeMap<Name, Vec<&Call>>, rows: &Rows) -> Vec<Violation> {
    let mut owners: HashMap<(i64, &str), u32> = HashMap::new();
    let mut found = Vec::new();
    for (name, claim) in &rows.claims {
        let Some(calls) = keys.get(name) else {
            let what = format!("{} of organisation {} is claimed, and nobody sent it", name.1, name.0);
            found.push(Violation::new(Invariant::I4, what));
            continue;
        };
        if calls.iter().any(|call| call.invoke.op == Op::Order) {
            *owners.entry((name.0, claim.order_id.as_deref().unwrap_or_default())).or_default() += 1;
        }
    }
    for (org, order) in rows.orders.keys() {
        let count = owners.get(&(*org, order.as_str())).copied().unwrap_or_default();
        if count != 1 {
            let what = format!("order {order} of organisation {org} belongs to {count} keys");
            found.push(Violation::new(Invariant::I1, what));
        }
    }
    found
}

/// I2: one request under one key is told one thing.
fn same_answer(calls: &[&Call]) -> Vec<Violation> {
    let mut first: HashMap<&str, (&Said, bool)> = HashMap::new();
    let mut found = Vec::new();
    for call in calls {
        let Some(said) = call.acknowledged() else { continue };
        let mut differs = |member: &str, one: String, other: String| {
            let what = format!("{}: the {member} of two acknowledgements differ: {one} and {other}", call.name());
            found.push(Violation::new(Invariant::I2, what));
        };
        let asked = call.invoke.amount;
        if said.amount.is_some() && asked.is_some() && asked != said.amount {
            differs("amount asked for and that", format!("{asked:?}"), format!("{:?}", said.amount));
        }
        let declined = said.status == Some(402);
        let (one, one_declined) = *first.entry(&call.invoke.request).or_insert((said, declined));
        if one.order_id != said.order_id {
            differs("orders", format!("{:?}", one.order_id), format!("{:?}", said.order_id));
        }
        if one.amount != said.amount {
            differs("amounts", format!("{:?}", one.amount), format!("{:?}", said.amount));
        }
        if one.answer != said.answer {
            differs("bytes", format!("{:?}", one.answer), format!("{:?}", said.answer));
        }
        // What was made is 201 once and 200 ever after; a refusal stays one.
        if one_declined != declined {
            differs("statuses", format!("{:?}", one.status), format!("{:?}", said.status));
        }
    }
    found
}

/// I2 and I3, for one key: the stored answer is there, and is what was told.
fn stored_answer(name: &Name, calls: &[&Call], rows: &Rows) -> Option<Violation> {
    let said = calls.iter().find_map(|call| call.acknowledged())?;
    let key = format!("{} of organisation {}", name.1, name.0);
    match rows.claims.get(name).map(|claim| &claim.answer) {
        None => Some(Violation::new(Invariant::I3, format!("{key} was acknowledged, and is not there"))),
        Some(None) => Some(Violation::new(Invariant::I3, format!("{key} was acknowledged, and has no stored answer"))),
        Some(stored) if *stored != said.answer => {
            Some(Violation::new(Invariant::I2, format!("{key}: other bytes are stored than were told")))
        }
        Some(_) => None,
    }
}

/// I3: what was acknowledged is there, with its amount.
fn still_there(call: &Call, rows: &Rows) -> Option<Violation> {
    let said = call.acknowledged()?;
    let lost = |why: String| Some(Violation::new(Invariant::I3, format!("{}: {why}", call.name())));
    let Some(order) = said.order_id.clone() else { return lost("acknowledged without an order".to_owned()) };
    let asked = call.invoke.amount.or(said.amount);
    match rows.orders.get(&(call.invoke.org, order.clone())) {
        None => lost(format!("order {order} was acknowledged, and is not there")),
        Some(amount) if asked.is_some_and(|asked| asked != *amount) => {
            lost(format!("order {order} was acknowledged with {asked:?}, and has {amount}"))
        }
        Some(_) => None,
    }
}

/// I4: of different requests under one key, one alone is acknowledged.
fn one_request(name: &Name, calls: &[&Call]) -> Option<Violation> {
    let acknowledged = calls.iter().filter(|call| call.acknowledged().is_some());
    let requests: BTreeSet<_> = acknowledged.map(|call| call.invoke.request.as_str()).collect();
    let what = || format!("{} of organisation {}: different requests were acknowledged: {requests:?}", name.1, name.0);
    (requests.len() > 1).then(|| Violation::new(Invariant::I4, what()))
}

/// I5: an id in an answer is no other organisation's order, whether the tables hold that or another client was told of it.
fn own_orders_only(history: &History, rows: &Rows) -> Vec<Violation> {
    let mut owners: HashMap<&str, i64> = rows.orders.keys().map(|(org, id)| (id.as_str(), *org)).collect();
    let told = history.calls.iter().filter_map(|call| Some((call.acknowledged()?.order_id.as_deref()?, call)));
    for (order, call) in told {
        owners.entry(order).or_insert(call.invoke.org);
    }
    let mut found = Vec::new();
    for call in &history.calls {
        let ids = call.said().into_iter().flat_map(|said| said.ids.iter().chain(&said.order_id));
        let foreign: BTreeSet<_> =
            ids.filter(|id| owners.get(id.as_str()).is_some_and(|org| *org != call.invoke.org)).collect();
        let say = |id| format!("{}: the answer holds {id}, an order of another organisation", call.name());
        found.extend(foreign.into_iter().map(|id| Violation::new(Invariant::I5, say(id))));
    }
    found
}
