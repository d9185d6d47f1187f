//! A running service on its own database, in this process, behind real HTTP; and a client with verbs.

use crate::support::{contract, payments, postgres};
use ichido::app::App;
use ichido::app::create_key::create_key;
use ichido::app::gateways::PaymentSettings;
use ichido::clock::Clock;
use ichido::db::deadline::Deadline;
use ichido::db::orgs::NewOrg;
use ichido::domain::ids::OrgId;
use ichido::domain::org::{Mode, OnMismatch, ReplayStatus};
use ichido::domain::scope::Scope;
use ichido::{http, startup};
use reqwest::header::HeaderMap;
use reqwest::{Client, Method, RequestBuilder};
use secrecy::SecretString;
use serde_json::{Value, json};
use std::time::Duration;

/// A service, an organisation in it and a key of that organisation with every scope.
pub struct TestApp {
    /// `http://127.0.0.1:port`
    pub base: String,
    /// The database, for tests that look at tables.
    pub url: SecretString,
    /// The use cases, for tests that call them directly.
    pub app: App,
    /// The first organisation.
    pub org: TestOrg,
    client: Client,
    handle: actix_web::dev::ServerHandle,
}

/// An organisation and a key of it.
#[derive(Debug, Clone)]
pub struct TestOrg {
    /// Its id.
    pub id: OrgId,
    /// A token with every scope.
    pub token: String,
}

/// One answer, already held to the contract.
#[derive(Debug, Clone)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// Headers.
    pub headers: HeaderMap,
    /// The exact bytes.
    pub body: Vec<u8>,
}

impl Answer {
    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// The code of a problem document.
    pub fn code(&self) -> String {
        self.json()["code"].as_str().unwrap().to_owned()
    }

    /// The order's id.
    pub fn id(&self) -> String {
        self.json()["id"].as_str().unwrap().to_owned()
    }

    /// A header's text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}

/// What the tests that do not care about policies use.
pub fn new_org() -> NewOrg {
    NewOrg {
        name: "test".to_owned(),
        mode: Mode::Test,
        on_mismatch: OnMismatch::Reject,
        replay_status: ReplayStatus::Ok,
        keys_kept_for_seconds: None,
        new_claims_per_second: None,
    }
}

/// A valid body.
pub fn order_body() -> Value {
    json!({
        "customer": { "reference": "cus_42", "email": "a@example.com" },
        "currency": "JPY",
        "lines": [{ "sku": "TEA-01", "description": "Sencha 100 g", "quantity": 2, "unit_amount": 1200 }],
        "metadata": { "channel": "app" }
    })
}

impl TestApp {
    /// A service on a new database.
    pub async fn start() -> Self {
        Self::start_on(postgres::database().await, 4, Vec::new()).await
    }

    /// A service on a database that exists, with so many connections and these web origins.
    pub async fn start_on(url: SecretString, pool: usize, cors_origins: Vec<String>) -> Self {
        Self::start_as(url, pool, cors_origins, (Clock::System, payments::settings())).await
    }

    /// A service on a database that exists, with a clock of its own.
    pub async fn start_at(url: SecretString, clock: Clock) -> Self {
        Self::start_as(url, 4, Vec::new(), (clock, payments::settings())).await
    }

    /// A service on a database that exists, which takes payments like this.
    pub async fn start_with(url: SecretString, settings: PaymentSettings) -> Self {
        Self::start_as(url, 4, Vec::new(), (Clock::System, settings)).await
    }

    async fn start_as(
        url: SecretString,
        pool: usize,
        cors_origins: Vec<String>,
        (clock, settings): (Clock, PaymentSettings),
    ) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let app = startup::app(&url, pool, clock, settings).unwrap();
        let http::server::Started { server, address, .. } =
            http::server::start(app.clone(), "127.0.0.1:0".parse().unwrap(), 2, cors_origins).unwrap();
        let handle = server.handle();
        tokio::spawn(server);
        let org = make_org(&app, new_org()).await;
        let client = Client::builder().timeout(Duration::from_secs(30)).build().unwrap();
        Self { base: format!("http://{address}"), url, app, org, client, handle }
    }

    /// Another organisation with these policies.
    pub async fn org(&self, org: NewOrg) -> TestOrg {
        make_org(&self.app, org).await
    }

    /// A key of an organisation with only these scopes.
    pub async fn token(&self, org_id: OrgId, scopes: &[Scope]) -> String {
        create_key(&self.app, org_id, scopes, None, Deadline::of_request()).await.unwrap().token()
    }

    /// `POST /v1/orders` of the first organisation.
    pub async fn post(&self, key: &str, body: &Value) -> Answer {
        self.post_as(&self.org.token, key, body).await
    }

    /// `POST /v1/orders` with a token.
    pub async fn post_as(&self, token: &str, key: &str, body: &Value) -> Answer {
        self.post_bytes(token, key, serde_json::to_vec(body).unwrap()).await
    }

    /// `POST /v1/orders` with exact bytes.
    pub async fn post_bytes(&self, token: &str, key: &str, body: Vec<u8>) -> Answer {
        let request = self.request(Method::POST, "/v1/orders").bearer_auth(token);
        let request = request.header("Idempotency-Key", key).header("Content-Type", "application/json");
        self.send(request.body(body), "/v1/orders").await
    }

    /// `GET` with the first organisation's key. `route` is the path's template in the contract.
    pub async fn get(&self, path: &str, route: &str) -> Answer {
        self.get_as(&self.org.token, path, route).await
    }

    /// `GET` with a token.
    pub async fn get_as(&self, token: &str, path: &str, route: &str) -> Answer {
        self.send(self.request(Method::GET, path).bearer_auth(token), route).await
    }

    /// A request to build up and hand to [`TestApp::send`].
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.base))
    }

    /// Sends, and holds the answer to the contract.
    pub async fn send(&self, request: RequestBuilder, route: &str) -> Answer {
        let request = request.build().unwrap();
        let method = request.method().to_string();
        let response = self.client.execute(request).await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let body = response.bytes().await.unwrap().to_vec();
        contract::check(&method, route, status, &headers, &body);
        Answer { status, headers, body }
    }

    /// A connection to the database for the test itself.
    pub async fn sql(&self) -> tokio_postgres::Client {
        postgres::connect(&self.url).await
    }

    /// Rows in `orders` and in `idempotency_keys`.
    pub async fn counts(&self) -> (i64, i64) {
        let client = self.sql().await;
        let row = client
            .query_one("SELECT (SELECT count(*) FROM orders), (SELECT count(*) FROM idempotency_keys)", &[])
            .await
            .unwrap();
        (row.get(0), row.get(1))
    }
}

impl Drop for TestApp {
    fn drop(&mut self) {
        self.app.db.close();
        // The stop command is sent when the future is made; nobody has to wait for it.
        drop(self.handle.stop(false));
    }
}

/// An organisation with a key that has every scope.
pub async fn make_org(app: &App, org: NewOrg) -> TestOrg {
    let id = app.db.create_org(&org, Deadline::of_request()).await.unwrap();
    let scopes: Vec<_> = Scope::ALL.iter().filter_map(|scope| Scope::parse(scope)).collect();
    let token = create_key(app, id, &scopes, None, Deadline::of_request()).await.unwrap().token();
    TestOrg { id, token }
}
