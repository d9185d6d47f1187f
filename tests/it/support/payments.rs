//! Payments with short times, and the simulated world behind a test's organisation.

use crate::support::app::{Answer, TestApp, TestOrg, order_body};
use ichido::app::App;
use ichido::app::gateways::PaymentSettings;
use ichido::app::set_gateway::set_gateway;
use ichido::db::deadline::Deadline;
use ichido::domain::operation::{CHARGE_POLICY, OperationPolicy};
use ichido::domain::sealed::SealingKey;
use ichido::sim;
use reqwest::Method;
use secrecy::SecretString;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio_postgres::Client;

/// What the tests seal with.
pub const SECRET_KEY: &str = "0f0e0d0c0b0a09080706050403020100f0e0d0c0b0a090807060504030201000";
/// What every gateway of the tests is called with.
pub const GATEWAY_SECRET: &str = "sk_test_canary_gateway";
/// The longest call to a gateway.
pub const GATEWAY_TIMEOUT: Duration = Duration::from_millis(800);
/// How long a charge belongs to whoever took it.
pub const LEASE: Duration = Duration::from_millis(2_800);

/// Short times: a call ends after 0.8 s, a lease after 2.8 s, and what is unknown is asked after 0.3, 0.3, 0.6 and 1 s.
pub fn settings() -> PaymentSettings {
    let ask_after = [300, 300, 600, 1_000].map(time::Duration::milliseconds);
    PaymentSettings {
        lease: LEASE,
        gateway_timeout: GATEWAY_TIMEOUT,
        sealing_key: SealingKey::parse(&SecretString::from(SECRET_KEY)).map(Arc::new),
        policy: OperationPolicy { ask_after, ..CHARGE_POLICY },
    }
}

/// A simulated world in this process.
pub struct World {
    /// `http://127.0.0.1:port`
    pub base: String,
    client: reqwest::Client,
    handle: actix_web::dev::ServerHandle,
}

impl World {
    /// An empty one.
    pub fn start() -> Self {
        Self::start_with(sim::Options::default())
    }

    /// One with these settings.
    pub fn start_with(options: sim::Options) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let (server, address) = sim::start(SocketAddr::from(([127, 0, 0, 1], 0)), options).unwrap();
        let handle = server.handle();
        tokio::spawn(server);
        Self { base: format!("http://{address}"), client: reqwest::Client::new(), handle }
    }

    /// Where its Stripe is.
    pub fn stripe(&self) -> String {
        format!("{}/stripe", self.base)
    }

    /// How often an effect of an order really happened.
    pub async fn count(&self, kind: &str, order_id: &str) -> u64 {
        self.effects(order_id)
            .await
            .iter()
            .filter(|each| each["kind"] == kind)
            .map(|each| each["count"].as_u64().unwrap())
            .sum()
    }

    /// All effects of an order.
    pub async fn effects(&self, order_id: &str) -> Vec<Value> {
        let answer = self.client.get(format!("{}/effects?order_id={order_id}", self.base)).send().await.unwrap();
        answer.json::<Value>().await.unwrap()["effects"].as_array().unwrap().clone()
    }

    /// The gateway's name for the payment of an order.
    pub async fn payment_of(&self, order_id: &str) -> String {
        let list = reqwest::Client::new().get(format!("{}/v1/payment_intents?limit=100", self.stripe()));
        let list: Value = list.bearer_auth(GATEWAY_SECRET).send().await.unwrap().json().await.unwrap();
        let found = list["data"].as_array().unwrap().iter().find(|it| it["metadata"]["ichido_order_id"] == order_id);
        found.unwrap_or_else(|| panic!("no payment of {order_id} in {list}"))["id"].as_str().unwrap().to_owned()
    }

    /// Decides a payment that is processing: `succeeded` or `declined`.
    pub async fn settle(&self, reference: &str, outcome: &str) {
        let request = self.client.post(format!("{}/control/settle", self.base));
        let answer = request.json(&json!({ "payment_intent": reference, "outcome": outcome })).send().await.unwrap();
        assert!(answer.status().is_success(), "{}", answer.text().await.unwrap());
    }

    /// All charges that really happened.
    pub async fn charges(&self) -> u64 {
        let answer = self.client.get(format!("{}/effects", self.base)).send().await.unwrap();
        let effects = answer.json::<Value>().await.unwrap()["effects"].as_array().unwrap().clone();
        effects.iter().filter(|each| each["kind"] == "charge").map(|each| each["count"].as_u64().unwrap()).sum()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        drop(self.handle.stop(false));
    }
}

/// Makes an address the gateway of an organisation.
pub async fn use_gateway(app: &App, org: &TestOrg, api_base: &str) {
    let secret = SecretString::from(GATEWAY_SECRET);
    set_gateway(app, org.id, api_base, &secret, Deadline::of_request()).await.unwrap();
}

/// A service whose organisation pays by a simulated world.
pub async fn start() -> (TestApp, World) {
    let (app, world) = (TestApp::start().await, World::start());
    use_gateway(&app.app, &app.org, &world.stripe()).await;
    (app, world)
}

/// Puts an unpaid order where nobody knows what became of its charge and a person has to decide; gives the case's id.
pub async fn open_case(sql: &Client, org: &TestOrg, order_id: &str) -> String {
    let case_id = uuid::Uuid::now_v7();
    let order_id = uuid::Uuid::try_parse(order_id).unwrap();
    for statement in [
        "INSERT INTO payments (org_id, order_id, attempt, provider, amount, currency, state, created_at, updated_at)
            SELECT org_id, order_id, 1, 'stripe', amount, currency, 'unknown', now(), now()
            FROM orders WHERE org_id = $1 AND order_id = $2 AND $3::uuid IS NOT NULL",
        "INSERT INTO operations (org_id, order_id, kind, fact, state, operation_key, amount, deadline_at, first_sent_at,
                last_sent_at, created_at, updated_at)
            SELECT org_id, order_id, 'charge', '1', 'needs_reconciliation', 'ichido-' || $3::uuid, amount, now() + interval '1 day',
                now(), now(), now(), now()
            FROM orders WHERE org_id = $1 AND order_id = $2",
        "INSERT INTO reconciliation_cases (org_id, case_id, order_id, kind, fact, reason, state, owner, corrector,
                suggestion, evidence, opened_at, deadline)
            SELECT org_id, $3, order_id, 'charge', '1', 'outcome_unknown', 'open', 'payments', 'payments', 'ask_again',
                '{\"ours\": {}, \"theirs\": {}}', now(), now() + interval '1 day'
            FROM orders WHERE org_id = $1 AND order_id = $2",
    ] {
        assert_eq!(sql.execute(statement, &[&org.id.0, &order_id, &case_id]).await.unwrap(), 1);
    }
    case_id.to_string()
}

/// A valid body with a payment.
pub fn paid_body(method: &str) -> Value {
    let mut body = order_body();
    body["payment"] = json!({ "method": method });
    body
}

impl TestApp {
    /// A keyed `POST` of the first organisation. `route` is the path's template in the contract.
    pub async fn command(&self, path: &str, route: &str, key: &str, body: &Value) -> Answer {
        let request = self.request(Method::POST, path).bearer_auth(&self.org.token).header("Idempotency-Key", key);
        self.send(request.json(body), route).await
    }

    /// `POST /v1/orders/{order_id}/payments`.
    pub async fn pay(&self, order_id: &str, key: &str, method: &str) -> Answer {
        let path = format!("/v1/orders/{order_id}/payments");
        self.command(&path, "/v1/orders/{order_id}/payments", key, &json!({ "method": method })).await
    }

    /// `POST /v1/orders/{order_id}/cancel`.
    pub async fn cancel(&self, order_id: &str, key: &str) -> Answer {
        let path = format!("/v1/orders/{order_id}/cancel");
        self.command(&path, "/v1/orders/{order_id}/cancel", key, &json!({})).await
    }

    /// `POST /v1/reconciliation-cases/{case_id}/decisions`.
    pub async fn decide(&self, case_id: &str, key: &str, body: Value) -> Answer {
        let path = format!("/v1/reconciliation-cases/{case_id}/decisions");
        self.command(&path, "/v1/reconciliation-cases/{case_id}/decisions", key, &body).await
    }

    /// `GET /v1/orders/{order_id}`, as JSON.
    pub async fn order(&self, order_id: &str) -> Value {
        self.get(&format!("/v1/orders/{order_id}"), "/v1/orders/{order_id}").await.json()
    }
}
