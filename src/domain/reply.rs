//! The answer to a request for an order: rendered once, stored, and given again byte for byte.

use crate::domain::ids::OrderId;
use crate::domain::order::Order;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use time::OffsetDateTime;
use time::format_description::FormatItem;
use time::macros::format_description;

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
    #[serde(rename = "Location")]
    pub location: String,
    /// Its entity tag at that time.
    #[serde(rename = "ETag")]
    pub etag: String,
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
    StoredReply {
        status: 201,
        headers: ReplyHeaders { location: location(order.order_id), etag: order.etag() },
        body: body(order),
    }
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
    /// No attempt exists without a payment.
    payment: Option<()>,
    /// No step begins before a payment.
    steps: [(); 0],
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
            payment: None,
            steps: [],
            metadata: metadata.map(|(name, value)| (name.as_str(), value.as_str())).collect(),
            created_at: timestamp(order.created_at),
            updated_at: timestamp(order.updated_at),
        }
    }
}
