//! The charge (<https://docs.stripe.com/api/charges/object>).

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A charge as it is kept. One that failed took no money.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Charge {
    /// `ch_…`
    pub id: String,
    /// `pi_…`
    pub payment_intent: String,
    /// In the currency's minor unit.
    pub amount: i64,
    /// The sum of its refunds.
    pub amount_refunded: i64,
    /// Lower case.
    pub currency: String,
    /// Why it failed: code, decline code, message.
    pub failure: Option<Failure>,
    /// `pm_…`
    pub payment_method: String,
    /// The intent's, as they were.
    pub metadata: BTreeMap<String, String>,
    /// Seconds since 1970.
    pub created: i64,
}

/// Why a charge failed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Failure {
    /// `card_declined` and the like.
    pub code: String,
    /// The bank's reason.
    pub decline_code: Option<String>,
    /// For people.
    pub message: String,
}

impl Charge {
    /// Whether money was taken.
    pub fn is_paid(&self) -> bool {
        self.failure.is_none()
    }

    /// The object. As in API versions since 2022-11-15 it carries no list of its refunds.
    pub fn render(&self) -> Value {
        let paid = self.is_paid();
        let failure = self.failure.as_ref();
        let outcome = json!({
            "network_status": if paid { "approved_by_network" } else { "declined_by_network" },
            "reason": failure.and_then(|failure| failure.decline_code.as_deref()),
            "type": if paid { "authorized" } else { "issuer_declined" },
        });
        json!({
            "id": self.id,
            "object": "charge",
            "amount": self.amount,
            "amount_captured": if paid { self.amount } else { 0 },
            "amount_refunded": self.amount_refunded,
            "balance_transaction": null,
            "captured": paid,
            "created": self.created,
            "currency": self.currency,
            "disputed": false,
            "failure_code": failure.map(|failure| failure.code.as_str()),
            "failure_message": failure.map(|failure| failure.message.as_str()),
            "livemode": false,
            "metadata": self.metadata,
            "outcome": outcome,
            "paid": paid,
            "payment_intent": self.payment_intent,
            "payment_method": self.payment_method,
            "payment_method_details": { "card": { "brand": "visa", "last4": "4242" }, "type": "card" },
            "refunded": paid && self.amount_refunded == self.amount,
            "status": if paid { "succeeded" } else { "failed" },
        })
    }
}
