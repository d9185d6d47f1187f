//! No secret, no value and no SQL in any answer or log line, whatever goes wrong.

mod provoke;
mod startup;

use crate::inbox::endpoint::SECRET;
use crate::support::app::{TestOrg, make_org, new_org};
use crate::support::payments::{GATEWAY_SECRET, SECRET_KEY, World};
use crate::support::process::{Program, Running};
use crate::support::proxy::Proxy;
use crate::support::{payments, postgres};
use ichido::clock::Clock;
use ichido::db::orgs::NewOrg;
use reqwest::{Client, Method};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::Duration;

/// In every value that a client sends.
const CANARY: &str = "canaryvalue";
/// In the database's address.
const PASSWORD: &str = "canarypassword";
/// What SQL, PostgreSQL's messages and connection strings look like.
const TRACES_OF_SQL: [&str; 10] = [
    "INSERT",
    "SELECT",
    "RETURNING",
    "ON CONFLICT",
    "WITH claim",
    "DETAIL",
    "violates",
    "relation \\\"",
    "$1",
    "postgresql:",
];

/// The real program with everything logged, behind a proxy, and all that it has answered.
struct Watched {
    proxy: Proxy,
    direct: SecretString,
    running: Running,
    base: String,
    client: Client,
    org: TestOrg,
    limited: TestOrg,
    reader: String,
    codes: BTreeSet<String>,
    world: World,
}

impl Watched {
    async fn start() -> Self {
        let direct = postgres::database().await;
        let app = ichido::startup::app(&direct, 1, Clock::System, payments::settings()).unwrap();
        let org = make_org(&app, new_org()).await;
        let limited = make_org(&app, NewOrg { new_claims_per_second: Some(1), ..new_org() }).await;
        let scopes = [ichido::domain::scope::Scope::OrdersRead];
        let deadline = ichido::db::deadline::Deadline::of_request();
        let reader = ichido::app::create_key::create_key(&app, org.id, &scopes, None, deadline).await.unwrap().token();
        app.db.close();
        let proxy = Proxy::start().await;
        let url = proxy.url(&direct).expose_secret().replace("ichido@", &format!("ichido:{PASSWORD}@"));
        let program = Program::serve(&SecretString::from(url), "127.0.0.1:0").env("RUST_LOG", "trace");
        let program = program.env("ICHIDO_SECRET_KEY", SECRET_KEY);
        let mut running = program.env("ICHIDO_DATABASE_POOL", "2").start();
        let base = running.base().await;
        let client = Client::builder().timeout(Duration::from_secs(20)).build().unwrap();
        Self {
            proxy,
            direct,
            running,
            base,
            client,
            org,
            limited,
            reader,
            codes: BTreeSet::new(),
            world: World::start(),
        }
    }

    /// A body with the canary in every value that can hold it.
    fn body() -> Value {
        json!({
            "order_reference": format!("{CANARY}-1'); DROP TABLE orders; --"),
            "customer": { "reference": format!("{CANARY}-2"), "email": format!("{CANARY}@example.com") },
            "currency": "JPY",
            "lines": [{
                "sku": format!("{CANARY}-3"), "description": format!("{CANARY} 4"), "quantity": 2, "unit_amount": 1200
            }],
            "metadata": { "note": format!("{CANARY} 5") }
        })
    }

    /// A body without a reference of its own, so that many can be sent.
    fn other_body() -> Value {
        let mut body = Self::body();
        body.as_object_mut().unwrap().remove("order_reference");
        body
    }

    /// `POST /v1/orders`, its answer looked at.
    async fn post(&mut self, key: &str, body: &Value) -> u16 {
        let token = self.org.token.clone();
        self.post_as(&token, &format!("{CANARY}-{key}"), body.to_string(), &[]).await
    }

    /// `POST /v1/orders` with these further headers.
    async fn post_as(&mut self, token: &str, key: &str, body: String, headers: &[(&str, &str)]) -> u16 {
        let mut request = self.client.post(format!("{}/v1/orders", self.base)).bearer_auth(token);
        if !key.is_empty() {
            request = request.header("Idempotency-Key", key);
        }
        if headers.iter().all(|(name, _)| *name != "Content-Type") {
            request = request.header("Content-Type", "application/json");
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = self.client.execute(request.body(body).build().unwrap()).await.unwrap();
        self.look_at(response).await
    }

    /// Any other request, its answer looked at.
    async fn call(&mut self, method: Method, path: &str) -> u16 {
        let request = self.client.request(method, format!("{}{path}", self.base)).bearer_auth(&self.org.token);
        let response = request.send().await.unwrap();
        self.look_at(response).await
    }

    /// A keyed `POST` of anything, its answer looked at.
    async fn command(&mut self, path: &str, key: &str, body: &Value) -> u16 {
        let request = self.client.post(format!("{}{path}", self.base)).bearer_auth(&self.org.token);
        let request = request.header("Idempotency-Key", format!("{CANARY}-{key}"));
        let response = request.json(body).send().await.unwrap();
        self.look_at(response).await
    }

    /// Holds an answer to the promise. An order's own data belongs in the answer that tells of the order, and a key in
    /// its echo; nothing of what was sent belongs in a problem.
    async fn look_at(&mut self, response: reqwest::Response) -> u16 {
        let status = response.status().as_u16();
        let mut headers = response.headers().clone();
        let text = response.text().await.unwrap();
        self.assert_clean(&text, status >= 400, "an answer's body");
        headers.remove("idempotency-key");
        headers.remove("link");
        self.assert_clean(&format!("{headers:?}"), true, "an answer's headers");
        if status >= 400 {
            let problem: Value = serde_json::from_str(&text).unwrap();
            self.codes.insert(problem["code"].as_str().unwrap_or("").to_owned());
        }
        status
    }

    fn assert_clean(&self, text: &str, values_too: bool, what: &str) {
        let tokens = [&self.org.token, &self.limited.token, &self.reader];
        let secrets = tokens.iter().filter_map(|token| token.rsplit('_').next()).chain([
            PASSWORD,
            SECRET_KEY,
            GATEWAY_SECRET,
            SECRET,
        ]);
        let planted = values_too.then_some(CANARY).into_iter();
        // The contract's own documentation is the one text that may speak of such things.
        for word in secrets.chain(planted).chain(TRACES_OF_SQL) {
            let found = text.lines().find(|line| line.contains(word));
            assert!(found.is_none(), "{word} in {what}: {}", found.unwrap_or_default());
        }
    }
}
