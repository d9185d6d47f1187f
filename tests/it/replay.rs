//! What a retry gets, for how long, and under which policies.

use crate::support::app::{TestApp, new_org, order_body};
use crate::support::bodies::{spelled, with, with_lines};
use crate::support::held::{begin, set_fingerprint, unfinish};
use ichido::app::clean_up::clean_up;
use ichido::db::orgs::NewOrg;
use ichido::domain::org::{OnMismatch, ReplayStatus};
use serde_json::json;
use tokio_util::sync::CancellationToken;

#[tokio::test]
async fn a_replay_has_the_first_headers_and_those_of_its_own_delivery() {
    let app = TestApp::start().await;
    let first = app.post("K", &order_body()).await;
    let second = app.post("K", &order_body()).await;
    let third = app.post("K", &order_body()).await;
    for replay in [&second, &third] {
        for name in ["content-type", "location", "etag", "idempotency-key", "content-length"] {
            assert_eq!(replay.header(name), first.header(name), "{name}");
        }
        assert!(replay.headers.contains_key("date"));
        assert_eq!(replay.header("idempotency-expires"), None);
    }
    assert_eq!(first.header("idempotent-original-status"), None);
    assert_ne!(second.header("request-id"), third.header("request-id"));
    let location = first.header("location").unwrap();
    assert_eq!(location, format!("/v1/orders/{}", first.id()));
    assert_eq!(app.get(location, "/v1/orders/{order_id}").await.status, 200);
}

#[tokio::test]
async fn an_order_of_500_lines_replays_byte_for_byte() {
    let app = TestApp::start().await;
    let mut body = with_lines(500);
    body["metadata"] = json!({ "b": "\u{1f375}", "a": "\"\\\u{1}", "é": "" });
    let first = app.post("K", &body).await;
    let second = app.post("K", &body).await;
    assert_eq!((first.status, second.status), (201, 200));
    assert_eq!(first.body, second.body);
    let stored = app.sql().await.query_one("SELECT response_body FROM idempotency_keys", &[]).await.unwrap();
    assert_eq!(stored.get::<_, Vec<u8>>(0), first.body);
}

#[tokio::test]
async fn a_replay_shows_the_order_as_it_was() {
    let app = TestApp::start().await;
    let first = app.post("K", &order_body()).await;
    let change = "UPDATE orders SET status = 'cancelled', version = version + 1, updated_at = now()";
    app.sql().await.execute(change, &[]).await.unwrap();
    let replay = app.post("K", &order_body()).await;
    assert_eq!((replay.status, &replay.body, replay.header("etag")), (200, &first.body, first.header("etag")));
    let now = app.get(first.header("location").unwrap(), "/v1/orders/{order_id}").await;
    assert_eq!(now.json()["status"], "cancelled");
    assert_ne!(now.header("etag"), first.header("etag"));
}

#[tokio::test]
async fn a_key_replays_a_year_later_when_keys_are_kept_for_ever() {
    let app = TestApp::start().await;
    let first = app.post("K", &order_body()).await;
    let year = "UPDATE idempotency_keys SET created_at = created_at - interval '1 year', \
                completed_at = completed_at - interval '1 year'";
    app.sql().await.execute(year, &[]).await.unwrap();
    assert_eq!(clean_up(&app.app, 100, &CancellationToken::new()).await.unwrap(), []);
    let replay = app.post("K", &order_body()).await;
    assert_eq!((replay.status, replay.body), (200, first.body));
}

#[tokio::test]
async fn a_finite_keeping_time_is_frozen_at_the_claim_whatever_each_service_believes() {
    let old = TestApp::start().await;
    let org = old.org(NewOrg { keys_kept_for_seconds: Some(86_400), ..new_org() }).await;
    // From now on this service knows the policy, and keeps its knowledge for some seconds.
    let a = old.post_as(&org.token, "A", &order_body()).await;
    let change = "UPDATE orgs SET keys_kept_for_seconds = 2592000 WHERE org_id = $1";
    assert_eq!(old.sql().await.execute(change, &[&org.id.0]).await.unwrap(), 1);
    let new = TestApp::start_on(old.url.clone(), 4, Vec::new()).await;
    let b = new.post_as(&org.token, "B", &order_body()).await;
    let expires = |answer: &crate::support::app::Answer| answer.header("idempotency-expires").unwrap().to_owned();
    for (key, first) in [("A", &a), ("B", &b)] {
        for service in [&old, &new] {
            let replay = service.post_as(&org.token, key, &order_body()).await;
            assert_eq!((replay.status, expires(&replay)), (200, expires(first)));
        }
    }
    let kept =
        "SELECT extract(epoch FROM expires_at - created_at)::bigint FROM idempotency_keys ORDER BY idempotency_key";
    let rows = old.sql().await.query(kept, &[]).await.unwrap();
    assert_eq!(rows.iter().map(|row| row.get(0)).collect::<Vec<i64>>(), [86_400, 2_592_000]);
}

#[tokio::test]
async fn an_expired_key_replays_until_it_is_removed_and_is_then_a_new_command() {
    let app = TestApp::start().await;
    let org = app.org(NewOrg { keys_kept_for_seconds: Some(86_400), ..new_org() }).await;
    let first = app.post_as(&org.token, "K", &order_body()).await;
    let sql = "UPDATE idempotency_keys SET expires_at = now() - interval '1 second'";
    assert_eq!(app.sql().await.execute(sql, &[]).await.unwrap(), 1);
    let replay = app.post_as(&org.token, "K", &order_body()).await;
    assert_eq!((replay.status, replay.body), (200, first.body.clone()));
    let mismatch = app.post_as(&org.token, "K", &with_lines(1)).await;
    assert_eq!(mismatch.status, 422);
    let removed = clean_up(&app.app, 100, &CancellationToken::new()).await.unwrap();
    assert_eq!(removed.iter().map(|each| each.keys).sum::<u64>(), 1);
    let anew = app.post_as(&org.token, "K", &order_body()).await;
    assert_eq!(anew.status, 201);
    assert_ne!(anew.id(), first.id());
}

#[tokio::test]
async fn a_retry_is_answered_even_when_todays_rules_refuse_its_request() {
    let app = TestApp::start().await;
    let invalid = spelled("/lines/0/quantity", "0");
    let paid = with("/payment", json!({ "method": "pm" })).to_string().into_bytes();
    for (key, body) in [("K1", invalid), ("K2", paid)] {
        let first = app.post(key, &order_body()).await;
        set_fingerprint(&app, key, "POST", "/v1/orders", &body).await;
        let replay = app.post_bytes(&app.org.token, key, body.clone()).await;
        assert_eq!((replay.status, replay.body), (200, first.body), "{key}");
        // Under another key, and as another request, it is refused as before.
        assert_eq!(app.post_bytes(&app.org.token, "unused", body).await.status, 400);
        assert_eq!(app.post_bytes(&app.org.token, key, spelled("/lines/0/quantity", "-1")).await.status, 400);
        unfinish(&app, key).await;
    }
    assert_eq!(app.post_bytes(&app.org.token, "K1", spelled("/lines/0/quantity", "0")).await.status, 409);
}

#[tokio::test]
async fn return_original_answers_a_mismatch_with_the_first_answer_and_says_so() {
    let app = TestApp::start().await;
    let org = app.org(NewOrg { on_mismatch: OnMismatch::ReturnOriginal, ..new_org() }).await;
    let first = app.post_as(&org.token, "K", &order_body()).await;
    let other = app.post_as(&org.token, "K", &with_lines(2)).await;
    assert_eq!((other.status, &other.body), (200, &first.body));
    assert_eq!(other.header("idempotency-mismatch"), Some("true"));
    assert_eq!(other.header("idempotent-replayed"), Some("true"));
    assert_eq!(other.header("idempotent-original-status"), Some("201"));
    assert_eq!((other.header("location"), other.header("etag")), (first.header("location"), first.header("etag")));
    let replay = app.post_as(&org.token, "K", &order_body()).await;
    assert_eq!((replay.status, replay.header("idempotency-mismatch")), (200, None));
    assert_eq!(app.counts().await, (1, 1));
    // What is no valid order is still refused.
    assert_eq!(app.post_as(&org.token, "K", &with("/currency", json!("yen"))).await.status, 400);
}

#[tokio::test]
async fn replay_status_original_repeats_the_status_and_still_marks_the_replay() {
    let app = TestApp::start().await;
    let org = app.org(NewOrg { replay_status: ReplayStatus::Original, ..new_org() }).await;
    let first = app.post_as(&org.token, "K", &order_body()).await;
    let replay = app.post_as(&org.token, "K", &order_body()).await;
    assert_eq!((first.status, replay.status, &replay.body), (201, 201, &first.body));
    assert_eq!(first.header("idempotent-replayed"), None);
    assert_eq!(replay.header("idempotent-replayed"), Some("true"));
    assert_eq!(replay.header("idempotent-original-status"), Some("201"));
    assert_eq!(app.post_as(&org.token, "K", &with_lines(1)).await.status, 422);
}

#[tokio::test]
async fn both_policies_together_give_201_with_the_mismatch_marked() {
    let app = TestApp::start().await;
    let policies =
        NewOrg { on_mismatch: OnMismatch::ReturnOriginal, replay_status: ReplayStatus::Original, ..new_org() };
    let org = app.org(policies).await;
    let first = app.post_as(&org.token, "K", &order_body()).await;
    let other = app.post_as(&org.token, "K", &with_lines(1)).await;
    assert_eq!((other.status, &other.body), (201, &first.body));
    assert_eq!(
        (other.header("idempotency-mismatch"), other.header("idempotent-replayed")),
        (Some("true"), Some("true"))
    );
}

#[tokio::test]
async fn a_503_is_not_stored_and_the_retry_runs_afresh() {
    let app = TestApp::start().await;
    let held = begin(&app, "LOCK TABLE orders IN ACCESS EXCLUSIVE MODE").await;
    let refused = app.post("K", &order_body()).await;
    assert_eq!((refused.status, refused.code().as_str()), (503, "unavailable"));
    let problem = refused.json();
    assert_eq!((&problem["executed"], &problem["retryable"]), (&json!("no"), &json!(true)));
    assert_eq!(problem["safe_new_key"], json!(false));
    held.batch_execute("ROLLBACK").await.unwrap();
    assert_eq!(app.counts().await, (0, 0));
    assert_eq!(app.post("K", &order_body()).await.status, 201);
}

#[tokio::test]
async fn a_500_is_not_stored_and_ten_retries_get_a_definite_answer() {
    let app = TestApp::start().await;
    let client = app.sql().await;
    client.batch_execute("ALTER TABLE orders RENAME TO elsewhere").await.unwrap();
    let refused = app.post("K", &order_body()).await;
    assert_eq!((refused.status, refused.code().as_str()), (500, "internal_error"));
    client.batch_execute("ALTER TABLE elsewhere RENAME TO orders").await.unwrap();
    let first = app.post("K", &order_body()).await;
    assert_eq!(first.status, 201);
    for _ in 0..9 {
        let again = app.post("K", &order_body()).await;
        assert_eq!((again.status, &again.body), (200, &first.body));
    }
    assert_eq!(app.counts().await, (1, 1));
}
