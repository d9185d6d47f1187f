//! Receipts and events as the API shows them.

use crate::domain::ids::OrderId;
use crate::domain::inbox::fact::What;
use crate::domain::inbox::signature::Verdict;
use crate::domain::inbox::{Classification, EventOutcome};
use crate::domain::reply::timestamp;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use time::OffsetDateTime;
use uuid::Uuid;

/// One delivery, as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// A UUID v7.
    pub receipt_id: Uuid,
    /// The order of arrival.
    pub arrival: i64,
    /// Where it came to.
    pub endpoint_id: Uuid,
    /// From whom.
    pub provider: String,
    /// When.
    pub received_at: OffsetDateTime,
    /// Whether it was believed.
    pub signature: Verdict,
    /// Which secret signed it.
    pub secret_label: Option<String>,
    /// Our clock minus the signed time.
    pub skew_seconds: Option<i64>,
    /// The exact bytes, or the beginning of them; `None` when they are not shown, or are gone.
    pub body: Option<Vec<u8>>,
    /// How many there were.
    pub body_bytes: i32,
    /// The answer's status.
    pub reply_status: i16,
    /// What became of it.
    pub classification: Option<Classification>,
    /// The provider's name for it.
    pub notification_id: Option<String>,
    /// What kind of notification.
    pub kind: Option<String>,
    /// The provider's name for the object that it shows.
    pub object_id: Option<String>,
    /// The fact that it tells.
    pub fact_key: Option<String>,
    /// The order that it is about, if that was known when it came.
    pub order_id: Option<OrderId>,
}

/// A receipt's members, in the order of the documentation.
#[derive(Debug, Serialize)]
pub struct ReceiptView<'a> {
    id: Uuid,
    object: &'static str,
    arrival: i64,
    endpoint_id: Uuid,
    provider: &'a str,
    received_at: String,
    signature: &'static str,
    secret_label: Option<&'a str>,
    skew_seconds: Option<i64>,
    reply_status: i16,
    classification: Option<&'static str>,
    notification_id: Option<&'a str>,
    r#type: Option<&'a str>,
    object_id: Option<&'a str>,
    fact_key: Option<&'a str>,
    order_id: Option<OrderId>,
    body_bytes: i32,
    body_base64: Option<String>,
}

impl<'a> ReceiptView<'a> {
    /// The view of one receipt.
    #[must_use]
    pub fn of(receipt: &'a Receipt) -> Self {
        Self {
            id: receipt.receipt_id,
            object: "receipt",
            arrival: receipt.arrival,
            endpoint_id: receipt.endpoint_id,
            provider: &receipt.provider,
            received_at: timestamp(receipt.received_at),
            signature: receipt.signature.as_str(),
            secret_label: receipt.secret_label.as_deref(),
            skew_seconds: receipt.skew_seconds,
            reply_status: receipt.reply_status,
            classification: receipt.classification.map(Classification::as_str),
            notification_id: receipt.notification_id.as_deref(),
            r#type: receipt.kind.as_deref(),
            object_id: receipt.object_id.as_deref(),
            fact_key: receipt.fact_key.as_deref(),
            order_id: receipt.order_id,
            body_bytes: receipt.body_bytes,
            body_base64: receipt.body.as_ref().map(|body| STANDARD.encode(body)),
        }
    }
}

/// One fact, as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// A UUID v7.
    pub event_id: Uuid,
    /// Who told it.
    pub provider: String,
    /// What makes it this fact.
    pub fact_key: String,
    /// What it is about.
    pub what: What,
    /// The provider's name for the payment.
    pub reference: Option<String>,
    /// In ISO 4217 minor units.
    pub amount: Option<i64>,
    /// ISO 4217.
    pub currency: Option<String>,
    /// When it happened, by the provider's clock.
    pub provider_time: Option<OffsetDateTime>,
    /// What became of it.
    pub outcome: EventOutcome,
    /// Why.
    pub reason: Option<String>,
    /// The order.
    pub order_id: Option<OrderId>,
    /// Until when it waits, if it does.
    pub deadline: Option<OffsetDateTime>,
    /// Every notification that told of it.
    pub notification_ids: Vec<String>,
    /// When it was first told.
    pub created_at: OffsetDateTime,
    /// When it last changed.
    pub updated_at: OffsetDateTime,
}

/// An event's members, in the order of the documentation.
#[derive(Debug, Serialize)]
pub struct EventView<'a> {
    id: Uuid,
    object: &'static str,
    provider: &'a str,
    fact_key: &'a str,
    what: &'static str,
    payment_reference: Option<&'a str>,
    amount: Option<i64>,
    currency: Option<&'a str>,
    provider_time: Option<String>,
    outcome: &'static str,
    reason: Option<&'a str>,
    order_id: Option<OrderId>,
    deadline: Option<String>,
    notification_ids: &'a [String],
    created_at: String,
    updated_at: String,
}

impl<'a> EventView<'a> {
    /// The view of one event.
    #[must_use]
    pub fn of(event: &'a Event) -> Self {
        Self {
            id: event.event_id,
            object: "event",
            provider: &event.provider,
            fact_key: &event.fact_key,
            what: event.what.as_str(),
            payment_reference: event.reference.as_deref(),
            amount: event.amount,
            currency: event.currency.as_deref(),
            provider_time: event.provider_time.map(timestamp),
            outcome: event.outcome.as_str(),
            reason: event.reason.as_deref(),
            order_id: event.order_id,
            deadline: event.deadline.map(timestamp),
            notification_ids: &event.notification_ids,
            created_at: timestamp(event.created_at),
            updated_at: timestamp(event.updated_at),
        }
    }
}
