//! Stripe's notifications: signed, complete, sent again when refused, and on demand.

use super::World;
use actix_web::{App, HttpRequest, HttpResponse, HttpServer, web};
use hmac::{Hmac, KeyInit, Mac};
use ichido::sim::Options;
use secrecy::SecretString;
use serde_json::{Value, json};
use sha2::Sha256;
use std::fmt::Write;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const SECRET: &str = "whsec_test";

/// Keeps what it is sent; refuses the first so many.
#[derive(Clone, Default)]
struct Receiver {
    got: Arc<Mutex<Vec<(String, String)>>>,
    refuse: Arc<Mutex<u32>>,
}

async fn receive(receiver: web::Data<Receiver>, request: HttpRequest, body: String) -> HttpResponse {
    let signature = request.headers().get("stripe-signature").unwrap().to_str().unwrap().to_owned();
    receiver.got.lock().unwrap().push((signature, body));
    let mut refuse = receiver.refuse.lock().unwrap();
    if *refuse > 0 {
        *refuse -= 1;
        return HttpResponse::InternalServerError().finish();
    }
    HttpResponse::Ok().finish()
}

impl Receiver {
    /// Listens, and starts a world that tells it.
    async fn with_world(&self) -> World {
        let receiver = self.clone();
        let app = move || App::new().app_data(web::Data::new(receiver.clone())).route("/hook", web::post().to(receive));
        let server = HttpServer::new(app).workers(1).disable_signals().bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/hook", server.addrs()[0]);
        tokio::spawn(server.run());
        let secret = Some(SecretString::from(SECRET));
        World::start_with(Options { webhook_url: Some(url), webhook_secret: secret, ..Options::default() }).await
    }

    /// The events that came, once there are so many; each signature is recomputed.
    async fn events(&self, count: usize) -> Vec<Value> {
        for _ in 0..200 {
            if self.got.lock().unwrap().len() >= count {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let got = self.got.lock().unwrap().clone();
        assert_eq!(got.len(), count, "{got:#?}");
        got.iter().map(|(signature, body)| verified(signature, body)).collect()
    }

    async fn types(&self, count: usize) -> Vec<String> {
        let mut types: Vec<_> =
            self.events(count).await.iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect();
        types.sort();
        types
    }
}

#[expect(clippy::disallowed_methods, reason = "the receiver's own clock")]
fn verified(signature: &str, body: &str) -> Value {
    let (time, digest) = signature.strip_prefix("t=").unwrap().split_once(",v1=").unwrap();
    let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
    mac.update(format!("{time}.{body}").as_bytes());
    let expected = mac.finalize().into_bytes().iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").unwrap();
        hex
    });
    assert_eq!(digest, expected);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    assert!(now.abs_diff(time.parse().unwrap()) < 60);
    serde_json::from_str(body).unwrap()
}

#[tokio::test]
async fn what_happens_is_told() {
    let receiver = Receiver::default();
    let world = receiver.with_world().await;
    let paid = world.pay("K1", "pm_card_visa").await;
    assert_eq!(receiver.types(2).await, ["charge.succeeded", "payment_intent.succeeded"]);
    let events = receiver.events(2).await;
    let event = events.iter().find(|event| event["type"] == "payment_intent.succeeded").unwrap();
    assert!(event["id"].as_str().unwrap().starts_with("evt_"));
    assert_eq!((&event["object"], &event["livemode"]), (&json!("event"), &json!(false)));
    assert_eq!(event["data"]["object"], paid.json());
    assert_eq!(event["request"]["idempotency_key"], "K1");
    assert_eq!(event["request"]["id"].as_str(), paid.header("request-id"));
    // A replay is no news.
    assert!(world.pay("K1", "pm_card_visa").await.is_replay());
    world.pay("K2", "pm_card_chargeDeclined").await;
    assert!(receiver.types(3).await.contains(&"payment_intent.payment_failed".to_owned()));
    let refund = world.post("refunds", "R", &[("payment_intent", &paid.id()), ("amount", "200")]).await;
    let events = receiver.events(5).await;
    let of = |kind: &str| events.iter().find(|event| event["type"] == kind).unwrap()["data"]["object"].clone();
    assert_eq!(of("refund.created"), refund.json());
    assert_eq!(of("charge.refunded")["amount_refunded"], 200);
    assert_eq!(of("charge.refunded")["refunds"], Value::Null);
    let open = world.post("payment_intents", "K3", &[("amount", "1"), ("currency", "eur")]).await;
    world.post(&format!("payment_intents/{}/cancel", open.id()), "K4", &[]).await;
    assert!(receiver.types(6).await.contains(&"payment_intent.canceled".to_owned()));
}

#[tokio::test]
async fn it_is_told_even_if_the_answer_is_lost() {
    let receiver = Receiver::default();
    let world = receiver.with_world().await;
    assert!(world.try_pay("K1", "pm_sim_lost_answer").await.is_err());
    assert_eq!(receiver.types(2).await, ["charge.succeeded", "payment_intent.succeeded"]);
    assert!(world.try_pay("K2", "pm_sim_lost_request").await.is_err());
    world.pay("K3", "pm_sim_processing").await;
    assert_eq!(receiver.types(3).await.last().unwrap(), "payment_intent.succeeded");
}

#[tokio::test]
async fn what_is_refused_is_sent_again_with_the_same_id() {
    let receiver = Receiver::default();
    *receiver.refuse.lock().unwrap() = 2;
    let world = receiver.with_world().await;
    world.pay("K1", "pm_card_visa").await;
    let events = receiver.events(4).await;
    let mut ids: Vec<_> = events.iter().map(|event| event["id"].as_str().unwrap()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 2);
}

#[tokio::test]
async fn on_demand() {
    let receiver = Receiver::default();
    let world = receiver.with_world().await;
    let paid = world.pay("K1", "pm_card_visa").await.id();
    let refund = world.post("refunds", "R", &[("payment_intent", &paid)]).await.id();
    receiver.events(4).await;
    let tell = async |body: Value| world.tell("/control/webhooks", None, &body).await.unwrap();
    let again = json!({ "type": "payment_intent.succeeded", "payment_intent": paid, "copies": 3, "event_id": "evt_1" });
    let told = tell(again).await;
    assert_eq!(told.at("/deliveries"), json!([{ "status": 200 }, { "status": 200 }, { "status": 200 }]));
    let events = receiver.events(7).await;
    assert!(events[4..].iter().all(|event| event["id"] == "evt_1" && *event == told.at("/event")));
    for body in [
        json!({ "type": "charge.refunded", "payment_intent": paid, "at_once": true, "copies": 2 }),
        json!({ "type": "refund.updated", "refund": refund }),
        json!({ "type": "charge.refunded", "refund": refund }),
    ] {
        assert_eq!(tell(body).await.status, 200);
    }
    let events = receiver.events(11).await;
    assert_eq!(events[7]["data"]["object"]["amount_refunded"], 1200);
    assert_eq!(events[9]["data"]["object"]["id"], json!(refund));
    for wrong in [
        json!({ "type": "payment_intent.succeeded", "payment_intent": "pi_1" }),
        json!({ "type": "invoice.paid", "payment_intent": paid }),
        json!({ "type": "refund.created", "payment_intent": paid }),
        json!({ "type": "payment_intent.succeeded", "payment_intent": paid, "copies": 0 }),
        json!({ "kind": "payment_intent.succeeded" }),
    ] {
        assert_eq!(tell(wrong).await.status, 400);
    }
    let alone = World::start().await;
    let body = json!({ "type": "payment_intent.succeeded", "payment_intent": paid });
    assert_eq!(alone.tell("/control/webhooks", None, &body).await.unwrap().status, 400);
}
