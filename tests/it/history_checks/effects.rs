//! I7 and I8: journals by hand.

use crate::history::journal::Journal;
use crate::history::reader::History;
use crate::history::rows::Rows;
use crate::history::{Invariant, check};
use serde_json::{Value, json};
use std::fs;

/// An order of 100 was paid by its second attempt, given back, shipped.
fn good() -> Vec<Value> {
    vec![
        json!({ "charge": charge("ch_0", "1", 100, true) }),
        json!({ "effect": effect("charge", "k-2"), "charge": charge("ch_1", "2", 100, false) }),
        json!({ "effect": effect("shipment_request", "s-1") }),
        json!({ "struck": "s-1" }),
        json!({ "effect": effect("refund", "r-1"), "charge": charge("ch_1", "2", 100, false) }),
    ]
}

fn charge(id: &str, attempt: &str, amount: i64, failed: bool) -> Value {
    let failure = failed.then(|| json!({ "code": "card_declined" }));
    let metadata = json!({ "ichido_order_id": "a", "ichido_attempt": attempt });
    json!({ "id": id, "amount": amount, "failure": failure, "metadata": metadata })
}

fn effect(kind: &str, key: &str) -> Value {
    json!({ "kind": kind, "key": key, "order_id": "a", "amount": 100, "currency": "jpy" })
}

fn text_of(lines: &[Value]) -> String {
    lines.iter().fold(String::new(), |text, line| text + &line.to_string() + "\n")
}

fn violated(lines: &[Value]) -> Vec<Invariant> {
    let text = text_of(lines);
    let mut rows = Rows::default();
    rows.orders.insert((1, "a".to_owned()), 100);
    // Only what the journal violates: this order belongs to no key.
    let verdict = check(&History::default(), &rows, Some(&Journal::parse(&text).unwrap()));
    let effects = verdict.violations.iter().map(|violation| violation.invariant);
    effects.filter(|invariant| *invariant >= Invariant::I7).collect()
}

#[test]
fn a_good_journal_is_left_in_peace() {
    assert_eq!(violated(&good()), []);
}

#[test]
fn of_a_line_without_its_end_nobody_was_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.jsonl");
    fs::write(&path, text_of(&good()) + "{\"effect\":{\"kind\":\"charge\"").unwrap();
    let journal = Journal::read(&[&path]).unwrap();
    assert_eq!((journal.charges.len(), journal.failed.len(), journal.effects.len()), (1, 1, 3));
    let twice = Journal::read(&[&path, &path]).unwrap();
    assert!(twice.effects.values().all(|count| *count == 2), "what two worlds did counts twice: {:?}", twice.effects);
    assert!(Journal::parse("[]\n").is_err());
}

#[test]
fn every_double_effect_is_seen() {
    let paid = |key: &str, id: &str, attempt: &str, amount| json!({ "effect": effect("charge", key), "charge": charge(id, attempt, amount, false) });
    let faults = [
        ("one attempt was charged under two keys", Invariant::I7, paid("k-3", "ch_2", "2", 100)),
        ("one key was charged twice", Invariant::I7, paid("k-2", "ch_2", "2", 100)),
        ("two attempts were charged", Invariant::I7, paid("k-3", "ch_2", "3", 100)),
        ("a charge without a line of its own", Invariant::I7, json!({ "effect": effect("charge", "k-3") })),
        ("shipped twice under one key", Invariant::I8, json!({ "effect": effect("shipment_request", "s-1") })),
        ("refunded twice under one key", Invariant::I8, json!({ "effect": effect("refund", "r-1") })),
    ];
    for (name, invariant, line) in faults {
        let mut lines = good();
        lines.push(line);
        assert!(violated(&lines).contains(&invariant), "{name}: {:?}", violated(&lines));
    }
    let mut wrong_amount = good();
    wrong_amount[1]["charge"]["amount"] = json!(99);
    wrong_amount[4]["charge"]["amount"] = json!(99);
    assert_eq!(violated(&wrong_amount), [Invariant::I7], "less was taken than the order comes to");
    let mut no_order = good();
    no_order[1]["charge"]["metadata"]["ichido_order_id"] = json!("b");
    no_order[4]["charge"]["metadata"]["ichido_order_id"] = json!("b");
    assert_eq!(violated(&no_order), [Invariant::I7], "money was taken for an order that is not there");
}

#[test]
fn other_keys_are_other_work() {
    let mut lines = good();
    lines.push(json!({ "effect": effect("shipment_request", "s-2") }));
    assert_eq!(violated(&lines), []);
}
