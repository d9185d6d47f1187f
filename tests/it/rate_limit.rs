//! The limit on new claims of organisations that have one.

use crate::support::app::{TestApp, TestOrg, new_org, order_body};
use crate::support::bodies::{with, with_lines};
use crate::support::held::{eventually, unfinish};
use futures_util::future::join_all;
use ichido::db::orgs::NewOrg;
use serde_json::json;
use std::time::Instant;

async fn limited(app: &TestApp, per_second: u32) -> TestOrg {
    app.org(NewOrg { new_claims_per_second: Some(per_second), ..new_org() }).await
}

/// Uses keys until one is refused, and gives its name. Each takes far less than the second that refills the limit.
async fn exhaust(app: &TestApp, org: &TestOrg) -> String {
    for number in 0..100 {
        let key = format!("exhaust-{number}");
        if app.post_as(&org.token, &key, &order_body()).await.status == 429 {
            return key;
        }
    }
    panic!("there is no limit");
}

#[tokio::test]
async fn a_new_key_beyond_the_limit_is_429_and_stays_unused() {
    let app = TestApp::start().await;
    let org = limited(&app, 1).await;
    let first = app.post_as(&org.token, "first", &order_body()).await;
    let key = exhaust(&app, &org).await;
    let refused = app.post_as(&org.token, &key, &order_body()).await;
    // A slow machine may have let the limit refill; then this is its one.
    if refused.status != 201 {
        assert_eq!((refused.status, refused.code().as_str()), (429, "rate_limited"));
        assert!(refused.header("retry-after").unwrap().parse::<u64>().unwrap() >= 1);
        let problem = refused.json();
        assert_eq!((&problem["executed"], &problem["retryable"]), (&json!("no"), &json!(true)));
        let path = format!("/v1/idempotency-keys/{key}");
        let unused = app.get_as(&org.token, &path, "/v1/idempotency-keys/{idempotency_key}").await;
        assert_eq!(unused.status, 404);
    }
    // Finished keys are answered all the while.
    for _ in 0..20 {
        let replay = app.post_as(&org.token, "first", &order_body()).await;
        assert_eq!((replay.status, &replay.body), (200, &first.body));
    }
    eventually("the key gets its turn", async || {
        matches!(app.post_as(&org.token, &key, &order_body()).await.status, 200 | 201)
    })
    .await;
}

#[tokio::test]
async fn mismatches_and_keys_in_flight_are_free() {
    let app = TestApp::start().await;
    let org = limited(&app, 1).await;
    app.post_as(&org.token, "done", &order_body()).await;
    exhaust(&app, &org).await;
    assert_eq!(app.post_as(&org.token, "done", &with_lines(1)).await.status, 422);
    assert_eq!(app.post_as(&org.token, "done", &with("/currency", json!("yen"))).await.status, 400);
    unfinish(&app, "done").await;
    for _ in 0..10 {
        assert_eq!(app.post_as(&org.token, "done", &order_body()).await.status, 409);
    }
}

#[tokio::test]
async fn the_limit_of_one_organisation_does_not_touch_another() {
    let app = TestApp::start().await;
    let (a, b) = (limited(&app, 1).await, limited(&app, 1).await);
    exhaust(&app, &a).await;
    assert_eq!(app.post_as(&b.token, "K", &order_body()).await.status, 201);
    for number in 0..10 {
        assert_eq!(app.post(&format!("K{number}"), &order_body()).await.status, 201, "no limit, no refusal");
    }
}

#[tokio::test]
async fn many_at_once_get_no_more_than_the_limit() {
    let app = TestApp::start().await;
    let org = limited(&app, 5).await;
    let started = Instant::now();
    let body = order_body();
    let keys: Vec<_> = (0..40).map(|number| format!("K{number}")).collect();
    let answers = join_all(keys.iter().map(|key| app.post_as(&org.token, key, &body))).await;
    let created = answers.iter().filter(|answer| answer.status == 201).count();
    assert!(answers.iter().all(|answer| matches!(answer.status, 201 | 429)));
    // A burst of five, and one more for each fifth of a second.
    let refilled = usize::try_from(started.elapsed().as_millis() / 200).unwrap();
    assert!((5..=6 + refilled).contains(&created), "{created} in {refilled} fifths of a second");
    let (orders, claims) = app.counts().await;
    assert_eq!((orders, claims), (i64::try_from(created).unwrap(), orders));
}

#[tokio::test]
async fn a_storm_on_one_key_within_the_limit_gets_its_answer() {
    let app = TestApp::start().await;
    let org = limited(&app, 1).await;
    let body = order_body();
    let answers = join_all((0..20).map(|_| app.post_as(&org.token, "K", &body))).await;
    // Who looks before the winner has committed counts as new, and is told to come again with the same key.
    assert!(answers.iter().all(|answer| matches!(answer.status, 200 | 201 | 429)));
    assert_eq!(answers.iter().filter(|answer| answer.status == 201).count(), 1);
    let replays = join_all((0..20).map(|_| app.post_as(&org.token, "K", &body))).await;
    assert!(replays.iter().all(|answer| answer.status == 200));
}
