//! Stripe's profile: which type of notification tells which fact.
//!
//! Stripe's answers to the questions about a provider: a notification's id is its own and may be delivered several times; one
//! happening has several notifications (of the intent, of the charge, of the session), and now and then two ids for the very
//! same; their order is not kept; they are signed ([`super::signature`]); the state is asked at the payment intent.
//! Types that are not in the table mean nothing to us.

use crate::domain::ids::OrderId;
use crate::domain::inbox::fact::{Fact, What};
use serde_json::Value;

/// What is read of every notification, whatever it tells.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Notification {
    /// `evt_…`
    pub id: Option<String>,
    /// `payment_intent.succeeded` and the like.
    pub kind: Option<String>,
    /// The id of the object that it shows.
    pub object_id: Option<String>,
    /// The organisation that the object's metadata name: we write it into everything that we make.
    pub org: Option<String>,
    /// Whether it is about real money; `None` when it does not say.
    pub live: Option<bool>,
    /// What it tells; `None` when that means nothing to us.
    pub fact: Option<Fact>,
}

const MAX_TEXT: usize = 255;

/// Reads a notification. What is no JSON, or has another form, tells nothing.
#[must_use]
pub fn read(body: &[u8]) -> Notification {
    let Ok(event) = serde_json::from_slice::<Value>(body) else {
        return Notification::default();
    };
    let object = event.pointer("/data/object").unwrap_or(&Value::Null);
    let kind = id_at(&event, "type");
    let told = Told { object, told_at: number(&event, "created") };
    Notification {
        id: id_at(&event, "id"),
        object_id: id_at(object, "id"),
        org: told.metadata("ichido_org_id"),
        live: event.get("livemode").and_then(Value::as_bool),
        fact: kind.as_deref().and_then(|kind| told.fact(kind)),
        kind,
    }
}

struct Told<'a> {
    object: &'a Value,
    told_at: Option<i64>,
}

impl Told<'_> {
    fn fact(&self, kind: &str) -> Option<Fact> {
        match kind {
            "payment_intent.succeeded" => self.succeeded(self.id("id")?, "amount_received"),
            "charge.succeeded" if self.flag("captured") => self.succeeded(self.payment()?, "amount_captured"),
            "checkout.session.completed" if self.text("payment_status").as_deref() == Some("paid") => {
                self.succeeded(self.id("payment_intent")?, "amount_total")
            }
            "charge.captured" => self.captured(),
            "payment_intent.payment_failed" => self.failed(),
            "payment_intent.canceled" => {
                let reference = self.id("id")?;
                Some(self.about(What::Canceled, format!("pi:{reference}:canceled"), Some(reference)))
            }
            "payment_intent.processing" | "payment_intent.created" | "payment_intent.amount_capturable_updated" => {
                let (reference, word) = (self.id("id")?, kind.rsplit('.').next()?);
                Some(self.about(What::Processing, format!("pi:{reference}:{word}"), Some(reference)))
            }
            "refund.created" | "refund.updated" | "refund.failed" | "charge.refund.updated" => self.refund(),
            "charge.refunded" => self.refunded_total(),
            _ if kind.starts_with("charge.dispute.") => self.dispute(),
            _ => None,
        }
    }

    fn succeeded(&self, reference: String, amount: &str) -> Option<Fact> {
        // A charge that was captured at once may not say how much of it was.
        let amount = number(self.object, amount).or_else(|| number(self.object, "amount"))?;
        let key = Fact::succeeded(reference.clone()).key;
        Some(Fact { amount: Some(amount), ..self.about(What::Succeeded, key, Some(reference)) })
    }

    fn captured(&self) -> Option<Fact> {
        let (charge, reference) = (self.id("id")?, self.payment()?);
        let (whole, taken) = (number(self.object, "amount")?, number(self.object, "amount_captured")?);
        if whole == taken {
            return self.succeeded(reference, "amount_captured");
        }
        let key = format!("capture:{charge}:{taken}");
        Some(Fact { amount: Some(taken), ..self.about(What::Succeeded, key, Some(reference)) })
    }

    fn failed(&self) -> Option<Fact> {
        let reference = self.id("id")?;
        let why = self.object.get("last_payment_error").unwrap_or(&Value::Null);
        let charge = part_at(why, "charge").or_else(|| self.id("latest_charge")).unwrap_or_default();
        let code = code_at(why, "decline_code").or_else(|| code_at(why, "code"));
        let key = format!("pi:{reference}:failed:{charge}");
        Some(Fact { code, ..self.about(What::Failed, key, Some(reference)) })
    }

    fn refund(&self) -> Option<Fact> {
        let (refund, status) = (self.id("id")?, self.code("status")?);
        let key = format!("refund:{refund}:{status}");
        let fact = self.about(What::Refund, key, self.payment());
        Some(Fact {
            object: Some(refund),
            status: Some(status),
            code: self.code("failure_reason"),
            amount: Some(number(self.object, "amount")?),
            refund_key: self.metadata("ichido_refund_key"),
            ..fact
        })
    }

    fn refunded_total(&self) -> Option<Fact> {
        let (charge, total) = (self.id("id")?, number(self.object, "amount_refunded")?);
        let key = format!("charge:{charge}:refunded_total:{total}");
        let fact = self.about(What::RefundedTotal, key, self.payment());
        Some(Fact { object: Some(charge), amount: Some(total), ..fact })
    }

    fn dispute(&self) -> Option<Fact> {
        let (dispute, status) = (self.id("id")?, self.code("status")?);
        let key = format!("dispute:{dispute}:{status}");
        let fact = self.about(What::Dispute, key, self.payment());
        let code = self.code("reason");
        Some(Fact { object: Some(dispute), status: Some(status), code, amount: number(self.object, "amount"), ..fact })
    }

    /// A fact with what every object may carry.
    fn about(&self, what: What, key: String, reference: Option<String>) -> Fact {
        let currency = self.text("currency").filter(|code| code.len() == 3 && is_word(code));
        Fact {
            key,
            what,
            reference,
            object: None,
            status: None,
            code: None,
            amount: None,
            currency: currency.map(|code| code.to_ascii_uppercase()),
            order_id: self.metadata("ichido_order_id").and_then(|id| OrderId::parse(&id)),
            attempt: self.metadata("ichido_attempt").and_then(|attempt| attempt.parse().ok()).filter(|n| *n > 0),
            refund_key: None,
            made_at: number(self.object, "created"),
            told_at: self.told_at,
        }
    }

    /// The payment that a charge, refund or dispute is about: its intent, else its charge.
    fn payment(&self) -> Option<String> {
        let charge = if self.text("object").as_deref() == Some("charge") { "id" } else { "charge" };
        self.id("payment_intent").or_else(|| self.id(charge))
    }

    fn id(&self, name: &str) -> Option<String> {
        part_at(self.object, name)
    }

    fn code(&self, name: &str) -> Option<String> {
        code_at(self.object, name)
    }

    fn text(&self, name: &str) -> Option<String> {
        self.object.get(name).and_then(Value::as_str).map(str::to_owned)
    }

    fn flag(&self, name: &str) -> bool {
        self.object.get(name).and_then(Value::as_bool).unwrap_or_default()
    }

    fn metadata(&self, name: &str) -> Option<String> {
        id_at(self.object.get("metadata")?, name)
    }
}

/// A member that is an id, or an expanded object with one. Only what has the form of an id is kept.
fn id_at(value: &Value, name: &str) -> Option<String> {
    let member = value.get(name)?;
    let text = member.as_str().or_else(|| member.get("id")?.as_str())?;
    let fits = (1..=MAX_TEXT).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
    fits.then(|| text.to_owned())
}

/// An id that may be part of a fact's key. A colon divides the parts, so that with one in it another fact could have its key.
fn part_at(value: &Value, name: &str) -> Option<String> {
    id_at(value, name).filter(|id| !id.contains(':'))
}

fn code_at(value: &Value, name: &str) -> Option<String> {
    let text = value.get(name)?.as_str()?;
    ((1..=64).contains(&text.len()) && is_word(text)).then(|| text.to_owned())
}

fn is_word(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn number(value: &Value, name: &str) -> Option<i64> {
    value.get(name)?.as_i64()
}

#[cfg(test)]
#[path = "stripe_tests.rs"]
mod tests;
