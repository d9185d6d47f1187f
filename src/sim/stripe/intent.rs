//! The payment intent (<https://docs.stripe.com/api/payment_intents/object>).

use crate::sim::stripe::charge::Charge;
use crate::sim::stripe::error::ApiError;
use crate::sim::world::State;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Where a payment stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It needs a payment method, perhaps another one.
    RequiresPaymentMethod,
    /// It needs `confirm`.
    RequiresConfirmation,
    /// It needs the customer.
    RequiresAction,
    /// The bank will tell.
    Processing,
    /// Paid.
    Succeeded,
    /// Never to be paid.
    Canceled,
}

impl Status {
    /// As it stands in the object.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RequiresPaymentMethod => "requires_payment_method",
            Self::RequiresConfirmation => "requires_confirmation",
            Self::RequiresAction => "requires_action",
            Self::Processing => "processing",
            Self::Succeeded => "succeeded",
            Self::Canceled => "canceled",
        }
    }
}

/// A payment intent as it is kept.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Intent {
    /// `pi_…`
    pub id: String,
    /// In the currency's minor unit.
    pub amount: i64,
    /// What was taken.
    pub amount_received: i64,
    /// Lower case.
    pub currency: String,
    /// Where it stands.
    pub status: Status,
    /// `pm_…`
    pub payment_method: Option<String>,
    /// Kinds of payment methods, if the caller named them.
    pub payment_method_types: Vec<String>,
    /// Whether a payment method may send the customer to another page.
    pub may_redirect: bool,
    /// The last attempt's charge, a failed one too.
    pub latest_charge: Option<String>,
    /// Why the last attempt failed.
    pub last_payment_error: Option<Value>,
    /// The caller's.
    pub metadata: BTreeMap<String, String>,
    /// Seconds since 1970.
    pub created: i64,
    /// For the customer's browser.
    pub client_secret: String,
    /// The caller's.
    pub description: Option<String>,
    /// The caller's.
    pub customer: Option<String>,
    /// The caller's.
    pub receipt_email: Option<String>,
    /// Seconds since 1970.
    pub canceled_at: Option<i64>,
    /// Why.
    pub cancellation_reason: Option<String>,
    /// The idempotency key of the call that pays, for the time until the bank tells.
    pub paying_key: Option<String>,
}

impl Intent {
    /// The object, with its charge if that is to be expanded.
    pub fn render(&self, charge: Option<&Charge>) -> Value {
        let mut types: Vec<&str> = self.payment_method_types.iter().map(String::as_str).collect();
        let automatic = types.is_empty();
        if automatic {
            types.push("card");
        }
        let redirects = if self.may_redirect { "always" } else { "never" };
        let methods = automatic.then(|| json!({ "allow_redirects": redirects, "enabled": true }));
        let needs_customer = self.status == Status::RequiresAction;
        json!({
            "id": self.id,
            "object": "payment_intent",
            "amount": self.amount,
            "amount_capturable": 0,
            "amount_received": self.amount_received,
            "automatic_payment_methods": methods,
            "canceled_at": self.canceled_at,
            "cancellation_reason": self.cancellation_reason,
            "capture_method": "automatic_async",
            "client_secret": self.client_secret,
            "confirmation_method": "automatic",
            "created": self.created,
            "currency": self.currency,
            "customer": self.customer,
            "description": self.description,
            "last_payment_error": self.last_payment_error,
            "latest_charge": charge.map_or_else(|| json!(self.latest_charge), Charge::render),
            "livemode": false,
            "metadata": self.metadata,
            "next_action": needs_customer.then(|| json!({ "type": "use_stripe_sdk", "use_stripe_sdk": {} })),
            "payment_method": self.payment_method,
            "payment_method_options": {},
            "payment_method_types": types,
            "processing": null,
            "receipt_email": self.receipt_email,
            "setup_future_usage": null,
            "shipping": null,
            "statement_descriptor": null,
            "status": self.status,
        })
    }

    /// The object as the state has it, with its charge if that is wanted.
    pub fn render_in(&self, state: &State, expand_charge: bool) -> Value {
        let charge = self.latest_charge.as_deref().filter(|_| expand_charge);
        self.render(charge.and_then(|id| state.charges.get(id)))
    }

    /// The order that the caller named, if it did.
    pub fn order_id(&self) -> Option<String> {
        self.metadata.get("ichido_order_id").cloned()
    }

    /// 400 for what cannot be done in this status.
    pub fn unexpected(&self, verb: &str, possible: &str) -> ApiError {
        let status = self.status.as_str();
        let message = format!(
            "You cannot {verb} this PaymentIntent because it has a status of {status}. \
             Only a PaymentIntent with one of the following statuses may be {possible}."
        );
        ApiError::invalid(message).code("payment_intent_unexpected_state").about(self.render(None), None)
    }
}
