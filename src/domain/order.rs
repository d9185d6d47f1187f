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

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::domain::order_request::{Customer, Line};
    use uuid::Uuid;

    /// A new order of two lines, placed 1 second and 2 microseconds after 1970 began.
    pub fn order() -> Order {
        let line = |sku: &str, description: Option<&str>, quantity, unit_amount| Line {
            sku: sku.to_owned(),
            description: description.map(str::to_owned),
            quantity,
            unit_amount,
        };
        let request = OrderRequest {
            order_reference: Some("o-1".to_owned()),
            customer: Customer { reference: "c-1".to_owned(), email: None },
            currency: "EUR".to_owned(),
            lines: vec![line("s-1", Some("tea"), 3, 70), line("s-2", None, 1, 90)],
            metadata: Some([("b".to_owned(), "2".to_owned()), ("a".to_owned(), "1".to_owned())].into()),
        };
        let now = OffsetDateTime::from_unix_timestamp_nanos(1_000_002_999).unwrap();
        Order::new(OrgId(7), OrderId(Uuid::from_u128(0xab)), request, now)
    }

    #[test]
    fn a_new_order_is_received_and_costs_the_sum_of_its_lines() {
        let order = order();
        assert_eq!(
            (order.status, order.version, order.amount, order.amount_refunded),
            (OrderStatus::Received, 1, 300, 0)
        );
        assert_eq!((order.created_at.nanosecond(), order.updated_at), (2_000, order.created_at));
        assert!(!order.needs_reconciliation && order.payment.is_none() && order.steps.is_empty());
    }

    #[test]
    fn each_version_has_an_entity_tag_of_its_own() {
        let first = order();
        assert_eq!(first.etag(), "\"000000000000000000000000000000ab-1\"");
        assert_eq!(Order { version: 12, ..first }.etag(), "\"000000000000000000000000000000ab-12\"");
    }
}
