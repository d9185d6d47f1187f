//! Keys past their keeping time go, in bounded batches; everything else stays.

use crate::support::app::{Answer, TestApp, TestOrg, new_org, order_body};
use futures_util::future::join_all;
use ichido::app::clean_up::{Cleaned, DEFAULT_BATCH, PAUSE, clean_up, count_due};
use ichido::db::orgs::NewOrg;
use serde_json::json;
use std::time::{Duration, Instant};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

const DAY: i64 = 86_400;

async fn finite_org(app: &TestApp) -> TestOrg {
    app.org(NewOrg { keys_kept_for_seconds: Some(DAY), ..new_org() }).await
}

/// Orders under keys `key-1` … of an organisation.
async fn orders(app: &TestApp, org: &TestOrg, count: usize) -> Vec<Answer> {
    let body = order_body();
    let names = (1..=count).map(|number| format!("key-{number}"));
    let answers = join_all(names.map(|name| async { app.post_as(&org.token, &{ name }, &body).await })).await;
    assert!(answers.iter().all(|answer| answer.status == 201));
    answers
}

/// Lets two days pass for keys that fit a condition; what is kept for ever has no time that could pass.
async fn age(app: &TestApp, condition: &str) {
    let sql = format!("UPDATE idempotency_keys SET expires_at = expires_at - interval '2 days' WHERE {condition}");
    app.sql().await.execute(&sql, &[]).await.unwrap();
}

/// The keys that are there, in order.
async fn keys(app: &TestApp) -> Vec<String> {
    let rows = app.sql().await.query("SELECT idempotency_key FROM idempotency_keys ORDER BY 1", &[]).await.unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

async fn run(app: &TestApp, batch: u32) -> Vec<Cleaned> {
    clean_up(&app.app, batch, &CancellationToken::new()).await.unwrap()
}

/// A sample of this process's own metrics.
fn sample(app: &TestApp, name: &str) -> f64 {
    let page = app.app.metrics.render(false);
    let line = page.lines().find_map(|line| line.strip_prefix(name));
    line.map_or(0.0, |value| value.trim().parse().unwrap())
}

#[tokio::test]
async fn only_completed_keys_past_their_time_are_removed_and_orders_stay() {
    let app = TestApp::start().await;
    let finite = finite_org(&app).await;
    orders(&app, &app.org, 2).await;
    orders(&app, &finite, 5).await;
    let unfinished =
        "INSERT INTO idempotency_keys (org_id, idempotency_key, fingerprint_version, request_sha256, state,
            order_id, created_at, expires_at)
        VALUES ($1, 'unfinished', 1, '', 'in_progress', gen_random_uuid(), now(), now())";
    app.sql().await.execute(unfinished, &[&finite.id.0]).await.unwrap();
    let untouched = run(&app, DEFAULT_BATCH).await;
    assert_eq!((untouched, keys(&app).await.len()), (vec![], 8));
    age(&app, "idempotency_key IN ('key-1', 'key-2', 'key-3', 'unfinished')").await;
    let cleaned = run(&app, DEFAULT_BATCH).await;
    assert_eq!(cleaned, [Cleaned { org_id: finite.id, keys: 3 }]);
    // Of the organisation that keeps them for ever, both; of the other, what is not past its time or not finished.
    assert_eq!(keys(&app).await, ["key-1", "key-2", "key-4", "key-5", "unfinished"]);
    assert_eq!(app.counts().await.0, 7);
    assert!((sample(&app, "ichido_idempotency_keys_removed_total") - 3.0).abs() < 0.5);
    age(&app, "true").await;
    assert_eq!(run(&app, DEFAULT_BATCH).await, [Cleaned { org_id: finite.id, keys: 2 }]);
    assert_eq!(keys(&app).await, ["key-1", "key-2", "unfinished"]);
}

#[tokio::test]
async fn the_time_is_frozen_when_the_key_is_first_used() {
    let app = TestApp::start().await;
    let finite = finite_org(&app).await;
    let first = &orders(&app, &finite, 1).await[0];
    let longer = "UPDATE orgs SET keys_kept_for_seconds = NULL WHERE org_id = $1";
    app.sql().await.execute(longer, &[&finite.id.0]).await.unwrap();
    let again = app.post_as(&finite.token, "key-1", &order_body()).await;
    assert_eq!(first.header("idempotency-expires"), again.header("idempotency-expires"));
    assert!(first.header("idempotency-expires").is_some());
    age(&app, "true").await;
    assert_eq!(run(&app, DEFAULT_BATCH).await, [Cleaned { org_id: finite.id, keys: 1 }]);
}

#[tokio::test]
async fn a_dry_run_counts_and_removes_nothing() {
    let app = TestApp::start().await;
    let (one, other) = (finite_org(&app).await, finite_org(&app).await);
    orders(&app, &one, 3).await;
    orders(&app, &other, 2).await;
    assert_eq!(count_due(&app.app).await.unwrap(), []);
    age(&app, "idempotency_key <> 'key-3'").await;
    let due = [Cleaned { org_id: one.id, keys: 2 }, Cleaned { org_id: other.id, keys: 2 }];
    assert_eq!(count_due(&app.app).await.unwrap(), due);
    assert_eq!(count_due(&app.app).await.unwrap(), due);
    assert_eq!(keys(&app).await.len(), 5);
    assert_eq!(run(&app, DEFAULT_BATCH).await, due);
}

#[tokio::test]
async fn batches_are_bounded_and_apart_in_time() {
    assert_eq!(DEFAULT_BATCH, 5_000);
    assert!(PAUSE >= Duration::from_millis(250));
    let app = TestApp::start().await;
    let finite = finite_org(&app).await;
    orders(&app, &finite, 7).await;
    age(&app, "true").await;
    let started = Instant::now();
    assert_eq!(run(&app, 3).await, [Cleaned { org_id: finite.id, keys: 7 }]);
    let took = started.elapsed();
    // Three, three and one: the last one is short, so nothing comes after it.
    let statements = "ichido_statement_duration_seconds_count{statement=\"idempotency_keys/delete_expired\"}";
    assert!((sample(&app, statements) - 3.0).abs() < 0.5);
    assert!(took >= 2 * PAUSE, "{took:?}");
    assert_eq!(keys(&app).await.len(), 0);
}

#[tokio::test]
async fn until_it_is_removed_a_key_replays_and_then_it_is_a_new_command() {
    let app = TestApp::start().await;
    let finite = finite_org(&app).await;
    let mut with_reference = order_body();
    with_reference["order_reference"] = json!("PO-1");
    let plain = app.post_as(&finite.token, "plain", &order_body()).await;
    let named = app.post_as(&finite.token, "named", &with_reference).await;
    assert_eq!((plain.status, named.status), (201, 201));
    age(&app, "true").await;
    let replay = app.post_as(&finite.token, "plain", &order_body()).await;
    assert_eq!((replay.status, &replay.body), (200, &plain.body));
    run(&app, DEFAULT_BATCH).await;
    let path = "/v1/idempotency-keys/plain";
    let request = app.request(reqwest::Method::GET, path).bearer_auth(&finite.token);
    assert_eq!(app.send(request, "/v1/idempotency-keys/{idempotency_key}").await.status, 404);
    let anew = app.post_as(&finite.token, "plain", &order_body()).await;
    assert_eq!(anew.status, 201);
    assert_ne!(anew.id(), plain.id());
    // The reference still guards against a second order.
    let guarded = app.post_as(&finite.token, "named", &with_reference).await;
    assert_eq!((guarded.status, guarded.code().as_str()), (409, "order_reference_taken"));
    assert_eq!(guarded.json()["order_id"], named.id());
    assert_eq!(app.counts().await, (3, 1));
}

#[tokio::test]
async fn a_row_that_somebody_holds_is_left_for_the_next_time() {
    let app = TestApp::start().await;
    let finite = finite_org(&app).await;
    orders(&app, &finite, 5).await;
    age(&app, "true").await;
    let holder = app.sql().await;
    let hold = "BEGIN; SELECT FROM idempotency_keys WHERE idempotency_key IN ('key-2', 'key-4') FOR UPDATE";
    holder.batch_execute(hold).await.unwrap();
    let started = Instant::now();
    assert_eq!(run(&app, DEFAULT_BATCH).await, [Cleaned { org_id: finite.id, keys: 3 }]);
    // Less than lock_timeout: it did not wait for them.
    assert!(started.elapsed() < Duration::from_millis(1_400), "{:?}", started.elapsed());
    assert_eq!(keys(&app).await, ["key-2", "key-4"]);
    holder.batch_execute("COMMIT").await.unwrap();
    assert_eq!(run(&app, DEFAULT_BATCH).await, [Cleaned { org_id: finite.id, keys: 2 }]);
}

#[tokio::test]
async fn several_at_once_remove_each_key_once() {
    let app = TestApp::start().await;
    let (one, other) = (finite_org(&app).await, finite_org(&app).await);
    orders(&app, &one, 20).await;
    orders(&app, &other, 20).await;
    age(&app, "true").await;
    let runs = join_all((0..3).map(|_| run(&app, 8))).await;
    let removed: u64 = runs.iter().flatten().map(|cleaned| cleaned.keys).sum();
    // What one of them skipped because another held it, is removed by that other.
    assert_eq!((removed, keys(&app).await.len()), (40, 0));
}

#[tokio::test]
async fn it_stops_between_two_batches() {
    let app = TestApp::start().await;
    let finite = finite_org(&app).await;
    orders(&app, &finite, 12).await;
    age(&app, "true").await;
    let stop = CancellationToken::new();
    let running = tokio::spawn({
        let (app, stop) = (app.app.clone(), stop.clone());
        async move { clean_up(&app, 2, &stop).await.unwrap() }
    });
    while keys(&app).await.len() == 12 {
        sleep(Duration::from_millis(5)).await;
    }
    stop.cancel();
    let cancelled = Instant::now();
    let removed = running.await.unwrap()[0].keys;
    assert!(cancelled.elapsed() < PAUSE, "{:?}", cancelled.elapsed());
    assert!((2..12).contains(&removed) && removed % 2 == 0, "{removed}");
    assert_eq!(keys(&app).await.len() as u64, 12 - removed);
    // One that is told to stop before it begins removes nothing.
    assert_eq!(clean_up(&app.app, 2, &stop).await.unwrap(), [Cleaned { org_id: finite.id, keys: 0 }]);
    assert_eq!(keys(&app).await.len() as u64, 12 - removed);
}
