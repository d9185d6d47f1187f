//! What happens at the simulated gateway without the service, and what the gateway tells of it.

use crate::case::Case;
use crate::machine::Machine;
use crate::operation::{Delivery, News, Place};
use crate::stage::{SECRET, STAGE};
use crate::support::app::Answer;
use futures_util::future::join_all;
use ichido::clock::Clock;
use ichido::sim::signature::stripe_signature;
use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

/// So long before an earlier failure came the success that is told first, in seconds.
const EARLIER: i64 = 1_000;

/// The gateway's payment.
async fn intent(case: &Case, machine: &Machine, place: Place) -> Value {
    if let Some(id) = case.elsewhere.get(&(place.order, place.payment)) {
        return STAGE.gateway(&case.world, Method::GET, &format!("payment_intents/{id}"), &[]).await;
    }
    let id = &case.ids[place.order];
    let attempt = machine.orders[place.order].payments[place.payment].attempt.unwrap_or_default().to_string();
    let list = STAGE.gateway(&case.world, Method::GET, "payment_intents?limit=100", &[]).await;
    let ours = |it: &&Value| {
        it["metadata"]["ichido_order_id"] == json!(id) && it["metadata"]["ichido_attempt"] == json!(attempt)
    };
    list["data"].as_array().unwrap().iter().find(ours).expect("no such payment at the gateway").clone()
}

/// Decides about a payment that is processing.
pub async fn decide(case: &Case, machine: &Machine, place: Place, succeeds: bool) {
    let found = intent(case, machine, place).await;
    let outcome = if succeeds { "succeeded" } else { "failed" };
    case.world.settle(found["id"].as_str().unwrap(), outcome).await;
}

/// The customer pays an order by a payment that names it, without us.
pub async fn pay(case: &mut Case, machine: &Machine, order: usize) {
    let amount = machine.orders[order].amount().to_string();
    let form = [
        ("amount", amount.as_str()),
        ("currency", "jpy"),
        ("confirm", "true"),
        ("error_on_requires_action", "true"),
        ("payment_method", "pm_card_visa"),
        ("metadata[ichido_order_id]", case.ids[order].as_str()),
    ];
    let made = STAGE.gateway(&case.world, Method::POST, "payment_intents", &form).await;
    let place = (order, machine.orders[order].payments.len() - 1);
    case.elsewhere.insert(place, made["id"].as_str().unwrap().to_owned());
}

/// Gives a part of a payment back, without us.
pub async fn give_back(case: &mut Case, machine: &Machine, place: Place) {
    let found = intent(case, machine, place).await;
    let amount = machine.orders[place.order].quarter().to_string();
    let form = [("payment_intent", found["id"].as_str().unwrap()), ("amount", amount.as_str())];
    let refund = STAGE.gateway(&case.world, Method::POST, "refunds", &form).await;
    case.given_back.insert((place.order, place.payment), refund);
}

/// Tells of a payment.
pub async fn tell(case: &Case, machine: &Machine, (place, news, delivery): (Place, News, Delivery), server: usize) {
    let found = intent(case, machine, place).await;
    let now = Clock::System.now().unix_timestamp();
    let (kind, object, at) = match news {
        News::Success => ("payment_intent.succeeded", found, now),
        News::Failure if found["status"] == "canceled" => ("payment_intent.canceled", found, now),
        News::Failure => ("payment_intent.payment_failed", found, now),
        News::EarlierFailure => {
            let mut failed = found;
            failed["last_payment_error"] = json!({ "charge": "ch_earlier", "code": "card_declined" });
            failed["amount_received"] = json!(0);
            ("payment_intent.payment_failed", failed, now - EARLIER)
        }
        News::Back => ("refund.created", case.given_back[&(place.order, place.payment)].clone(), now),
    };
    let id = format!("evt_{}", Uuid::now_v7().simple());
    let event = json!({
        "id": id, "object": "event", "type": kind, "created": at, "livemode": false, "data": { "object": object },
    });
    let org = machine.orders[place.order].org;
    let body = event.to_string();
    match delivery {
        Delivery::Forged => {
            let got = deliver(case, org, &body, "whsec_of_nobody", server).await;
            assert_eq!(got.status, 400, "a forged notification");
            assert_eq!(got.code(), "signature_invalid");
        }
        Delivery::InTurn(times) => {
            for time in 0..times {
                let class = class(&deliver(case, org, &body, SECRET, server).await);
                // After the first word it is news to nobody.
                assert!(time == 0 || class != "new", "a repeated notification is new");
            }
        }
        Delivery::AtOnce(times) => {
            let all = (0..times).map(|time| deliver(case, org, &body, SECRET, usize::from(time) % 2));
            let classes: Vec<_> = join_all(all).await.iter().map(class).collect();
            let new = classes.iter().filter(|class| *class == "new").count();
            assert!(new <= 1, "one notification is new {new} times: {classes:?}");
        }
    }
}

fn class(got: &Answer) -> String {
    assert_eq!(got.status, 200, "{}", got.json());
    got.json()["classification"].as_str().unwrap().to_owned()
}

async fn deliver(case: &Case, org: usize, body: &str, secret: &str, server: usize) -> Answer {
    let app = STAGE.server(server);
    let at = Clock::System.now().unix_timestamp();
    let signature = stripe_signature(secret.as_bytes(), at, body.as_bytes());
    let request = app.request(Method::POST, &format!("/v1/webhooks/{}", case.tenants[org].endpoint));
    let request = request.header("Stripe-Signature", signature).header("Content-Type", "application/json");
    app.send(request.body(body.to_owned()), "/v1/webhooks/{endpoint_id}").await
}
