//! What a finding leaves for people: the case it opens, and its entry in the order's story.

use crate::app::charge::settle::Finding;
use crate::db::operations::OperationRow;
use crate::db::payments::PaymentRow;
use crate::domain::case::{NewCase, SECOND_SUCCESS};
use crate::domain::operation::OperationState;
use crate::domain::order::OrderStatus;
use crate::domain::payment::{ChargeFact, PaymentState};
use crate::domain::reply::timestamp;
use serde_json::{Value, json};

/// The case that a finding opens, with the evidence of both sides.
pub(super) fn case_for(finding: &Finding, payment: &PaymentRow, operation: &OperationRow) -> NewCase {
    let (reason, suggestion) = match &finding.heard.fact {
        ChargeFact::Conflict { .. } => ("amount_conflict", "compare the payment at the gateway with the order"),
        ChargeFact::DidNotHappen => ("not_found", "start_new: the gateway does not know this payment"),
        ChargeFact::NotSent => ("gateway_unreachable", "continue: nothing was sent yet"),
        ChargeFact::Exhausted => ("exhausted", "ask_again: it was taken up too often, or for too long"),
        ChargeFact::Processing { .. } => ("still_processing", "ask_again: the gateway has not decided yet"),
        ChargeFact::Succeeded { .. } => (SECOND_SUCCESS, "continue: give this attempt's money back"),
        _ => ("outcome_unknown", "ask_again: the gateway gave no definite answer"),
    };
    NewCase::of_payments(reason, suggestion, evidence(finding, payment, operation))
}

/// The case about a finding that contradicts how its charge was settled.
pub(super) fn late_case(finding: &Finding, payment: &PaymentRow, operation: &OperationRow) -> NewCase {
    let suggestion = "compare the payment at the gateway with the order";
    NewCase::of_payments("late_finding", suggestion, evidence(finding, payment, operation))
}

fn evidence(finding: &Finding, payment: &PaymentRow, operation: &OperationRow) -> Value {
    json!({
        "ours": {
            "attempt": payment.attempt,
            "amount": payment.amount,
            "currency": payment.currency,
            "state": payment.state.as_str(),
            "gateway_reference": payment.reference,
            "operation_key": operation.operation_key,
            "first_sent_at": operation.first_sent_at.map(timestamp),
            "last_sent_at": operation.last_sent_at.map(timestamp),
            "taken_up": operation.facts.attempts,
            "asked": operation.facts.questions,
        },
        "theirs": { "outcome": finding.heard.outcome, "gateway_reference": finding.heard.fact.reference() },
    })
}

/// Where operation, attempt and order go with a finding.
pub(super) struct Moved<'a> {
    pub operation: (&'a OperationRow, OperationState),
    pub payment: (&'a PaymentRow, PaymentState),
    pub order: (OrderStatus, OrderStatus),
}

/// The entry of a finding in the order's story: what was asked under which key, what was answered, and the states before
/// and after.
pub(super) fn journal_entry(finding: &Finding, moved: &Moved<'_>) -> (&'static str, Value) {
    let ((from, to), (payment, payment_to)) = (moved.operation, moved.payment);
    let code = if let ChargeFact::Declined { code, .. } = &finding.heard.fact { Some(code.as_str()) } else { None };
    let details = told_as_details(&Told {
        kind: &finding.id.kind,
        fact: &finding.id.fact,
        attempt: from.facts.attempts,
        operation_key: &from.operation_key,
        amount: payment.amount,
        currency: &payment.currency,
        outcome: finding.heard.outcome,
        code,
        reference: finding.heard.fact.reference(),
        operation: (from.facts.state, to),
        payment: (payment.attempt, payment.state, payment_to),
        order: moved.order,
    });
    (if finding.asked { "operation_asked" } else { "operation_attempted" }, details)
}

/// What an entry of an order's story tells of a call about a charge.
pub(super) struct Told<'a> {
    pub kind: &'a str,
    pub fact: &'a str,
    /// How often the charge was taken up.
    pub attempt: u32,
    pub operation_key: &'a str,
    pub amount: i64,
    pub currency: &'a str,
    pub outcome: &'a str,
    pub code: Option<&'a str>,
    pub reference: Option<&'a str>,
    /// Before and after.
    pub operation: (OperationState, OperationState),
    /// The attempt, before and after.
    pub payment: (i32, PaymentState, PaymentState),
    /// Before and after.
    pub order: (OrderStatus, OrderStatus),
}

/// The entry's details.
pub(super) fn told_as_details(told: &Told<'_>) -> Value {
    let ((from, to), (attempt, payment_from, payment_to)) = (told.operation, told.payment);
    let (order_from, order_to) = told.order;
    json!({
        "kind": told.kind,
        "fact": told.fact,
        "attempt": told.attempt,
        "operation_key": told.operation_key,
        "amount": told.amount,
        "currency": told.currency,
        "outcome": told.outcome,
        "code": told.code,
        "gateway_reference": told.reference,
        "from": from.as_str(),
        "to": to.as_str(),
        "payment": { "attempt": attempt, "from": payment_from.as_str(), "to": payment_to.as_str() },
        "order": { "from": order_from.as_str(), "to": order_to.as_str() },
    })
}
