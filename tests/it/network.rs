//! Clients that vanish, and browsers.

use crate::support::app::{TestApp, order_body};
use crate::support::bodies::key_is_unused;
use crate::support::held::{begin, blocked, eventually};
use crate::support::postgres;
use crate::support::wire::{Wire, post, post_head};
use reqwest::Method;
use tokio::io::AsyncWriteExt;

/// Sends a request whose statement cannot go on, and gives the connection and what holds the statement.
async fn working(app: &TestApp, key: &str) -> (Wire, tokio_postgres::Client) {
    let held = begin(app, "LOCK TABLE orders IN SHARE MODE").await;
    let mut wire = Wire::to(app).await;
    wire.send(post(app, key, order_body().to_string().as_bytes())).await;
    blocked(app, 1).await;
    (wire, held)
}

/// The order comes to exist, and the retry gets it.
async fn order_exists(app: &TestApp, key: &str) {
    eventually("the order exists", async || app.counts().await == (1, 1)).await;
    let retry = app.post(key, &order_body()).await;
    assert_eq!(retry.status, 200, "{}", retry.json());
    assert_eq!(app.counts().await, (1, 1));
}

#[tokio::test]
async fn a_client_that_resets_its_connection_changes_nothing() {
    let app = TestApp::start().await;
    let (wire, held) = working(&app, "K").await;
    wire.0.set_zero_linger().unwrap();
    drop(wire);
    held.batch_execute("COMMIT").await.unwrap();
    order_exists(&app, "K").await;
}

#[tokio::test]
async fn a_client_that_hangs_up_changes_nothing() {
    let app = TestApp::start().await;
    let (wire, held) = working(&app, "K").await;
    drop(wire);
    held.batch_execute("COMMIT").await.unwrap();
    order_exists(&app, "K").await;
}

#[tokio::test]
async fn a_client_that_closes_its_sending_half_changes_nothing() {
    let app = TestApp::start().await;
    let (mut wire, held) = working(&app, "K").await;
    wire.0.shutdown().await.unwrap();
    held.batch_execute("COMMIT").await.unwrap();
    order_exists(&app, "K").await;
}

#[tokio::test]
async fn resets_right_after_sending_make_one_order_or_none_and_the_retry_settles_it() {
    let app = TestApp::start().await;
    let body = order_body().to_string();
    for round in 0..20 {
        let key = format!("K{round}");
        let mut wire = Wire::to(&app).await;
        wire.send(post(&app, &key, body.as_bytes())).await;
        wire.0.set_zero_linger().unwrap();
        drop(wire);
        let retry = app.post(&key, &order_body()).await;
        assert!(matches!(retry.status, 200 | 201), "{}", retry.json());
        assert_eq!(app.post(&key, &order_body()).await.body, retry.body);
    }
    assert_eq!(app.counts().await, (20, 20));
}

#[tokio::test]
async fn a_body_that_breaks_off_makes_nothing_and_leaves_the_key_unused() {
    let app = TestApp::start().await;
    let body = order_body().to_string();
    for cut in [0, 1, body.len() - 1] {
        let mut wire = Wire::to(&app).await;
        let whole = post(&app, "K", body.as_bytes());
        wire.send(&whole[..whole.len() - body.len() + cut]).await;
        wire.0.shutdown().await.unwrap();
        let answer = wire.until_closed().await;
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 400 "), "{answer}");
    }
    assert_eq!(app.counts().await, (0, 0));
    key_is_unused(&app, "K").await;
}

#[tokio::test]
async fn requests_sent_back_to_back_on_one_connection_are_answered_in_order() {
    let app = TestApp::start().await;
    let body = order_body().to_string();
    let mut wire = Wire::to(&app).await;
    let last = format!("Idempotency-Key: L\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
    let last = post_head(&app, &last) + &body;
    let both = [post(&app, "K", body.as_bytes()), post(&app, "K", body.as_bytes()), last.into_bytes()].concat();
    wire.send(both).await;
    let answers = wire.until_closed().await;
    let statuses: Vec<_> = answers.match_indices("HTTP/1.1 ").map(|(at, _)| &answers[at + 9..at + 12]).collect();
    assert_eq!(statuses, ["201", "200", "201"]);
    assert_eq!(app.counts().await, (2, 2));
}

/// An `OPTIONS` of a browser before it sends `POST /v1/orders`. By hand: preflights are not part of the contract.
async fn preflight(app: &TestApp, origin: &str) -> String {
    let mut wire = Wire::to(app).await;
    wire.send(format!(
        "OPTIONS /v1/orders HTTP/1.1\r\nHost: x\r\nOrigin: {origin}\r\nAccess-Control-Request-Method: POST\r\n\
         Access-Control-Request-Headers: authorization,content-type,idempotency-key\r\nConnection: close\r\n\r\n"
    ))
    .await;
    wire.until_closed().await.to_lowercase()
}

#[tokio::test]
async fn a_preflight_is_allowed_where_cors_is_on_and_makes_no_claim() {
    let origins = vec!["https://shop.example".to_owned()];
    let app = TestApp::start_on(postgres::database().await, 4, origins).await;
    let answer = preflight(&app, "https://shop.example").await;
    assert!(answer.starts_with("http/1.1 200 "), "{answer}");
    assert!(answer.contains("access-control-allow-origin: https://shop.example\r\n"), "{answer}");
    let line = |name: &str| answer.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().to_owned();
    for name in ["idempotency-key", "authorization", "content-type"] {
        assert!(line("access-control-allow-headers: ").contains(name), "{answer}");
    }
    assert!(line("access-control-allow-methods: ").contains("post"), "{answer}");
    assert_eq!(app.counts().await, (0, 0));
    let other = preflight(&app, "https://evil.example").await;
    assert!(!other.contains("access-control-allow-origin"), "{other}");
}

#[tokio::test]
async fn a_browser_may_read_what_the_contract_says() {
    let origins = vec!["https://shop.example".to_owned()];
    let app = TestApp::start_on(postgres::database().await, 4, origins).await;
    let request = app.request(Method::POST, "/v1/orders").bearer_auth(&app.org.token).header("Idempotency-Key", "K");
    let request = request.header("Origin", "https://shop.example").header("Content-Type", "application/json");
    let answer = app.send(request.body(order_body().to_string()), "/v1/orders").await;
    assert_eq!((answer.status, answer.header("access-control-allow-origin")), (201, Some("https://shop.example")));
    let exposed = answer.header("access-control-expose-headers").unwrap().to_lowercase();
    for name in ["idempotent-replayed", "retry-after", "location", "etag", "request-id"] {
        assert!(exposed.split(',').any(|each| each.trim() == name), "{name} is not in {exposed}");
    }
}

#[tokio::test]
async fn cors_is_off_unless_it_is_asked_for() {
    let app = TestApp::start().await;
    let answer = preflight(&app, "https://shop.example").await;
    assert!(answer.starts_with("http/1.1 405 ") && !answer.contains("access-control-"), "{answer}");
    assert_eq!(app.counts().await, (0, 0));
}
