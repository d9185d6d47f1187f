//! What each story tells, and the whole of a trace.

use super::*;
use crate::domain::inbox::EventOutcome;
use crate::domain::inbox::fact::What;
use crate::domain::inbox::signature::Verdict;
use crate::domain::operation::OperationState;
use crate::domain::order::tests::order;
use crate::domain::trace::{Effect, MOST_ENTRIES, Parts, Trace, TraceView, trace};
use time::{Duration, OffsetDateTime};
use uuid::Uuid;

fn at(second: i64) -> OffsetDateTime {
    OffsetDateTime::UNIX_EPOCH + Duration::seconds(second)
}

fn operation(kind: &str, fact: &str, state: OperationState, second: i64) -> Operation {
    Operation {
        order_id: order().order_id,
        kind: kind.to_owned(),
        fact: fact.to_owned(),
        state,
        operation_key: format!("key-{kind}-{fact}"),
        amount: Some(300),
        idempotency_key: None,
        attempts: 1,
        questions: 0,
        next_attempt_at: None,
        deadline_at: at(86_400),
        lease_until: None,
        first_sent_at: None,
        last_sent_at: None,
        external_reference: None,
        last_outcome: None,
        created_at: at(second),
        updated_at: at(second),
    }
}

fn case(resolved_at: Option<OffsetDateTime>) -> Case {
    let decided = |text: &str| resolved_at.map(|_| text.to_owned());
    Case {
        case_id: Uuid::from_u128(5),
        order_id: order().order_id,
        kind: "charge".to_owned(),
        fact: "1".to_owned(),
        reason: "conflict".to_owned(),
        state: if resolved_at.is_some() { CaseState::Resolved } else { CaseState::Open },
        owner: "payments".to_owned(),
        corrector: "payments".to_owned(),
        suggestion: "look".to_owned(),
        evidence: json!({ "amount": 1 }),
        opened_at: at(20),
        deadline: at(90),
        decision: decided("mark_done"),
        decided_by: decided("key-1"),
        reason_given: decided("seen"),
        proof: decided("pi_1"),
        resolved_at,
    }
}

fn receipt(arrival: i64, second: i64) -> Receipt {
    Receipt {
        receipt_id: Uuid::from_u128(6),
        arrival,
        endpoint_id: Uuid::from_u128(7),
        provider: "stripe".to_owned(),
        received_at: at(second),
        signature: Verdict::Valid,
        secret_label: Some("new".to_owned()),
        skew_seconds: Some(2),
        body: None,
        body_bytes: 10,
        reply_status: 200,
        classification: Some(Classification::New),
        notification_id: Some("evt_1".to_owned()),
        kind: Some("charge.refunded".to_owned()),
        object_id: Some("ch_1".to_owned()),
        fact_key: Some("charge:ch_1".to_owned()),
        order_id: Some(order().order_id),
    }
}

fn event(key: &str, second: i64) -> Event {
    Event {
        event_id: Uuid::from_u128(8),
        provider: "stripe".to_owned(),
        fact_key: key.to_owned(),
        what: What::RefundedTotal,
        reference: Some("pi_1".to_owned()),
        amount: Some(4),
        currency: Some("EUR".to_owned()),
        provider_time: Some(at(3)),
        outcome: EventOutcome::Applied,
        reason: None,
        order_id: Some(order().order_id),
        deadline: None,
        notification_ids: vec!["evt_1".to_owned()],
        created_at: at(second),
        updated_at: at(second),
    }
}

fn journal(what: &str, details: Value, second: i64) -> TraceEntry {
    TraceEntry { at: at(second), source: Source::Journal, actor: "request".to_owned(), what: what.to_owned(), details }
}

/// Each entry's moment in seconds since 1970, and what it is.
fn told(entries: &[TraceEntry]) -> Vec<(i64, &str)> {
    entries.iter().map(|entry| (entry.at.unix_timestamp(), entry.what.as_str())).collect()
}

fn parts() -> Parts {
    let (journal, operations, cases, receipts, events) = Default::default();
    Parts { order: order(), journal, operations, cases, receipts, events }
}

#[test]
fn an_effect_is_asked_for_once_whether_here_or_in_the_journal() {
    let operations = ["1", "2", "3"].map(|fact| operation("charge", fact, OperationState::Ready, 50));
    let begun = |key: &str| json!({ "operation_key": key });
    let journal = [
        journal("payment_attempt_begun", begun("key-charge-2"), 9),
        journal("something_else", begun("key-charge-3"), 9),
        journal("payment_attempt_begun", json!({}), 9),
    ];
    let entries = asked_for(&operations, &journal);
    let facts: Vec<_> = entries.iter().map(|entry| &entry.details["fact"]).collect();
    assert_eq!((facts, told(&entries)), (vec![&json!("1"), &json!("3")], vec![(50, "operation_asked_for"); 2]));
    assert_eq!(
        entries[0].details,
        json!({ "kind": "charge", "fact": "1", "operation_key": "key-charge-1", "amount": 300,
            "deadline": "1970-01-02T00:00:00.000000Z" })
    );
}

#[test]
fn a_case_is_opened_and_resolved_once_it_is() {
    let entries = told_cases(&[case(Some(at(40))), case(None)]);
    assert_eq!(told(&entries), [(20, "case_opened"), (20, "case_opened"), (40, "case_resolved")]);
    assert_eq!((entries[0].actor.as_str(), &entries[0].details["reason"]), ("ichido", &json!("conflict")));
    let resolved = json!({ "case_id": Uuid::from_u128(5), "kind": "charge", "fact": "1", "decision": "mark_done",
        "reason": "seen", "proof": "pi_1" });
    assert_eq!((entries[2].actor.as_str(), &entries[2].details), ("key-1", &resolved));
}

#[test]
fn deliveries_and_facts_are_told_in_time() {
    let came = received(&[receipt(2, 8), receipt(1, 7)]);
    assert_eq!(told(&came), [(7, "notification_received"), (8, "notification_received")]);
    assert_eq!((came[0].actor.as_str(), &came[0].details["arrival"]), ("stripe", &json!(1)));
    assert_eq!((&came[0].details["signature"], &came[0].details["classification"]), (&json!("valid"), &json!("new")));
    let learnt = learnt(&[event("b", 8), event("a", 7)]);
    assert_eq!(told(&learnt), [(7, "fact_told"), (8, "fact_told")]);
    assert_eq!((learnt[0].source, &learnt[0].details["fact_key"]), (Source::Event, &json!("a")));
    assert_eq!(learnt[0].details["provider_time"], "1970-01-01T00:00:03.000000Z");
}

#[test]
fn a_trace_begins_with_the_order_and_counts_what_is_done() {
    let done = |fact, second| operation("refund", fact, OperationState::Done, second);
    let whole = trace(Parts {
        journal: vec![journal("order_confirmed", Value::Null, 0)],
        operations: vec![
            done("b", 30),
            done("b", 31),
            done("a", 32),
            operation("charge", "1", OperationState::Failed, 33),
        ],
        cases: vec![case(None)],
        receipts: vec![receipt(1, 10)],
        events: vec![event("a", 10)],
        ..parts()
    });
    let asked = "operation_asked_for";
    let stories = [(10, "notification_received"), (10, "fact_told"), (20, "case_opened"), (30, asked), (31, asked)];
    let expected =
        [&[(1, "order_created"), (0, "order_confirmed")][..], &stories, &[(32, asked), (33, asked)]].concat();
    assert_eq!((told(&whole.entries), whole.truncated), (expected, false));
    let effect = |fact: &str, count| Effect { kind: "refund".to_owned(), fact: fact.to_owned(), count };
    assert_eq!((whole.effects, whole.order_id), (vec![effect("a", 1), effect("b", 2)], order().order_id));
}

#[test]
fn a_trace_that_is_too_long_is_cut_and_says_so() {
    for (entries, shown, truncated) in
        [(998, 999, false), (999, 1_000, false), (1_000, 1_000, true), (1_500, 1_000, true)]
    {
        let whole = trace(Parts { journal: vec![journal("x", Value::Null, 5); entries], ..parts() });
        assert_eq!((whole.entries.len(), whole.truncated), (shown, truncated), "{entries}");
        assert!(whole.entries.len() <= MOST_ENTRIES && whole.entries[0].what == "order_created");
    }
}

#[test]
fn a_trace_is_shown_with_its_members_in_order() {
    let entries = vec![journal("order_paid", json!({ "amount": 1 }), 5)];
    let effects = vec![Effect { kind: "charge".to_owned(), fact: "1".to_owned(), count: 1 }];
    let trace = Trace { order_id: order().order_id, entries, truncated: true, effects };
    let expected = r#"{"object":"order_trace","order_id":"00000000-0000-0000-0000-0000000000ab","entries":[
        {"at":"1970-01-01T00:00:05.000000Z","source":"journal","actor":"request","what":"order_paid",
        "details":{"amount":1}}],"truncated":true,"effects":[{"kind":"charge","fact":"1","count":1}]}"#;
    let one_line: String = expected.lines().map(str::trim).collect();
    assert_eq!(serde_json::to_string(&TraceView::of(&trace)).unwrap(), one_line);
}
