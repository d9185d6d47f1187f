//! The pure machines, written out: their tables are golden files, and agree with the database's constraints and with what
//! ARCHITECTURE.md draws.

use crate::house_rules::source::root;
use crate::support::postgres;
use ichido::domain::operation::{
    CHARGE_POLICY, Illegal, OperationEvent, OperationFacts, OperationPolicy, OperationState, OperationStep, next,
};
use ichido::domain::order::OrderStatus;
use ichido::domain::payment::{ChargeFact, PaymentState, after, order_after};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use time::{Duration, OffsetDateTime};

const NOW: OffsetDateTime = OffsetDateTime::UNIX_EPOCH;

fn events() -> Vec<(&'static str, OperationEvent)> {
    use OperationEvent as E;
    vec![
        ("dependencies_done", E::DependenciesDone),
        ("taken", E::Taken),
        ("happened", E::Happened),
        ("refused", E::Refused),
        ("not_sent", E::NotSent { after: None }),
        ("no_answer", E::NoAnswer { asked: false, after: None }),
        ("no_answer_to_a_question", E::NoAnswer { asked: true, after: None }),
        ("in_progress_there", E::InProgressThere),
        ("did_not_happen", E::DidNotHappen),
        ("conflict", E::Conflict),
        ("ask_again", E::AskAgain),
    ]
}

fn facts(state: &str) -> OperationFacts {
    let state = OperationState::parse(state).unwrap();
    OperationFacts { state, attempts: 1, questions: 0, deadline_at: NOW + Duration::hours(24) }
}

fn step(facts: &OperationFacts, event: OperationEvent, policy: &OperationPolicy) -> Result<OperationStep, Illegal> {
    next(facts, event, NOW, policy, 1.0)
}

/// One line for each state and event: where it goes, and after how many seconds somebody looks again.
fn operation_table() -> String {
    let mut table = String::new();
    for state in OperationState::ALL {
        for (name, event) in events() {
            let to = match step(&facts(state), event, &CHARGE_POLICY) {
                Ok(OperationStep { state, next_attempt_at: None }) => state.as_str().to_owned(),
                Ok(OperationStep { state, next_attempt_at: Some(at) }) => {
                    format!("{} +{}s", state.as_str(), (at - NOW).whole_seconds())
                }
                Err(Illegal(_)) => "-".to_owned(),
            };
            writeln!(table, "{state:<20} {name:<24} {to}").unwrap();
        }
    }
    table
}

fn charge_facts() -> Vec<(&'static str, ChargeFact)> {
    let declined = ChargeFact::Declined { reference: None, code: "card_declined".to_owned() };
    vec![
        ("succeeded", ChargeFact::Succeeded { reference: None }),
        ("declined", declined),
        ("processing", ChargeFact::Processing { reference: "pi_1".to_owned() }),
        ("not_sent", ChargeFact::NotSent),
        ("no_answer", ChargeFact::NoAnswer),
        ("did_not_happen", ChargeFact::DidNotHappen),
        ("exhausted", ChargeFact::Exhausted),
        ("conflict", ChargeFact::Conflict { reference: None }),
    ]
}

/// One line for each fact: the attempt's state; then the order's, for each status, without and with a cancellation asked for.
fn payment_table() -> String {
    let mut table = String::new();
    for (name, fact) in charge_facts() {
        writeln!(table, "{name:<15} attempt {}", after(&fact).as_str()).unwrap();
        for status in OrderStatus::ALL {
            let order = |cancel| order_after(OrderStatus::parse(status).unwrap(), &fact, cancel).as_str();
            writeln!(table, "{name:<15} order {status:<19} {:<19} {}", order(false), order(true)).unwrap();
        }
    }
    table
}

fn compare(file: &str, table: &str) {
    let path = root().join("tests/it/golden").join(file);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, table).unwrap();
    }
    assert_eq!(fs::read_to_string(&path).unwrap_or_default(), table, "{file}: UPDATE_GOLDEN=1 renews it");
}

#[test]
fn the_tables_are_the_golden_ones() {
    compare("operation.txt", &operation_table());
    compare("payment.txt", &payment_table());
}

#[tokio::test]
async fn the_database_knows_the_same_states() {
    let client = postgres::connect(&postgres::database().await).await;
    for (table, column, states) in [
        ("operations", "state", OperationState::ALL),
        ("payments", "state", PaymentState::ALL),
        ("orders", "status", OrderStatus::ALL),
    ] {
        let query = "SELECT pg_get_constraintdef(oid) FROM pg_constraint
            WHERE conrelid = $1::text::regclass AND contype = 'c' AND conname = $2";
        let name = format!("{table}_{column}_check");
        let definition: String = client.query_one(query, &[&table, &name]).await.unwrap().get(0);
        let allowed: BTreeSet<_> = definition.split('\'').skip(1).step_by(2).collect();
        assert_eq!(allowed, states.iter().copied().collect(), "{table}");
    }
}

/// Every arrow of the drawing is in the table, and every state that something leads to is drawn.
#[test]
fn the_drawing_shows_the_machine() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let drawing = text.split("```mermaid\nstateDiagram-v2\n").nth(1).unwrap().split("```").next().unwrap();
    let drawn: BTreeSet<_> = drawing
        .lines()
        .filter_map(|line| {
            let (from, rest) = line.trim().split_once(" --> ")?;
            let (to, _) = rest.split_once(" : ")?;
            Some((from.to_owned(), to.to_owned()))
        })
        .filter(|(from, to)| from != "[*]" && to != "[*]")
        .collect();
    let mut real = BTreeSet::new();
    // A policy whose target honours no keys knows one way more, and so do the last question and the last attempt.
    let no_keys = OperationPolicy { honours_keys: false, ..CHARGE_POLICY };
    let last = |state| OperationFacts { attempts: u32::MAX, questions: 9, deadline_at: NOW, ..facts(state) };
    for state in OperationState::ALL {
        for (_, event) in events() {
            for (facts, policy) in
                [(facts(state), CHARGE_POLICY), (facts(state), no_keys), (last(state), CHARGE_POLICY)]
            {
                if let Ok(step) = step(&facts, event, &policy) {
                    real.insert(((*state).to_owned(), step.state.as_str().to_owned()));
                }
            }
        }
    }
    assert_eq!(drawn, real);
}

#[test]
fn what_is_done_stays_done_and_evidence_always_counts() {
    for state in OperationState::ALL {
        for (name, event) in events() {
            let to = step(&facts(state), event, &CHARGE_POLICY);
            if *state == "done" {
                assert!(to.is_err(), "{name} undoes what happened");
            } else if name == "happened" {
                assert_eq!(to.unwrap().state, OperationState::Done, "{state}");
            }
        }
    }
}
