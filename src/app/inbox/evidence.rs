//! What both sides say, for the person who decides.

use crate::db::inbox::events::EventRow;
use crate::db::orders::LockedOrder;
use crate::db::payments::PaymentRow;
use crate::domain::case::NewCase;
use serde_json::{Value, json};

/// A case without its evidence.
pub(super) fn case(reason: &'static str, suggestion: &'static str) -> NewCase {
    NewCase::of_payments(reason, suggestion, Value::Null)
}

/// Theirs is what was told; ours is the attempt, or the order where there is none. Theirs are amounts in the gateway's unit.
pub(super) fn evidence(event: &EventRow, order: Option<&LockedOrder>, attempt: Option<&PaymentRow>) -> Value {
    let fact = &event.fact;
    let ours = match (attempt, order) {
        (Some(payment), _) => json!({
            "attempt": payment.attempt, "amount": payment.amount, "currency": payment.currency,
            "refunded": payment.refunded, "state": payment.state.as_str(), "gateway_reference": payment.reference,
        }),
        (None, Some(order)) => json!({
            "attempt": null, "amount": order.amount, "currency": order.currency, "status": order.status.as_str(),
        }),
        (None, None) => json!({ "order": null }),
    };
    json!({
        "ours": ours,
        "theirs": {
            "fact_key": fact.key, "what": fact.what.as_str(), "gateway_reference": fact.reference,
            "object": fact.object, "status": fact.status, "code": fact.code, "gateway_amount": fact.amount,
            "amount": event.amount, "currency": fact.currency, "order_id": fact.order_id, "told_at": fact.told_at,
        },
    })
}
