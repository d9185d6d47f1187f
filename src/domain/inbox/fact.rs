//! A fact that a notification tells, in our own words.

use crate::domain::ids::OrderId;
use crate::domain::org::spelled;
use serde_json::{Value, json};
use uuid::Uuid;

/// What a fact is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// Money was taken.
    Succeeded,
    /// An attempt to take money failed.
    Failed,
    /// A payment was ended before any money was taken.
    Canceled,
    /// A payment is on its way.
    Processing,
    /// How one refund stands.
    Refund,
    /// What was given back of one charge up to a moment, all refunds together.
    RefundedTotal,
    /// How one dispute stands.
    Dispute,
}

spelled!(What {
    Succeeded = "succeeded",
    Failed = "failed",
    Canceled = "canceled",
    Processing = "processing",
    Refund = "refund",
    RefundedTotal = "refunded_total",
    Dispute = "dispute",
});

impl What {
    /// Whether money moved, so that it may not be lost sight of.
    #[must_use]
    pub fn is_about_money(self) -> bool {
        !matches!(self, Self::Failed | Self::Canceled | Self::Processing)
    }
}

/// In the key of what contradicts an earlier word. No id of a provider's has it.
const ANOTHER_WORD: &str = ":otherwise:";

/// One fact. Every text in it has the form of a provider's id or code, so that it may be stored and shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// What makes it this fact: two notifications with the same key tell of the same.
    pub key: String,
    /// What it is about.
    pub what: What,
    /// The provider's name for the payment.
    pub reference: Option<String>,
    /// The provider's name for the refund or dispute.
    pub object: Option<String>,
    /// The refund's or dispute's status, in the provider's words.
    pub status: Option<String>,
    /// Why it failed.
    pub code: Option<String>,
    /// In the provider's unit of the currency.
    pub amount: Option<i64>,
    /// ISO 4217, upper case.
    pub currency: Option<String>,
    /// The order that the metadata name.
    pub order_id: Option<OrderId>,
    /// The attempt that the metadata name.
    pub attempt: Option<i32>,
    /// The key under which we asked for this refund.
    pub refund_key: Option<String>,
    /// When the object was made, in seconds since 1970.
    pub made_at: Option<i64>,
    /// When it was told, in seconds since 1970.
    pub told_at: Option<i64>,
}

impl Fact {
    /// That the money of a payment was taken; nothing else is said.
    #[must_use]
    pub fn succeeded(reference: String) -> Self {
        Self {
            key: format!("pi:{reference}:succeeded"),
            what: What::Succeeded,
            reference: Some(reference),
            object: None,
            status: None,
            code: None,
            amount: None,
            currency: None,
            order_id: None,
            attempt: None,
            refund_key: None,
            made_at: None,
            told_at: None,
        }
    }

    /// The key of another word on the same fact: with another amount or currency than the first one told.
    #[must_use]
    pub fn key_of_another_word(&self) -> String {
        let (amount, currency) = (self.amount.unwrap_or_default(), self.currency.as_deref().unwrap_or_default());
        format!("{}{ANOTHER_WORD}{amount}:{currency}", self.key)
    }

    /// Whether this contradicts what was told first of the same fact.
    #[must_use]
    pub fn is_another_word(&self) -> bool {
        self.key.contains(ANOTHER_WORD)
    }

    /// As it is kept.
    #[must_use]
    pub fn to_value(&self) -> Value {
        json!({
            "object": self.object, "status": self.status, "code": self.code, "amount": self.amount,
            "currency": self.currency, "order_id": self.order_id, "attempt": self.attempt,
            "refund_key": self.refund_key, "made_at": self.made_at, "told_at": self.told_at,
        })
    }

    /// Reads it back, with what is kept beside it.
    #[must_use]
    pub fn from_value(key: String, what: What, reference: Option<String>, value: &Value) -> Self {
        let text = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
        let number = |name: &str| value.get(name).and_then(Value::as_i64);
        Self {
            key,
            what,
            reference,
            object: text("object"),
            status: text("status"),
            code: text("code"),
            amount: number("amount"),
            currency: text("currency"),
            order_id: text("order_id").and_then(|id| Uuid::try_parse(&id).ok()).map(OrderId),
            attempt: number("attempt").and_then(|attempt| i32::try_from(attempt).ok()),
            refund_key: text("refund_key"),
            made_at: number("made_at"),
            told_at: number("told_at"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fact_is_read_back_as_it_was() {
        let fact = Fact {
            key: "refund:re_1:succeeded".to_owned(),
            what: What::Refund,
            reference: Some("pi_1".to_owned()),
            object: Some("re_1".to_owned()),
            status: Some("succeeded".to_owned()),
            code: None,
            amount: Some(5),
            currency: Some("EUR".to_owned()),
            order_id: OrderId::parse("019caddc-4f3a-7d15-9c42-83b6f0e2a917"),
            attempt: Some(2),
            refund_key: Some("ichido-1".to_owned()),
            made_at: Some(1),
            told_at: Some(2),
        };
        let read = Fact::from_value(fact.key.clone(), fact.what, fact.reference.clone(), &fact.to_value());
        assert_eq!(read, fact);
    }

    #[test]
    fn money_is_moved_by_some_facts_only() {
        for (what, is_about_money) in [
            (What::Succeeded, true),
            (What::Refund, true),
            (What::RefundedTotal, true),
            (What::Dispute, true),
            (What::Failed, false),
            (What::Canceled, false),
            (What::Processing, false),
        ] {
            assert_eq!(what.is_about_money(), is_about_money, "{what:?}");
        }
    }

    #[test]
    fn another_word_on_the_same_fact_has_a_key_of_its_own() {
        let first = Fact::succeeded("pi_1".to_owned());
        assert_eq!((first.key.as_str(), first.reference.as_deref()), ("pi:pi_1:succeeded", Some("pi_1")));
        let other = Fact { amount: Some(5), currency: Some("EUR".to_owned()), ..first.clone() };
        assert_eq!(other.key_of_another_word(), "pi:pi_1:succeeded:otherwise:5:EUR");
        assert_eq!(first.key_of_another_word(), "pi:pi_1:succeeded:otherwise:0:");
        let another_word = Fact { key: other.key_of_another_word(), ..other.clone() };
        assert!(another_word.is_another_word() && !first.is_another_word() && !other.is_another_word());
    }
}
