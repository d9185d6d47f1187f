//! The database fails in every way it can, and what clients are told stays true.

mod away;
mod cut;
mod locked;
mod pool;
mod refused;
mod storms;
mod undone;

use crate::support::app::{Answer, TestApp, order_body};
use crate::support::postgres;
use crate::support::proxy::Proxy;
use secrecy::SecretString;
use serde_json::json;
use std::time::{Duration, Instant};

/// A piece of the claim's statement, by which the proxy knows it.
const CLAIM: &str = "WITH claim AS";
/// What the contract promises is 3 s; the rest is for a busy machine.
const BOUND: Duration = Duration::from_millis(3_800);

/// A service whose database is behind a proxy.
struct Faulty {
    app: TestApp,
    proxy: Proxy,
    direct: SecretString,
}

impl Faulty {
    /// With so many connections. One order under the key `warm` is made, so that the caller's API key is cached and the
    /// statements are prepared.
    async fn start(pool: usize) -> Self {
        let direct = postgres::database().await;
        let proxy = Proxy::start().await;
        let app = TestApp::start_on(proxy.url(&direct), pool, Vec::new()).await;
        assert_eq!(app.post("warm", &order_body()).await.status, 201);
        Self { app, proxy, direct }
    }

    /// A `POST` with the usual body, which is answered in time whatever happens.
    async fn post(&self, key: &str) -> Answer {
        let started = Instant::now();
        let answer = self.app.post(key, &order_body()).await;
        let took = started.elapsed();
        assert!(took < BOUND, "answered {} after {took:?}", answer.status);
        answer
    }

    /// A connection past the proxy.
    async fn sql(&self) -> tokio_postgres::Client {
        postgres::connect(&self.direct).await
    }

    /// Orders and keys, without the warm one.
    async fn counts(&self) -> (i64, i64) {
        let text = "SELECT (SELECT count(*) - 1 FROM orders), (SELECT count(*) - 1 FROM idempotency_keys)";
        let row = self.sql().await.query_one(text, &[]).await.unwrap();
        (row.get(0), row.get(1))
    }
}

/// A refusal that promises that nothing was done.
fn assert_not_executed(answer: &Answer) {
    assert_eq!((answer.status, answer.code().as_str()), (503, "unavailable"));
    assert_eq!(answer.json()["executed"], json!("no"));
    assert_retry_with_the_same_key(answer);
}

/// A refusal that promises nothing, and warns of a new key.
fn assert_outcome_unknown(answer: &Answer) {
    assert_eq!((answer.status, answer.code().as_str()), (503, "outcome_unknown"));
    assert_eq!(answer.json()["executed"], json!("unknown"));
    assert_retry_with_the_same_key(answer);
}

fn assert_retry_with_the_same_key(answer: &Answer) {
    assert_eq!(answer.json()["retryable"], json!(true));
    assert_eq!(answer.json()["safe_new_key"], json!(false));
    assert!(answer.header("retry-after").unwrap().parse::<u64>().unwrap() >= 1);
}
