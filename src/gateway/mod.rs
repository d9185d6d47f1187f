//! The outside world: payment gateways. One trait, so that failures can be scripted; one real gateway, [`stripe`].
//!
//! Nothing here knows of the database: whoever calls has committed what it is about to do, holds no transaction open,
//! and records the [`Outcome`] afterwards. No reason, code or `Debug` here holds a secret, a payment method or a URL.

pub mod addresses; // which addresses may be called
pub mod currency; // ISO 4217 minor units and the gateway's own
pub mod http_partner; // business partners
pub mod outcome; // what is known after a call
pub mod outgoing; // the HTTP client: bounded, no redirects, tells "sent" from "not sent"
pub mod recent; // what was taken and given back lately
pub mod stripe; // the one real gateway

pub use outcome::{CancelOutcome, Lookup, Outcome};

use crate::domain::ids::{OrderId, OrgId};
use crate::gateway::recent::{Recent, RecentRequest, SeenPayment, SeenRefund};
use futures_util::future::BoxFuture;
use secrecy::SecretString;
use time::OffsetDateTime;

/// A payment to take, now and in full.
#[derive(Debug, Clone)]
pub struct ChargeRequest {
    /// The gateway's idempotency key: 1–255 visible ASCII characters, committed by the caller before the first call. The
    /// gateway forgets it after a while (Stripe: 24 h); it must not be sent again after that.
    pub key: String,
    /// The tenant; written into the payment's metadata.
    pub org_id: OrgId,
    /// The order; written into the payment's metadata, which is how [`Gateway::find`] finds it.
    pub order_id: OrderId,
    /// Which attempt to pay this order, from 1; written into the payment's metadata.
    pub attempt: i32,
    /// In ISO 4217 minor units.
    pub amount: i64,
    /// ISO 4217 code, upper case.
    pub currency: String,
    /// The gateway's own id of a payment method.
    pub method: SecretString,
    /// Whether an earlier call with this key may have reached the gateway. A refusal then says nothing about that
    /// earlier call, and comes back as [`Outcome::Unknown`].
    pub sent_before: bool,
}

/// Money to give back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefundRequest {
    /// As in [`ChargeRequest`]; also written into the refund's metadata, for [`Gateway::find_refund`].
    pub key: String,
    /// The tenant.
    pub org_id: OrgId,
    /// The order.
    pub order_id: OrderId,
    /// The gateway's reference of the payment.
    pub reference: String,
    /// In ISO 4217 minor units; may be less than what was paid.
    pub amount: i64,
    /// ISO 4217 code, upper case; that of the payment.
    pub currency: String,
    /// As in [`ChargeRequest`].
    pub sent_before: bool,
}

/// Asks for a payment whose reference nobody knows. The three moments come from one clock; the gateway's may differ from
/// it by [`stripe::CLOCK_MARGIN`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FindRequest {
    /// The tenant.
    pub org_id: OrgId,
    /// The order.
    pub order_id: OrderId,
    /// The attempt.
    pub attempt: i32,
    /// What a success must amount to, in ISO 4217 minor units.
    pub amount: i64,
    /// ISO 4217 code, upper case.
    pub currency: String,
    /// Not later than the first sending of the charge.
    pub first_sent_at: OffsetDateTime,
    /// Not earlier than the last sending of the charge.
    pub last_sent_at: OffsetDateTime,
    /// The moment of asking.
    pub now: OffsetDateTime,
}

/// Asks for a payment by its reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetrieveRequest {
    /// The gateway's reference.
    pub reference: String,
    /// What a success must amount to, in ISO 4217 minor units.
    pub amount: i64,
    /// ISO 4217 code, upper case.
    pub currency: String,
}

/// Asks for a refund whose reference nobody knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FindRefundRequest {
    /// The key it was asked for with.
    pub key: String,
    /// The gateway's reference of the payment.
    pub reference: String,
    /// What a success must amount to, in ISO 4217 minor units.
    pub amount: i64,
    /// ISO 4217 code, upper case.
    pub currency: String,
    /// Not earlier than the last sending of the refund.
    pub last_sent_at: OffsetDateTime,
    /// The moment of asking.
    pub now: OffsetDateTime,
}

/// A payment gateway. Every verb ends within the gateway's timeout, whatever the other side does, and none is retried
/// inside: a second sending is the caller's decision.
pub trait Gateway: Send + Sync {
    /// Takes a payment. The same key with the same request is the same payment, for as long as the gateway keeps keys.
    fn charge(&self, request: ChargeRequest) -> BoxFuture<'_, Outcome>;

    /// Looks a payment up by our own metadata. Changes nothing.
    fn find(&self, request: FindRequest) -> BoxFuture<'_, Lookup>;

    /// Looks a payment up by the gateway's reference. Changes nothing.
    fn retrieve(&self, request: RetrieveRequest) -> BoxFuture<'_, Lookup>;

    /// Ends a payment that has taken no money, so that it never will. Doing it twice does no harm. `key` is a new one for
    /// each try: under a used key the gateway repeats its old answer, whatever has changed since.
    fn cancel(&self, request: RetrieveRequest, key: String) -> BoxFuture<'_, CancelOutcome>;

    /// Gives money back. The same key with the same request is the same refund.
    fn refund(&self, request: RefundRequest) -> BoxFuture<'_, Outcome>;

    /// Looks a refund up by the key it was asked for with. Changes nothing.
    fn find_refund(&self, request: FindRefundRequest) -> BoxFuture<'_, Lookup>;

    /// A page of the payments made lately. Changes nothing.
    fn recent_payments(&self, request: RecentRequest) -> BoxFuture<'_, Recent<SeenPayment>>;

    /// A page of the refunds made lately. Changes nothing.
    fn recent_refunds(&self, request: RecentRequest) -> BoxFuture<'_, Recent<SeenRefund>>;
}
