//! What only a simulated world has: notifications on demand, and payments settled by hand.

use crate::sim::perform::Broken;
use crate::sim::stripe::charging;
use crate::sim::webhooks::{Origin, event};
use crate::sim::world::{Change, State};
use crate::sim::{Sim, now};
use actix_web::{Error, HttpResponse, web};
use futures_util::future::join_all;
use serde::Deserialize;
use serde_json::{Value, json};

/// Stripe's types that the world can tell of.
const TYPES: [&str; 10] = [
    "payment_intent.succeeded",
    "payment_intent.payment_failed",
    "payment_intent.processing",
    "payment_intent.canceled",
    "charge.succeeded",
    "charge.captured",
    "charge.refunded",
    "refund.created",
    "refund.updated",
    "refund.failed",
];
const MAX_COPIES: usize = 100;

/// Which notification to send.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Notify {
    r#type: String,
    payment_intent: Option<String>,
    refund: Option<String>,
    /// How many deliveries of the one event; 1 without it.
    copies: Option<usize>,
    /// The event's id; a new one without it.
    event_id: Option<String>,
    /// All copies at the same time rather than one after another.
    #[serde(default)]
    at_once: bool,
}

/// `POST /control/webhooks`: sends a notification now, whether or not it was sent before, with the object as it is now,
/// and answers with the event and what each delivery came to.
pub async fn webhooks(sim: web::Data<Sim>, body: web::Bytes) -> Result<HttpResponse, Error> {
    let wanted: Notify = match serde_json::from_slice(&body) {
        Ok(wanted) => wanted,
        Err(error) => return Ok(refuse(&error.to_string())),
    };
    let Some(webhooks) = &sim.webhooks else {
        return Ok(refuse("the world was started without a webhook URL"));
    };
    let copies = wanted.copies.unwrap_or(1);
    if !TYPES.contains(&wanted.r#type.as_str()) || !(1..=MAX_COPIES).contains(&copies) {
        return Ok(refuse("type is not one that is sent, or copies is not between 1 and 100"));
    }
    let Some(object) = sim.world.read(|state| find_object(state, &wanted)) else {
        return Ok(refuse("there is no such object for this type"));
    };
    sim.world.synced().await.map_err(|_| Broken)?;
    let origin = Origin { now: now(), ..Origin::default() };
    let text = event(wanted.event_id, &wanted.r#type, &object, &origin);
    let results = if wanted.at_once {
        join_all((0..copies).map(|_| webhooks.deliver(&text))).await
    } else {
        let mut results = Vec::with_capacity(copies);
        for _ in 0..copies {
            results.push(webhooks.deliver(&text).await);
        }
        results
    };
    let deliveries: Vec<_> = results.into_iter().map(delivery).collect();
    let event: Value = serde_json::from_str(&text)?;
    Ok(HttpResponse::Ok().json(json!({ "event": event, "deliveries": deliveries })))
}

fn delivery(result: Result<u16, String>) -> Value {
    match result {
        Ok(status) => json!({ "status": status }),
        Err(error) => json!({ "error": error }),
    }
}

/// The object that an event of this type carries.
fn find_object(state: &State, wanted: &Notify) -> Option<Value> {
    let refund = wanted.refund.as_deref().and_then(|id| state.refunds.get(id));
    let intent = wanted.payment_intent.as_deref().or(refund.map(|refund| refund.payment_intent.as_str()));
    let intent = state.intents.get(intent?)?;
    match wanted.r#type.split_once('.')?.0 {
        "payment_intent" => Some(intent.render(None)),
        "charge" => Some(state.charges.get(intent.latest_charge.as_deref()?)?.render()),
        _ => Some(refund?.render()),
    }
}

/// How a payment that is `processing` ends.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settle {
    payment_intent: String,
    outcome: Settled,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum Settled {
    Succeeded,
    Failed,
}

/// `POST /control/settle`: a payment that is `processing` succeeds or fails, as if days had passed, and Stripe tells of
/// it by a notification.
pub async fn settle(sim: web::Data<Sim>, body: web::Bytes) -> Result<HttpResponse, Error> {
    let wanted: Settle = match serde_json::from_slice(&body) {
        Ok(wanted) => wanted,
        Err(error) => return Ok(refuse(&error.to_string())),
    };
    let settled = sim.world.change(|state| {
        let intent = state.intents.get(&wanted.payment_intent);
        let succeeds = matches!(wanted.outcome, Settled::Succeeded);
        match intent.and_then(|intent| charging::settle(intent, succeeds, now())) {
            Some(work) => (work.change, Some(work.events)),
            None => (Change::default(), None),
        }
    });
    sim.world.synced().await.map_err(|_| Broken)?;
    let Some(events) = settled else {
        return Ok(refuse("there is no such payment intent that is processing"));
    };
    sim.notify(events);
    let intent = sim.world.read(|state| state.intents.get(&wanted.payment_intent).map(|intent| intent.render(None)));
    Ok(HttpResponse::Ok().json(intent))
}

fn refuse(why: &str) -> HttpResponse {
    HttpResponse::BadRequest().json(json!({ "error": { "message": why } }))
}
