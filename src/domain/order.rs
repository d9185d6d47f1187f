//! An order as it is kept.

use crate::domain::ids::{OrderId, OrgId};
use crate::domain::order_request::OrderRequest;
use crate::domain::org::spelled;
use crate::domain::payment::{PaymentSummary, StepSummary};
use time::OffsetDateTime;

/// Where an order stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderStatus {
    /// Placed; no payment has succeeded or failed yet.
    Received,
    /// The last payment attempt was refused.
    PaymentFailed,
    /// Paid.
    Confirmed,
    /// The partner was asked to ship.
    ShipmentRequested,
    /// Every step is done.
    Completed,
    /// Ended without being carried out.
    Cancelled,
}

spelled!(OrderStatus {
    Received = "received",
    PaymentFailed = "payment_failed",
    Confirmed = "confirmed",
    ShipmentRequested = "shipment_requested",
    Completed = "completed",
    Cancelled = "cancelled",
});

/// One order of one organisation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// The tenant.
    pub org_id: OrgId,
    /// The order's own id.
    pub order_id: OrderId,
    /// What was asked for.
    pub request: OrderRequest,
    /// The sum of the lines, in the currency's minor unit.
    pub amount: i64,
    /// What was given back, in the currency's minor unit.
    pub amount_refunded: i64,
    /// Where it stands.
    pub status: OrderStatus,
    /// Whether a person has to decide something about it.
    pub needs_reconciliation: bool,
    /// Counts the changes, from 1.
    pub version: i32,
    /// When it was placed, to the microsecond.
    pub created_at: OffsetDateTime,
    /// When it last changed, to the microsecond.
    pub updated_at: OffsetDateTime,
    /// Its newest attempt to be paid; `None` until there is one.
    pub payment: Option<PaymentSummary>,
    /// What is done and what is pending, oldest first.
    pub steps: Vec<StepSummary>,
}

impl Order {
    /// A new order for a valid request. `now` is cut to whole microseconds, which is what the database keeps.
    #[must_use]
    pub fn new(org_id: OrgId, order_id: OrderId, request: OrderRequest, now: OffsetDateTime) -> Self {
        let now = now.replace_nanosecond(now.microsecond() * 1_000).unwrap_or(now);
        Self {
            org_id,
            order_id,
            amount: request.amount(),
            amount_refunded: 0,
            status: OrderStatus::Received,
            needs_reconciliation: false,
            version: 1,
            created_at: now,
            updated_at: now,
            payment: None,
            steps: Vec::new(),
            request,
        }
    }

    /// The entity tag (RFC 9110, section 8.8.3) of this version of this order.
    #[must_use]
    pub fn etag(&self) -> String {
        format!("\"{}-{}\"", self.order_id.0.simple(), self.version)
    }
}
