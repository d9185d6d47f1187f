//! The closed list of problems: the program's, the schema's, the table's, and those of every example are one.

use crate::openapi::Operation;
use crate::support::contract::OPENAPI;
use ichido::http::kinds::{KINDS, Kind};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

fn kind(code: &Value) -> &'static Kind {
    let code = code.as_str().unwrap();
    KINDS.iter().find(|kind| kind.code == code).unwrap_or_else(|| panic!("{code} is not in the program's list"))
}

#[test]
fn the_codes_are_the_programs() {
    let listed = &OPENAPI["components"]["schemas"]["ProblemCode"]["enum"];
    let known: Vec<_> = KINDS.iter().map(|kind| kind.code).collect();
    assert_eq!(*listed, json!(known));
    assert_eq!(known.iter().collect::<BTreeSet<_>>().len(), known.len(), "a code is listed twice");
}

#[test]
fn the_table_of_codes_has_a_line_for_each() {
    let text = OPENAPI["components"]["schemas"]["ProblemCode"]["description"].as_str().unwrap();
    let lines: Vec<_> = text.lines().filter(|line| line.starts_with("| `")).collect();
    assert_eq!(lines.len(), KINDS.len());
    for (line, kind) in lines.iter().zip(KINDS) {
        let retryable = if kind.retryable { "yes" } else { "no" };
        let begins = format!("| `{}` | {} | {retryable} |", kind.code, kind.status);
        assert!(line.starts_with(&begins), "{line}\nis not\n{begins}");
    }
}

/// Every example of a problem document that hangs below a value.
fn examples(value: &'static Value) -> Vec<&'static Value> {
    let media = &value["content"]["application/problem+json"]["examples"];
    media.as_object().into_iter().flatten().map(|(_, example)| &example["value"]).collect()
}

#[test]
fn every_example_of_a_problem_is_as_the_program_writes_it() {
    let mut seen = BTreeSet::new();
    for operation in Operation::all() {
        for (status, response) in operation.responses() {
            for example in examples(response) {
                let kind = kind(&example["code"]);
                seen.insert(kind.code);
                let executed = serde_json::to_value(kind.executed).unwrap();
                let told = format!("{} {}: {example}", operation.method, operation.route);
                assert_eq!(status, kind.status, "{told}");
                assert_eq!(example["status"], kind.status, "{told}");
                assert_eq!(example["title"], kind.title, "{told}");
                assert_eq!(example["type"], format!("/problems/{}", kind.code), "{told}");
                assert_eq!(example["retryable"], kind.retryable, "{told}");
                assert_eq!(example["executed"], executed, "{told}");
                assert_eq!(example["safe_new_key"], kind.safe_new_key, "{told}");
            }
        }
    }
    assert!(seen.len() >= 18, "{seen:?}");
}

#[test]
fn every_answer_that_is_a_problem_lists_its_codes_and_shows_each() {
    for operation in Operation::all() {
        for (status, response) in operation.responses() {
            let told = format!("{} {} {status}", operation.method, operation.route);
            if response["content"]["application/problem+json"].is_null() {
                continue;
            }
            let listed: BTreeSet<_> =
                response["x-problem-codes"].as_array().expect(&told).iter().map(|code| kind(code).code).collect();
            let shown: BTreeSet<_> =
                examples(response).into_iter().map(|example| kind(&example["code"]).code).collect();
            let told = format!("{told}: {listed:?} {shown:?}");
            assert!(listed == shown && !listed.is_empty(), "{told}");
            let text = response["description"].as_str().unwrap();
            assert!(listed.iter().all(|code| text.contains(&format!("`{code}`"))), "{told}");
        }
    }
}

#[test]
fn every_code_is_an_answer_of_some_operation_or_of_every_route() {
    let mut documented = BTreeMap::<&str, u16>::new();
    for operation in Operation::all() {
        for (status, response) in operation.responses() {
            for code in response["x-problem-codes"].as_array().into_iter().flatten() {
                documented.insert(code.as_str().unwrap(), status);
            }
        }
    }
    let everywhere = OPENAPI["info"]["description"].as_str().unwrap();
    for kind in KINDS {
        let named = everywhere.contains(&format!("{} `{}`", kind.status, kind.code));
        assert!(documented.contains_key(kind.code) || named, "{} is documented nowhere", kind.code);
    }
}

#[test]
fn the_examples_of_the_list_of_problems_are_entries_of_it() {
    let list = &OPENAPI["paths"]["/problems"]["get"]["responses"]["200"]["content"]["application/json"]["examples"];
    let one =
        &OPENAPI["paths"]["/problems/{code}"]["get"]["responses"]["200"]["content"]["application/json"]["examples"];
    let lists = list.as_object().unwrap().values().flat_map(|example| example["value"]["data"].as_array().unwrap());
    let ones = one.as_object().unwrap().values().map(|example| &example["value"]);
    let entries: Vec<_> = lists.chain(ones).collect();
    assert!(entries.len() >= 3);
    for entry in entries {
        assert_eq!(*entry, serde_json::to_value(kind(&entry["code"])).unwrap());
    }
}

/// A client may start afresh only where no earlier try can have made the order; and what has been done, or may have been,
/// is always to be asked for again.
#[test]
fn a_new_key_is_safe_only_where_the_key_cannot_have_been_used() {
    for kind in KINDS {
        // No key was used; or one was, and no money moved: the order waits to be paid.
        let safe = ["idempotency_key_missing", "idempotency_key_invalid", "payment_declined"].contains(&kind.code);
        assert_eq!(kind.safe_new_key, safe, "{}", kind.code);
        let unknown = serde_json::to_value(kind.executed).unwrap() == "unknown";
        assert!(!unknown || kind.retryable, "{}", kind.code);
        assert!(kind.status < 500 || kind.retryable, "{}", kind.code);
    }
}
