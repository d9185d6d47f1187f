//! Methods and versions of HTTP.

use super::{ask, post, probe, refused};
use crate::inbox::endpoint::Endpoint;
use crate::support::app::TestApp;
use crate::support::payments;
use crate::support::raw::Raw;
use reqwest::header::HeaderMap;
use std::time::{Duration, Instant};

/// A route's template with something in it that exists.
fn filled(template: &str, order_id: &str, case_id: &str) -> String {
    let path = template.replace("{order_id}", order_id).replace("{case_id}", case_id).replace("{idempotency_key}", "K");
    path.replace("{code}", "not_found")
}

fn request(app: &TestApp, method: &str, path: &str) -> String {
    format!("{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\n\r\n", app.org.token)
}

/// What may differ between two answers to the same question.
fn comparable(headers: &HeaderMap) -> HeaderMap {
    let mut headers = headers.clone();
    headers.remove("date");
    headers.remove("request-id");
    headers
}

#[tokio::test]
async fn head_is_get_without_the_body_on_every_route() {
    let app = TestApp::start().await;
    let order: serde_json::Value = serde_json::from_slice(&ask(&app, post(&app, "K")).await.body).unwrap();
    let endpoint = Endpoint::of(&app).await;
    let receipt = endpoint.signed(&app, b"{}").await.json()["receipt_id"].as_str().unwrap().to_owned();
    let case_id = payments::open_case(&app.sql().await, &app.org, order["id"].as_str().unwrap()).await;
    let mut seen = 0;
    for (method, template) in ichido::http::routes() {
        // The counters change with every request.
        if method.as_str() != "GET" || template == "/metrics" {
            continue;
        }
        let path = filled(template, order["id"].as_str().unwrap(), &case_id).replace("{receipt_id}", &receipt);
        let got = ask(&app, request(&app, "GET", &path)).await;
        assert_eq!(got.status, 200, "{path}");
        let mut raw = Raw::connect(&app.base).await;
        raw.send(request(&app, "HEAD", &path) + probe()).await;
        let head = raw.head().await;
        assert_eq!((head.status, comparable(&head.headers)), (200, comparable(&got.headers)), "{path}");
        // No body: the probe's answer begins at once.
        assert_eq!(raw.answer().await.body, br#"{"status":"ok"}"#, "{path}");
        seen += 1;
    }
    assert!(seen >= 8, "{seen}");
}

#[tokio::test]
async fn a_head_that_is_refused_has_no_body_either() {
    let app = TestApp::start().await;
    for path in ["/v1/orders/x", "/nowhere", "/problems/none", "/v1/orders?limit=0"] {
        let mut raw = Raw::connect(&app.base).await;
        raw.send(request(&app, "HEAD", path)).await;
        let head = raw.head().await;
        raw.send(probe()).await;
        assert!((400..500).contains(&head.status) && head.headers.contains_key("request-id"), "{path}: {head:?}");
        assert_eq!(raw.answer().await.body, br#"{"status":"ok"}"#, "{path}");
    }
}

#[tokio::test]
async fn other_methods_are_405_and_allow_names_the_ones_there_are() {
    let app = TestApp::start().await;
    for (path, allowed) in [
        ("/v1/orders", "POST, GET, HEAD"),
        ("/v1/orders/0193bb2f-0000-7000-8000-000000000000", "GET, HEAD"),
        ("/v1/idempotency-keys/K", "GET, HEAD"),
        ("/healthz", "GET, HEAD"),
        ("/problems", "GET, HEAD"),
    ] {
        for method in ["PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "BREW"] {
            let answer = ask(&app, request(&app, method, path)).await;
            assert_eq!((answer.status, answer.problem().as_str()), (405, "method_not_allowed"), "{method} {path}");
            assert_eq!(answer.headers["allow"], allowed, "{method} {path}");
        }
    }
    let post_to_order = request(&app, "POST", "/v1/orders/0193bb2f-0000-7000-8000-000000000000");
    assert_eq!(refused(&app, post_to_order).await.1, "method_not_allowed");
}

#[tokio::test]
async fn methods_are_case_sensitive() {
    let app = TestApp::start().await;
    for method in ["post", "Post", "get"] {
        let answer = ask(&app, post(&app, "K").replacen("POST", method, 1)).await;
        assert_eq!((answer.status, answer.problem().as_str()), (405, "method_not_allowed"), "{method}");
    }
    assert_eq!(app.counts().await, (0, 0));
}

#[tokio::test]
async fn connect_is_no_proxy() {
    let app = TestApp::start().await;
    let mut raw = Raw::connect(&app.base).await;
    raw.send("CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n".to_owned() + &post(&app, "K")).await;
    let answer = raw.answer().await;
    assert_eq!((answer.status, answer.problem().as_str(), answer.closes()), (404, "not_found", true));
    raw.closed().await;
    assert_eq!(app.counts().await, (0, 0));
}

#[tokio::test]
async fn an_offer_of_http_2_is_declined_and_the_order_made() {
    let app = TestApp::start().await;
    // What Java's own client sends with its first request.
    let lines =
        "Host: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAAB\r\n";
    for status in [201, 200] {
        let mut raw = Raw::connect(&app.base).await;
        raw.send(post(&app, "K").replacen("Host: x\r\n", lines, 1)).await;
        let answer = raw.answer().await;
        assert_eq!((answer.status, answer.closes()), (status, true), "{answer:?}");
        raw.closed().await;
    }
    assert_eq!(app.counts().await, (1, 1));
}

#[tokio::test]
async fn a_web_socket_is_refused_at_once_and_what_follows_is_never_executed() {
    let app = TestApp::start().await;
    for (value, connection) in [("websocket", "Connection: Upgrade\r\n"), ("WebSocket", "")] {
        let lines = format!("Host: x\r\nUpgrade: {value}\r\n{connection}");
        let mut raw = Raw::connect(&app.base).await;
        raw.send(post(&app, "K").replacen("Host: x\r\n", &lines, 1) + &post(&app, "L")).await;
        let started = Instant::now();
        let answer = raw.answer().await;
        assert_eq!((answer.status, answer.problem().as_str(), answer.closes()), (411, "length_required", true));
        raw.rest().await;
        assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
        assert_eq!(app.counts().await, (0, 0));
    }
}

#[tokio::test]
async fn http_1_0_is_answered_and_the_connection_closed() {
    let app = TestApp::start().await;
    let mut raw = Raw::connect(&app.base).await;
    raw.send(post(&app, "K").replacen("HTTP/1.1", "HTTP/1.0", 1)).await;
    assert_eq!(raw.answer().await.status, 201);
    raw.closed().await;
    let mut raw = Raw::connect(&app.base).await;
    raw.send("GET /healthz HTTP/1.0\r\n\r\n").await;
    assert_eq!(raw.answer().await.status, 200);
    raw.closed().await;
}
