//! The simulated world over real HTTP: each verb, each fault, the journal, the notifications.

mod command;
mod faults;
mod idempotency;
mod journal;
mod notifications;
mod partners;
mod payments;
mod reads;
mod refunds;

use actix_web::dev::ServerHandle;
use ichido::sim::{self, Options};
use reqwest::header::HeaderMap;
use reqwest::{Client, RequestBuilder};
use serde_json::{Value, json};
use std::time::Duration;

/// A world in this process, and a client of it.
pub struct World {
    /// `http://127.0.0.1:port`
    pub base: String,
    client: Client,
    handle: Option<ServerHandle>,
}

/// One answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub text: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    /// A member of the body, by JSON pointer.
    pub fn at(&self, pointer: &str) -> Value {
        self.json().pointer(pointer).cloned().unwrap_or_else(|| panic!("no {pointer}: {}", self.text))
    }

    pub fn id(&self) -> String {
        self.at("/id").as_str().unwrap().to_owned()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    pub fn is_replay(&self) -> bool {
        self.header("idempotent-replayed") == Some("true")
    }
}

/// `amount=1200&currency=jpy&confirm=true` with this payment method, for the order `o1`.
pub fn payment(method: &str) -> Vec<(&str, &str)> {
    vec![
        ("amount", "1200"),
        ("currency", "JPY"),
        ("confirm", "true"),
        ("error_on_requires_action", "true"),
        ("payment_method", method),
        ("metadata[ichido_order_id]", "o1"),
    ]
}

/// What `GET /effects` tells of the payment above, done so often under this key.
pub fn charges(key: &str, count: u64) -> Value {
    json!({ "kind": "charge", "key": key, "order_id": "o1", "amount": 1200, "currency": "jpy", "count": count })
}

impl World {
    /// An empty one.
    pub async fn start() -> Self {
        Self::start_with(Options::default()).await
    }

    #[expect(clippy::unused_async, reason = "it has to be called inside a runtime")]
    pub async fn start_with(options: Options) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let (server, address) = sim::start("127.0.0.1:0".parse().unwrap(), options).unwrap();
        let handle = server.handle();
        tokio::spawn(server);
        let mut world = Self::at(&format!("http://{address}"));
        world.handle = Some(handle);
        world
    }

    /// One that runs elsewhere.
    pub fn at(base: &str) -> Self {
        let client = Client::builder().no_proxy().timeout(Duration::from_secs(20)).build().unwrap();
        Self { base: base.to_owned(), client, handle: None }
    }

    pub async fn stop(mut self) {
        if let Some(handle) = self.handle.take() {
            handle.stop(true).await;
        }
    }

    fn stripe(&self, method: reqwest::Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}/stripe/v1/{path}", self.base)).bearer_auth("sk_test_1")
    }

    /// A `POST` to Stripe; `Err` when there was no answer.
    pub async fn try_post(&self, path: &str, key: Option<&str>, form: &[(&str, &str)]) -> reqwest::Result<Answer> {
        let mut request = self.stripe(reqwest::Method::POST, path).form(form);
        if let Some(key) = key {
            request = request.header("Idempotency-Key", key);
        }
        send(request).await
    }

    pub async fn post(&self, path: &str, key: &str, form: &[(&str, &str)]) -> Answer {
        self.try_post(path, Some(key), form).await.unwrap()
    }

    /// Creates and confirms a payment.
    pub async fn pay(&self, key: &str, method: &str) -> Answer {
        self.post("payment_intents", key, &payment(method)).await
    }

    pub async fn try_pay(&self, key: &str, method: &str) -> reqwest::Result<Answer> {
        self.try_post("payment_intents", Some(key), &payment(method)).await
    }

    pub async fn get(&self, path: &str) -> Answer {
        send(self.stripe(reqwest::Method::GET, path)).await.unwrap()
    }

    /// A `GET` outside of Stripe's part.
    pub async fn look(&self, path: &str) -> Answer {
        send(self.client.get(format!("{}{path}", self.base))).await.unwrap()
    }

    /// A `POST` of JSON outside of Stripe's part.
    pub async fn tell(&self, path: &str, key: Option<&str>, body: &Value) -> reqwest::Result<Answer> {
        let mut request = self.client.post(format!("{}{path}", self.base)).json(body);
        if let Some(key) = key {
            request = request.header("Idempotency-Key", key);
        }
        send(request).await
    }

    pub async fn effects(&self) -> Value {
        self.look("/effects").await.at("/effects")
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if let Some(handle) = &self.handle {
            drop(handle.stop(false));
        }
    }
}

async fn send(request: RequestBuilder) -> reqwest::Result<Answer> {
    let response = request.send().await?;
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    assert_eq!(headers["ichido-simulated-world"], "true");
    Ok(Answer { status, headers, text: response.text().await? })
}
