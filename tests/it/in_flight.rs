//! A key whose work has begun and not finished.

use crate::inbox::endpoint::{Endpoint, event};
use crate::support::app::{Answer, TestApp, new_org, order_body};
use crate::support::bodies::with;
use crate::support::held::unfinish;
use ichido::app::clean_up::clean_up;
use ichido::budget::{Budget, Share};
use ichido::db::orgs::NewOrg;
use ichido::domain::org::OnMismatch;
use serde_json::json;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

#[tokio::test]
async fn a_key_in_progress_is_409_with_retry_after_and_the_orders_location() {
    let app = TestApp::start().await;
    let order = app.post("K", &order_body()).await;
    unfinish(&app, "K").await;
    let answer = app.post("K", &order_body()).await;
    assert_eq!((answer.status, answer.code().as_str()), (409, "request_in_flight"));
    assert!(answer.header("retry-after").unwrap().parse::<u64>().unwrap() >= 1);
    assert_eq!(answer.header("location"), order.header("location"));
    let problem = answer.json();
    assert_eq!((&problem["retryable"], &problem["executed"]), (&json!(true), &json!("no")));
    assert_eq!(problem["safe_new_key"], json!(false));
    assert_eq!(app.counts().await, (1, 1));
}

#[tokio::test]
async fn a_mismatch_wins_over_in_progress_under_either_policy() {
    let app = TestApp::start().await;
    let lenient = app.org(NewOrg { on_mismatch: OnMismatch::ReturnOriginal, ..new_org() }).await;
    let other = with("/currency", json!("USD"));
    for (key, token) in [("strict", &app.org.token), ("lenient", &lenient.token)] {
        app.post_as(token, key, &order_body()).await;
        unfinish(&app, key).await;
        let answer = app.post_as(token, key, &other).await;
        assert_eq!((answer.status, answer.code().as_str()), (422, "idempotency_key_reused"), "{key}");
        assert_eq!(answer.json()["differing"], json!(["/currency"]));
        assert_eq!(app.post_as(token, key, &order_body()).await.status, 409);
    }
}

#[tokio::test]
async fn once_finished_it_replays() {
    let app = TestApp::start().await;
    let first = app.post("K", &order_body()).await;
    let client = app.sql().await;
    client.batch_execute("CREATE TABLE finished AS TABLE idempotency_keys").await.unwrap();
    unfinish(&app, "K").await;
    assert_eq!(app.post("K", &order_body()).await.status, 409);
    let sql = "UPDATE idempotency_keys AS k SET state = f.state, response_status = f.response_status, \
               response_headers = f.response_headers, response_body = f.response_body, completed_at = f.completed_at \
               FROM finished AS f";
    assert_eq!(client.execute(sql, &[]).await.unwrap(), 1);
    let replay = app.post("K", &order_body()).await;
    assert_eq!((replay.status, replay.body), (200, first.body));
}

#[tokio::test]
async fn a_key_in_progress_is_never_removed_whatever_its_age() {
    let app = TestApp::start().await;
    let org = app.org(NewOrg { keys_kept_for_seconds: Some(86_400), ..new_org() }).await;
    app.post_as(&org.token, "K", &order_body()).await;
    unfinish(&app, "K").await;
    let old = "UPDATE idempotency_keys SET expires_at = now() - interval '10 years'";
    app.sql().await.execute(old, &[]).await.unwrap();
    clean_up(&app.app, 100, &CancellationToken::new()).await.unwrap();
    assert_eq!(app.post_as(&org.token, "K", &order_body()).await.status, 409);
}

/// Everything that is left of a budget.
fn all_of(budget: &Arc<Budget>) -> Share {
    let mut all = budget.take(0).unwrap();
    while all.grow(64 * 1024) {}
    while all.grow(16) {}
    while all.grow(1) {}
    all
}

fn assert_no_memory(refused: &Answer) {
    assert_eq!((refused.status, refused.code().as_str()), (503, "unavailable"));
    assert_eq!(refused.json()["executed"], "no");
    assert!(refused.header("retry-after").is_some());
}

#[tokio::test]
async fn bodies_beyond_the_memory_for_them_are_refused_and_have_used_no_key() {
    let app = TestApp::start().await;
    // What others send does not matter to a small order.
    let others = (all_of(&app.app.bodies.large), all_of(&app.app.bodies.deliveries));
    assert_eq!(app.post("beside", &order_body()).await.status, 201);
    drop(others);
    let all = all_of(&app.app.bodies.small);
    assert_no_memory(&app.post("K", &order_body()).await);
    drop(all);
    assert_eq!(app.post("K", &order_body()).await.status, 201);
    assert_eq!(app.counts().await, (2, 2));
}

#[tokio::test]
async fn large_orders_and_deliveries_have_memory_of_their_own() {
    let app = TestApp::start().await;
    let endpoint = Endpoint::of(&app).await;
    let large = format!("{}{}", order_body(), " ".repeat(20 * 1024)).into_bytes();
    let event = event("invoice.paid", &json!({ "id": "in_1" })).to_string();
    let others = (all_of(&app.app.bodies.small), all_of(&app.app.bodies.deliveries));
    assert_eq!(app.post_bytes(&app.org.token, "large", large.clone()).await.status, 201);
    assert_no_memory(&endpoint.signed(&app, event.as_bytes()).await);
    drop(others);
    let others = (all_of(&app.app.bodies.small), all_of(&app.app.bodies.large));
    assert_eq!(endpoint.signed(&app, event.as_bytes()).await.status, 200);
    assert_no_memory(&app.post_bytes(&app.org.token, "large", large).await);
    drop(others);
    assert_eq!(app.counts().await, (1, 1));
}
