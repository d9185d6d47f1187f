//! The real program: kill -9, SIGTERM, dev, two instances.

mod dev;
mod kills;
mod rehearse;
mod signals;
mod starts;

use crate::support::app::{TestOrg, make_org, new_org, order_body};
use crate::support::{payments, postgres};
use ichido::clock::Clock;
use ichido::startup;
use reqwest::Client;
use secrecy::SecretString;
use std::time::Duration;

/// A migrated database with an organisation, for processes to serve.
struct Prepared {
    url: SecretString,
    org: TestOrg,
    client: Client,
}

/// What a client sees of one try.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Seen {
    status: u16,
    body: Vec<u8>,
}

impl Prepared {
    async fn new() -> Self {
        let url = postgres::database().await;
        let app = startup::app(&url, 1, Clock::System, payments::settings()).unwrap();
        let org = make_org(&app, new_org()).await;
        app.db.close();
        let client = Client::builder().timeout(Duration::from_secs(10)).build().unwrap();
        Self { url, org, client }
    }

    /// `POST /v1/orders`; `None` when no whole answer came.
    async fn post(&self, base: &str, key: &str) -> Option<Seen> {
        let request = self.client.post(format!("{base}/v1/orders")).bearer_auth(&self.org.token);
        let request = request.header("Idempotency-Key", key).header("Content-Type", "application/json");
        let response = request.body(order_body().to_string()).send().await.ok()?;
        let status = response.status().as_u16();
        Some(Seen { status, body: response.bytes().await.ok()?.to_vec() })
    }

    /// `GET`, on a connection of its own.
    async fn get(&self, base: &str, path: &str) -> Option<Seen> {
        let client = Client::builder().timeout(Duration::from_secs(10)).build().unwrap();
        let response = client.get(format!("{base}{path}")).bearer_auth(&self.org.token).send().await.ok()?;
        Some(Seen { status: response.status().as_u16(), body: response.bytes().await.ok()?.to_vec() })
    }

    /// Orders and keys.
    async fn counts(&self) -> (i64, i64) {
        let text = "SELECT (SELECT count(*) FROM orders), (SELECT count(*) FROM idempotency_keys)";
        let row = postgres::connect(&self.url).await.query_one(text, &[]).await.unwrap();
        (row.get(0), row.get(1))
    }
}
