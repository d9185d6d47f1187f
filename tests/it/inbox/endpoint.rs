//! An endpoint of an organisation, and deliveries that are signed by hand.

use crate::support::app::{Answer, TestApp, TestOrg};
use crate::support::wait::until;
use ichido::app::inbox::endpoints::{NewSecret, add_secret, create_endpoint};
use ichido::app::inbox::rematch::apply_waiting;
use ichido::clock::Clock;
use ichido::db::deadline::Deadline;
use ichido::sim::signature::stripe_signature;
use reqwest::Method;
use secrecy::SecretString;
use serde_json::{Value, json};
use std::time::Duration;
use uuid::Uuid;

/// What the endpoints of the tests are signed with.
pub const SECRET: &str = "whsec_canary_one";

/// Seconds since 1970.
pub fn now() -> i64 {
    Clock::System.now().unix_timestamp()
}

/// A secret with its name.
pub fn named(name: &str, secret: &str) -> NewSecret {
    NewSecret { name: name.to_owned(), secret: SecretString::from(secret) }
}

/// An endpoint.
pub struct Endpoint {
    /// Its id.
    pub id: Uuid,
    /// The organisation's.
    pub org: TestOrg,
}

impl Endpoint {
    /// A new one of the first organisation.
    pub async fn of(app: &TestApp) -> Self {
        Self::of_org(app, &app.org).await
    }

    /// A new one of an organisation.
    pub async fn of_org(app: &TestApp, org: &TestOrg) -> Self {
        let id = create_endpoint(&app.app, org.id, &named("ONE", SECRET), Deadline::of_request()).await.unwrap();
        Self { id, org: org.clone() }
    }

    /// One more secret.
    pub async fn add(&self, app: &TestApp, name: &str, secret: &str) -> String {
        add_secret(&app.app, self.org.id, self.id, &named(name, secret), Deadline::of_request()).await.unwrap()
    }

    /// Its path.
    pub fn path(&self) -> String {
        format!("/v1/webhooks/{}", self.id)
    }

    /// Delivers bytes with a signature header, or without one.
    pub async fn deliver(&self, app: &TestApp, body: &[u8], signature: Option<&str>) -> Answer {
        let request = app.request(Method::POST, &self.path()).header("Content-Type", "application/json; charset=utf-8");
        let request = match signature {
            Some(signature) => request.header("Stripe-Signature", signature),
            None => request,
        };
        app.send(request.body(body.to_vec()), "/v1/webhooks/{endpoint_id}").await
    }

    /// Delivers bytes, well signed.
    pub async fn signed(&self, app: &TestApp, body: &[u8]) -> Answer {
        self.deliver(app, body, Some(&stripe_signature(SECRET.as_bytes(), now(), body))).await
    }

    /// Delivers an event, well signed, and gives its class.
    pub async fn tell(&self, app: &TestApp, event: &Value) -> String {
        let answer = self.signed(app, event.to_string().as_bytes()).await;
        assert_eq!(answer.status, 200, "{}", answer.json());
        answer.json()["classification"].as_str().unwrap().to_owned()
    }

    /// Delivers an event, and waits until it is applied.
    pub async fn tell_and_apply(&self, app: &TestApp, event: &Value) -> String {
        let class = self.tell(app, event).await;
        settled(app).await;
        class
    }
}

/// Waits until nothing is pending. What waits for its order stays.
pub async fn settled(app: &TestApp) {
    let client = app.sql().await;
    until("nothing is pending", Duration::from_secs(20), || async {
        let pending = "SELECT count(*) FROM events WHERE outcome = 'pending'";
        client.query_one(pending, &[]).await.unwrap().get::<_, i64>(0) == 0
    })
    .await;
}

/// One round of the worker, with everything that waits due.
pub async fn rematch(app: &TestApp) {
    let due = "UPDATE events SET next_attempt_at = now() WHERE next_attempt_at IS NOT NULL";
    app.sql().await.execute(due, &[]).await.unwrap();
    apply_waiting(&app.app).await.unwrap();
}

/// What became of each fact, by key.
pub async fn outcomes(app: &TestApp) -> Vec<(String, String)> {
    let query = "SELECT fact_key, outcome FROM events ORDER BY fact_key COLLATE \"C\"";
    app.sql().await.query(query, &[]).await.unwrap().iter().map(|row| (row.get(0), row.get(1))).collect()
}

/// What became of one fact.
pub async fn outcome(app: &TestApp, key: &str) -> String {
    let found = outcomes(app).await.into_iter().find(|(known, _)| known == key);
    found.unwrap_or_else(|| panic!("{key} is not known")).1
}

/// The open cases.
pub async fn cases(app: &TestApp) -> Vec<Value> {
    let cases = app.get("/v1/reconciliation-cases?state=open", "/v1/reconciliation-cases").await.json();
    cases["data"].as_array().unwrap().clone()
}

/// A number that the database tells.
pub async fn count(app: &TestApp, query: &str) -> i64 {
    app.sql().await.query_one(query, &[]).await.unwrap().get(0)
}

/// An event of Stripe's with an id of its own.
pub fn event(kind: &str, object: &Value) -> Value {
    let id = format!("evt_{}", Uuid::now_v7().simple());
    json!({ "id": id, "object": "event", "type": kind, "created": now(), "livemode": false, "data": { "object": object } })
}

/// The same, told at another moment.
pub fn event_at(kind: &str, object: &Value, at: i64) -> Value {
    let mut event = event(kind, object);
    event["created"] = json!(at);
    event
}

/// A payment intent that names an order.
pub fn intent(id: &str, order_id: &str, amount: i64) -> Value {
    json!({
        "id": id, "object": "payment_intent", "amount": amount, "amount_received": amount, "currency": "jpy",
        "metadata": { "ichido_order_id": order_id },
    })
}

/// The same, made by an attempt of ours.
pub fn of_attempt(id: &str, order_id: &str, amount: i64, attempt: i32) -> Value {
    let mut intent = intent(id, order_id, amount);
    intent["metadata"]["ichido_attempt"] = json!(attempt.to_string());
    intent
}

/// The charge of a payment.
pub fn charge(id: &str, payment: &str, amount: i64, refunded: i64) -> Value {
    json!({
        "id": id, "object": "charge", "payment_intent": payment, "amount": amount, "amount_captured": amount,
        "amount_refunded": refunded, "captured": true, "currency": "jpy", "metadata": {},
    })
}

/// A refund of a payment.
pub fn refund(id: &str, payment: &str, amount: i64, status: &str) -> Value {
    json!({
        "id": id, "object": "refund", "payment_intent": payment, "charge": "ch_1", "amount": amount, "currency": "jpy",
        "status": status, "created": now() - 10, "metadata": {},
    })
}
