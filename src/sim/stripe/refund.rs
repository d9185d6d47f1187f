//! The refund (<https://docs.stripe.com/api/refunds/object>).

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A refund as it is kept.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Refund {
    /// `re_…`
    pub id: String,
    /// `pi_…`
    pub payment_intent: String,
    /// `ch_…`
    pub charge: String,
    /// In the currency's minor unit.
    pub amount: i64,
    /// Lower case.
    pub currency: String,
    /// Whether the bank could not give the money back.
    pub failed: bool,
    /// The caller's.
    pub reason: Option<String>,
    /// The caller's.
    pub metadata: BTreeMap<String, String>,
    /// Seconds since 1970.
    pub created: i64,
}

impl Refund {
    /// The object.
    pub fn render(&self) -> Value {
        let mut object = json!({
            "id": self.id,
            "object": "refund",
            "amount": self.amount,
            "balance_transaction": null,
            "charge": self.charge,
            "created": self.created,
            "currency": self.currency,
            "metadata": self.metadata,
            "payment_intent": self.payment_intent,
            "reason": self.reason,
            "receipt_number": null,
            "status": if self.failed { "failed" } else { "succeeded" },
        });
        if self.failed
            && let Some(members) = object.as_object_mut()
        {
            members.insert("failure_reason".to_owned(), json!("declined"));
        }
        object
    }
}
