//! Taking money: the one place where a charge happens.

use crate::sim::effects::Effect;
use crate::sim::new_id;
use crate::sim::perform::Work;
use crate::sim::stripe::charge::{Charge, Failure};
use crate::sim::stripe::error::ApiError;
use crate::sim::stripe::intent::{Intent, Status};
use crate::sim::stripe::payment_methods::{Card, Decline};
use crate::sim::webhooks::{Origin, event};
use crate::sim::world::Change;
use serde_json::{Value, json};

/// How to pay.
pub struct Payment<'a> {
    /// `pm_…`
    pub method: &'a str,
    /// What it does.
    pub card: Card,
    /// A customer who would have to be asked is an error (`error_on_requires_action`).
    pub error_on_requires_action: bool,
    /// The answer carries the whole charge.
    pub expand_charge: bool,
}

/// Pays an intent, new or in a status in which it can be paid.
pub fn pay(mut intent: Intent, payment: &Payment<'_>, origin: &Origin) -> Work {
    intent.payment_method = Some(payment.method.to_owned());
    intent.last_payment_error = None;
    match payment.card {
        Card::Succeeds => succeed(intent, payment, origin),
        Card::Declined(decline) => fail(intent, payment.method, decline, origin),
        Card::RequiresAction if payment.error_on_requires_action => {
            fail(intent, payment.method, Decline::AUTHENTICATION, origin)
        }
        Card::RequiresAction => wait(intent, Status::RequiresAction, origin),
        Card::Processing => wait(intent, Status::Processing, origin),
    }
}

/// Ends a payment that is `processing`; `None` when this one is not.
pub fn settle(intent: &Intent, succeeds: bool, now: i64) -> Option<Work> {
    if intent.status != Status::Processing {
        return None;
    }
    let origin = Origin { request_id: None, key: intent.paying_key.clone(), now };
    let method = intent.payment_method.clone().unwrap_or_default();
    let card = if succeeds { Card::Succeeds } else { Card::Declined(Decline::GENERIC) };
    let payment = Payment { method: &method, card, error_on_requires_action: false, expand_charge: false };
    Some(pay(intent.clone(), &payment, &origin))
}

fn succeed(mut intent: Intent, payment: &Payment<'_>, origin: &Origin) -> Work {
    let charge = new_charge(&intent, payment.method, None, origin);
    intent.status = Status::Succeeded;
    intent.amount_received = intent.amount;
    intent.latest_charge = Some(charge.id.clone());
    let effect = Effect {
        kind: "charge".to_owned(),
        key: origin.key.clone().unwrap_or_else(|| intent.id.clone()),
        order_id: intent.order_id(),
        amount: Some(intent.amount),
        currency: Some(intent.currency.clone()),
    };
    let events = vec![
        event(None, "payment_intent.succeeded", &intent.render(None), origin),
        event(None, "charge.succeeded", &charge.render(), origin),
    ];
    let body = intent.render(payment.expand_charge.then_some(&charge)).to_string();
    Work {
        change: Change { effect: Some(effect), intent: Some(intent), charge: Some(charge), ..Change::default() },
        status: 200,
        body,
        events,
    }
}

fn fail(mut intent: Intent, method: &str, decline: Decline, origin: &Origin) -> Work {
    let failure = Failure {
        code: decline.code.to_owned(),
        decline_code: decline.reason.map(str::to_owned),
        message: decline.message.to_owned(),
    };
    let charge = new_charge(&intent, method, Some(failure), origin);
    let error = ApiError::card(decline.code, decline.reason, decline.message);
    intent.status = Status::RequiresPaymentMethod;
    intent.payment_method = None;
    intent.latest_charge = Some(charge.id.clone());
    intent.last_payment_error = Some(payment_error(&error, &charge.id, method));
    let object = intent.render(None);
    let events = vec![event(None, "payment_intent.payment_failed", &object, origin)];
    let error = error.about(object, Some(charge.id.clone()));
    Work {
        change: Change { intent: Some(intent), charge: Some(charge), ..Change::default() },
        status: error.http_status(),
        body: error.body(),
        events,
    }
}

/// The same members as in the answer, with charge and payment method.
fn payment_error(error: &ApiError, charge: &str, method: &str) -> Value {
    let mut members = error.members();
    if let Some(members) = members.as_object_mut() {
        members.insert("charge".to_owned(), json!(charge));
        members
            .insert("payment_method".to_owned(), json!({ "id": method, "object": "payment_method", "type": "card" }));
    }
    members
}

fn wait(mut intent: Intent, status: Status, origin: &Origin) -> Work {
    intent.status = status;
    intent.paying_key.clone_from(&origin.key);
    let object = intent.render(None);
    let events = if status == Status::Processing {
        vec![event(None, "payment_intent.processing", &object, origin)]
    } else {
        Vec::new()
    };
    let change = Change { intent: Some(intent), ..Change::default() };
    Work { change, status: 200, body: object.to_string(), events }
}

fn new_charge(intent: &Intent, method: &str, failure: Option<Failure>, origin: &Origin) -> Charge {
    Charge {
        id: new_id("ch"),
        payment_intent: intent.id.clone(),
        amount: intent.amount,
        amount_refunded: 0,
        currency: intent.currency.clone(),
        failure,
        payment_method: method.to_owned(),
        metadata: intent.metadata.clone(),
        created: origin.now,
    }
}
