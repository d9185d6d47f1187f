//! The answer to a request for an order: rendered once, stored, and given again byte for byte.

use crate::domain::ids::OrderId;
use crate::domain::order::{Order, OrderStatus};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use time::OffsetDateTime;
use time::format_description::FormatItem;
use time::macros::format_description;
use uuid::Uuid;

/// RFC 3339 in UTC, always with six digits of a second, so that one moment has one spelling.
const TIMESTAMP: &[FormatItem<'static>] =
    format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:6]Z");

/// A whole answer as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredReply {
    /// HTTP status.
    pub status: u16,
    /// The headers that belong to the answer itself, not to its delivery.
    pub headers: ReplyHeaders,
    /// The exact bytes.
    pub body: Vec<u8>,
}

/// Headers that are stored with the answer.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ReplyHeaders {
    /// Where the order is.
    #[serde(rename = "Location", default, skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// Its entity tag at that time.
    #[serde(rename = "ETag", default, skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
    /// The media type, where it is not `application/json`.
    #[serde(rename = "Content-Type", default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
}

/// Writes a moment as the API does.
#[must_use]
pub fn timestamp(moment: OffsetDateTime) -> String {
    // The format has no component that could fail for a valid moment in UTC.
    moment.to_offset(time::UtcOffset::UTC).format(TIMESTAMP).unwrap_or_default()
}

/// The path of an order.
#[must_use]
pub fn location(order_id: OrderId) -> String {
    format!("/v1/orders/{order_id}")
}

/// The first answer to a new order: 201.
#[must_use]
pub fn created(order: &Order) -> StoredReply {
    StoredReply { status: 201, headers: headers(order), body: body(order) }
}

/// An order as it stands, as an answer with a status of its own.
#[must_use]
pub fn shown(order: &Order, status: u16) -> StoredReply {
    StoredReply { status, headers: headers(order), body: body(order) }
}

/// Code and title of the answer to an order whose payment was refused.
pub const DECLINED: (&str, &str) = ("payment_declined", "The payment was declined");

/// The answer to an order whose payment was refused for good: 402, a problem document (RFC 9457). It is stored like any
/// other, so its `request_id` is that of the request that learned of the refusal.
#[must_use]
pub fn declined(order: &Order, code: &str, request_id: Uuid) -> StoredReply {
    let (kind, title) = DECLINED;
    let then = match order.status {
        OrderStatus::Cancelled => "The order is cancelled, and no money was taken.",
        OrderStatus::Confirmed | OrderStatus::ShipmentRequested | OrderStatus::Completed => {
            "The order is paid by another attempt."
        }
        _ => "The order exists and can be paid by another attempt.",
    };
    let detail = format!("The payment was refused ({code}). {then}");
    let document = serde_json::json!({
        "type": format!("/problems/{kind}"),
        "title": title,
        "status": 402,
        "detail": detail,
        "code": kind,
        "request_id": request_id,
        "retryable": false,
        "executed": "yes",
        "safe_new_key": true,
        "order_id": order.order_id,
    });
    let content_type = Some("application/problem+json".to_owned());
    StoredReply {
        status: 402,
        headers: ReplyHeaders { content_type, ..headers(order) },
        body: document.to_string().into_bytes(),
    }
}

fn headers(order: &Order) -> ReplyHeaders {
    ReplyHeaders { location: Some(location(order.order_id)), etag: Some(order.etag()), content_type: None }
}

/// An order as the API shows it. The same order gives the same bytes.
#[must_use]
pub fn body(order: &Order) -> Vec<u8> {
    // Serialising into memory fails only for maps with keys that are not strings; there are none.
    serde_json::to_vec(&OrderView::of(order)).unwrap_or_default()
}

/// The members of an order, in the order of the documentation.
#[derive(Debug, Serialize)]
pub struct OrderView<'a> {
    id: OrderId,
    object: &'static str,
    status: &'static str,
    needs_reconciliation: bool,
    order_reference: Option<&'a str>,
    customer: CustomerView<'a>,
    currency: &'a str,
    amount: i64,
    amount_refunded: i64,
    lines: Vec<LineView<'a>>,
    payment: Option<PaymentView<'a>>,
    steps: Vec<StepView<'a>>,
    metadata: BTreeMap<&'a str, &'a str>,
    created_at: String,
    updated_at: String,
}

#[derive(Debug, Serialize)]
struct CustomerView<'a> {
    reference: &'a str,
    email: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct PaymentView<'a> {
    status: &'static str,
    gateway: &'a str,
    gateway_reference: Option<&'a str>,
    attempt: i32,
}

#[derive(Debug, Serialize)]
struct StepView<'a> {
    kind: &'a str,
    state: &'a str,
}

#[derive(Debug, Serialize)]
struct LineView<'a> {
    sku: &'a str,
    description: Option<&'a str>,
    quantity: i64,
    unit_amount: i64,
    amount: i64,
}

impl<'a> OrderView<'a> {
    /// The view of one order.
    #[must_use]
    pub fn of(order: &'a Order) -> Self {
        let request = &order.request;
        let lines = request.lines.iter().map(|line| LineView {
            sku: &line.sku,
            description: line.description.as_deref(),
            quantity: line.quantity,
            unit_amount: line.unit_amount,
            amount: line.amount(),
        });
        let metadata = request.metadata.iter().flatten();
        Self {
            id: order.order_id,
            object: "order",
            status: order.status.as_str(),
            needs_reconciliation: order.needs_reconciliation,
            order_reference: request.order_reference.as_deref(),
            customer: CustomerView { reference: &request.customer.reference, email: request.customer.email.as_deref() },
            currency: &request.currency,
            amount: order.amount,
            amount_refunded: order.amount_refunded,
            lines: lines.collect(),
            payment: order.payment.as_ref().map(|payment| PaymentView {
                status: payment.state.as_str(),
                gateway: &payment.gateway,
                gateway_reference: payment.reference.as_deref(),
                attempt: payment.attempt,
            }),
            steps: order.steps.iter().map(|step| StepView { kind: &step.kind, state: &step.state }).collect(),
            metadata: metadata.map(|(name, value)| (name.as_str(), value.as_str())).collect(),
            created_at: timestamp(order.created_at),
            updated_at: timestamp(order.updated_at),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::order::tests::order;
    use crate::domain::payment::{PaymentState, PaymentSummary, StepSummary};
    use serde_json::{Value, json};
    use time::macros::datetime;

    const PATH: &str = "/v1/orders/00000000-0000-0000-0000-0000000000ab";

    #[test]
    fn a_moment_is_in_utc_and_has_six_digits_of_a_second() {
        for (moment, text) in [
            (datetime!(1970-01-01 0:00 UTC), "1970-01-01T00:00:00.000000Z"),
            (datetime!(2026-02-03 04:05:06.000_007_999 UTC), "2026-02-03T04:05:06.000007Z"),
            (datetime!(2026-01-01 08:30:00.5 +09:00), "2025-12-31T23:30:00.500000Z"),
        ] {
            assert_eq!(timestamp(moment), text);
        }
    }

    #[test]
    fn a_new_order_is_answered_with_these_very_bytes() {
        let reply = created(&order());
        let expected = r#"{"id":"00000000-0000-0000-0000-0000000000ab","object":"order","status":"received",
            "needs_reconciliation":false,"order_reference":"o-1","customer":{"reference":"c-1","email":null},
            "currency":"EUR","amount":300,"amount_refunded":0,
            "lines":[{"sku":"s-1","description":"tea","quantity":3,"unit_amount":70,"amount":210},
            {"sku":"s-2","description":null,"quantity":1,"unit_amount":90,"amount":90}],
            "payment":null,"steps":[],"metadata":{"a":"1","b":"2"},
            "created_at":"1970-01-01T00:00:01.000002Z","updated_at":"1970-01-01T00:00:01.000002Z"}"#;
        let one_line: String = expected.lines().map(str::trim).collect();
        assert_eq!((reply.status, String::from_utf8(reply.body).unwrap()), (201, one_line));
        let etag = Some("\"000000000000000000000000000000ab-1\"".to_owned());
        assert_eq!(reply.headers, ReplyHeaders { location: Some(PATH.to_owned()), etag, content_type: None });
        assert_eq!(shown(&order(), 202), StoredReply { status: 202, ..created(&order()) });
    }

    #[test]
    fn its_payment_and_its_steps_are_shown() {
        let (state, gateway) = (PaymentState::Succeeded, "stripe".to_owned());
        let payment = Some(PaymentSummary { state, gateway, reference: Some("pi_1".to_owned()), attempt: 2 });
        let steps = vec![StepSummary { kind: "confirmation_mail".to_owned(), state: "ready".to_owned() }];
        let shown: Value = serde_json::from_slice(&body(&Order { payment, steps, ..order() })).unwrap();
        let paid = json!({ "status": "succeeded", "gateway": "stripe", "gateway_reference": "pi_1", "attempt": 2 });
        assert_eq!(shown["payment"], paid);
        assert_eq!(shown["steps"], json!([{ "kind": "confirmation_mail", "state": "ready" }]));
    }

    #[test]
    fn a_refused_payment_says_what_becomes_of_the_order() {
        for (status, then) in [
            (OrderStatus::Received, "The order exists and can be paid by another attempt."),
            (OrderStatus::PaymentFailed, "The order exists and can be paid by another attempt."),
            (OrderStatus::Cancelled, "The order is cancelled, and no money was taken."),
            (OrderStatus::Confirmed, "The order is paid by another attempt."),
            (OrderStatus::ShipmentRequested, "The order is paid by another attempt."),
            (OrderStatus::Completed, "The order is paid by another attempt."),
        ] {
            let reply = declined(&Order { status, ..order() }, "card_declined", Uuid::from_u128(9));
            let document: Value = serde_json::from_slice(&reply.body).unwrap();
            assert_eq!(document["detail"], format!("The payment was refused (card_declined). {then}"));
            let (order_id, request_id) = (order().order_id, Uuid::from_u128(9));
            assert_eq!((&document["order_id"], &document["request_id"]), (&json!(order_id), &json!(request_id)));
            assert_eq!((reply.status, &document["status"], &document["code"]), (402, &json!(402), &json!(DECLINED.0)));
            let content_type = Some("application/problem+json".to_owned());
            assert_eq!(reply.headers, ReplyHeaders { content_type, ..created(&order()).headers });
        }
    }
}
