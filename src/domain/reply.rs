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
