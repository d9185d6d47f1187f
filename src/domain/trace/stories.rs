//! The stories that a trace is made of, each in time.

use crate::domain::case::{Case, CaseState};
use crate::domain::inbox::Classification;
use crate::domain::inbox::view::{Event, Receipt};
use crate::domain::operation_view::Operation;
use crate::domain::order::{Order, OrderStatus};
use crate::domain::reply::timestamp;
use crate::domain::trace::{Source, TraceEntry};
use serde_json::{Value, json};

/// The order's first moment.
pub(super) fn created(order: &Order) -> TraceEntry {
    let request = &order.request;
    TraceEntry {
        at: order.created_at,
        source: Source::Order,
        actor: "request".to_owned(),
        what: "order_created".to_owned(),
        details: json!({
            "order_reference": request.order_reference,
            "customer_reference": request.customer.reference,
            "amount": order.amount,
            "currency": request.currency,
            "order": { "from": null, "to": OrderStatus::Received.as_str() },
        }),
    }
}

/// That each effect was asked for. A later attempt to pay is told by the journal, with who made it.
pub(super) fn asked_for(operations: &[Operation], journal: &[TraceEntry]) -> Vec<TraceEntry> {
    let told = |operation: &&Operation| {
        let key = Value::from(operation.operation_key.as_str());
        !journal
            .iter()
            .any(|entry| entry.what == "payment_attempt_begun" && entry.details.get("operation_key") == Some(&key))
    };
    let entry = |operation: &Operation| TraceEntry {
        at: operation.created_at,
        source: Source::Operation,
        actor: "ichido".to_owned(),
        what: "operation_asked_for".to_owned(),
        details: json!({
            "kind": operation.kind,
            "fact": operation.fact,
            "operation_key": operation.operation_key,
            "amount": operation.amount,
            "deadline": timestamp(operation.deadline_at),
        }),
    };
    in_time(operations.iter().filter(told).map(entry).collect())
}

/// That each case was opened, and resolved.
pub(super) fn told_cases(cases: &[Case]) -> Vec<TraceEntry> {
    let opened = cases.iter().map(|case| TraceEntry {
        at: case.opened_at,
        source: Source::Case,
        actor: "ichido".to_owned(),
        what: "case_opened".to_owned(),
        details: json!({
            "case_id": case.case_id,
            "kind": case.kind,
            "fact": case.fact,
            "reason": case.reason,
            "owner": case.owner,
            "suggestion": case.suggestion,
            "evidence": case.evidence,
        }),
    });
    let resolved = cases.iter().filter(|case| case.state == CaseState::Resolved).map(|case| TraceEntry {
        at: case.resolved_at.unwrap_or(case.opened_at),
        source: Source::Case,
        actor: case.decided_by.clone().unwrap_or_default(),
        what: "case_resolved".to_owned(),
        details: json!({
            "case_id": case.case_id,
            "kind": case.kind,
            "fact": case.fact,
            "decision": case.decision,
            "reason": case.reason_given,
            "proof": case.proof,
        }),
    });
    in_time(opened.chain(resolved).collect())
}

/// That each delivery came.
pub(super) fn received(receipts: &[Receipt]) -> Vec<TraceEntry> {
    let entry = |receipt: &Receipt| TraceEntry {
        at: receipt.received_at,
        source: Source::Receipt,
        actor: receipt.provider.clone(),
        what: "notification_received".to_owned(),
        details: json!({
            "receipt_id": receipt.receipt_id,
            "arrival": receipt.arrival,
            "signature": receipt.signature.as_str(),
            "secret_label": receipt.secret_label,
            "skew_seconds": receipt.skew_seconds,
            "object_id": receipt.object_id,
            "notification_id": receipt.notification_id,
            "type": receipt.kind,
            "fact_key": receipt.fact_key,
            "classification": receipt.classification.map(Classification::as_str),
        }),
    };
    in_time(receipts.iter().map(entry).collect())
}

/// That each fact was told for the first time, and what became of it by now. When it was applied, the journal tells.
pub(super) fn learnt(events: &[Event]) -> Vec<TraceEntry> {
    let entry = |event: &Event| TraceEntry {
        at: event.created_at,
        source: Source::Event,
        actor: event.provider.clone(),
        what: "fact_told".to_owned(),
        details: json!({
            "fact_key": event.fact_key,
            "what": event.what.as_str(),
            "gateway_reference": event.reference,
            "amount": event.amount,
            "currency": event.currency,
            "provider_time": event.provider_time.map(timestamp),
            "outcome": event.outcome.as_str(),
            "reason": event.reason,
            "notification_ids": event.notification_ids,
        }),
    };
    in_time(events.iter().map(entry).collect())
}

fn in_time(mut entries: Vec<TraceEntry>) -> Vec<TraceEntry> {
    entries.sort_by_key(|entry| entry.at);
    entries
}

#[cfg(test)]
#[path = "stories_tests.rs"]
mod tests;
