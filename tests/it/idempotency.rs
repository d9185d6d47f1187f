//! The heart of the contract: one order for each organisation and key, and every retry gets the first answer.

use crate::support::app::{TestApp, order_body};
use futures_util::future::join_all;
use ichido::app::command::Command;
use ichido::app::create_order::create_order;
use ichido::budget::Body;
use ichido::db::deadline::Deadline;
use ichido::domain::key::IdempotencyKey;
use serde_json::json;
use std::sync::Arc;

#[tokio::test]
async fn a_new_order_is_201_and_its_retry_is_200_with_the_same_bytes() {
    let app = TestApp::start().await;
    let first = app.post("K", &order_body()).await;
    let second = app.post("K", &order_body()).await;
    assert_eq!((first.status, second.status), (201, 200));
    assert_eq!(first.body, second.body);
    for name in ["content-type", "location", "etag", "idempotency-key"] {
        assert_eq!(first.header(name), second.header(name), "{name}");
    }
    assert_eq!(first.header("idempotent-replayed"), None);
    assert_eq!(second.header("idempotent-replayed"), Some("true"));
    assert_eq!(second.header("idempotent-original-status"), Some("201"));
    assert_ne!(first.header("request-id"), second.header("request-id"));
    assert_eq!(app.counts().await, (1, 1));
}

#[tokio::test]
async fn another_body_under_the_key_is_422_and_names_what_differs() {
    let app = TestApp::start().await;
    let mut other = order_body();
    other["lines"][0]["quantity"] = json!(3);
    other["customer"]["email"] = json!(null);
    assert_eq!(app.post("K", &order_body()).await.status, 201);
    let refused = app.post("K", &other).await;
    assert_eq!((refused.status, refused.code().as_str()), (422, "idempotency_key_reused"));
    assert_eq!(refused.json()["differing"], json!(["/customer/email", "/lines/0/quantity"]));
    assert_eq!(app.post("K", &order_body()).await.status, 200);
    assert_eq!(app.counts().await, (1, 1));
}

#[tokio::test]
async fn fifty_at_once_make_one_order() {
    let app = TestApp::start().await;
    let body = order_body();
    let answers = join_all((0..50).map(|_| app.post("K", &body))).await;
    let created = answers.iter().filter(|answer| answer.status == 201).count();
    assert_eq!(created, 1);
    assert!(answers.iter().all(|answer| matches!(answer.status, 200 | 201 | 409)));
    let bodies: Vec<_> = answers.iter().filter(|answer| answer.status < 300).map(|answer| &answer.body).collect();
    assert!(bodies.windows(2).all(|pair| pair[0] == pair[1]));
    assert_eq!(app.counts().await, (1, 1));
}

/// Every request's work is moved a few times before it runs; what only some need is kept on the heap.
#[tokio::test]
async fn the_work_of_a_plain_order_is_small() {
    let app = TestApp::start().await;
    let caller =
        ichido::app::authenticate::authenticate(&app.app, &app.org.token, Deadline::of_request()).await.unwrap();
    let command = Arc::new(Command {
        org: caller.org,
        asked_by: caller.key_id,
        key: IdempotencyKey::parse(b"k").unwrap(),
        method: "POST",
        path: "/v1/orders".to_owned(),
        query: None,
        body: Body::new(b"{}".to_vec(), app.app.bodies.small.take(2).unwrap()),
        request_id: uuid::Uuid::nil(),
    });
    let work = create_order(&app.app, &command, Deadline::of_request());
    assert!(size_of_val(&work) < 6 * 1024, "{} bytes", size_of_val(&work));
    assert!(work.await.is_err());
}
