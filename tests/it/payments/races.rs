//! The same key at the same moment, and clients that do not wait.

use super::late::late;
use crate::support::payments::{GATEWAY_TIMEOUT, LEASE, paid_body, start};
use crate::support::raw::Raw;
use crate::support::wait::until;
use futures_util::future::join_all;
use ichido::domain::payment::ChargeFact;
use serde_json::json;
use std::time::{Duration, Instant};

#[tokio::test]
async fn of_two_requests_at_once_one_works_and_one_is_told_when_to_come_back() {
    let (app, world) = start().await;
    let body = paid_body("pm_sim_slow_400");
    let (one, two) = tokio::join!(app.post("k", &body), app.post("k", &body));
    let (first, other) = if one.status == 201 { (one, two) } else { (two, one) };
    assert_eq!((first.status, other.status, other.code().as_str()), (201, 409, "request_in_flight"));
    let wait: u64 = other.header("Retry-After").unwrap().parse().unwrap();
    assert!((1..=LEASE.as_secs()).contains(&wait), "{wait}");
    assert_eq!(other.header("Location"), first.header("Location"));
    assert_eq!(app.post("k", &body).await.body, first.body);
    assert_eq!((world.charges().await, app.counts().await), (1, (1, 1)));
}

#[tokio::test]
async fn of_fifty_requests_at_once_exactly_one_is_201() {
    let (app, world) = start().await;
    let body = paid_body("pm_card_visa");
    let answers = join_all((0..50).map(|_| app.post("k", &body))).await;
    let created = answers.iter().filter(|answer| answer.status == 201).count();
    assert_eq!(created, 1);
    assert!(answers.iter().all(|answer| matches!(answer.status, 200 | 201 | 409)));
    assert_eq!((world.charges().await, app.counts().await), (1, (1, 1)));
}

#[tokio::test]
async fn whoever_prefers_to_wait_gets_the_answer_instead_of_409() {
    let (app, world) = start().await;
    let body = paid_body("pm_sim_slow_500");
    let waiting = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let request = app.request(reqwest::Method::POST, "/v1/orders").bearer_auth(&app.org.token);
        let request = request.header("Idempotency-Key", "k").header("Prefer", "respond-async, wait=10");
        app.send(request.json(&body), "/v1/orders").await
    };
    let (first, waited) = tokio::join!(app.post("k", &body), waiting);
    assert_eq!((first.status, waited.status, &waited.body), (201, 200, &first.body));
    assert_eq!(world.charges().await, 1);
}

#[tokio::test]
async fn no_transaction_is_open_and_no_connection_held_while_the_gateway_thinks() {
    let (app, _world) = start().await;
    let (sql, body) = (app.sql().await, paid_body("pm_sim_slow_500"));
    let looking = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        let query = "SELECT count(*) FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid() AND (xact_start IS NOT NULL OR state <> 'idle')";
        let open: i64 = sql.query_one(query, &[]).await.unwrap().get(0);
        (open, app.app.db.pool_status())
    };
    let (answer, (open, pool)) = tokio::join!(app.post("k", &body), looking);
    assert_eq!((answer.status, open, pool.idle), (201, 0, pool.open));
}

#[tokio::test]
async fn a_client_that_resets_its_connection_changes_nothing() {
    let (app, world) = start().await;
    let body = paid_body("pm_sim_slow_500").to_string();
    let mut raw = Raw::connect(&app.base).await;
    raw.send(format!(
        "POST /v1/orders HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\nIdempotency-Key: k\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        app.org.token,
        body.len()
    ))
    .await;
    tokio::time::sleep(Duration::from_millis(150)).await;
    drop(raw);
    let retry = async || app.post("k", &paid_body("pm_sim_slow_500")).await;
    until("the order is paid", Duration::from_secs(5), || async { retry().await.status == 200 }).await;
    assert_eq!((world.charges().await, app.counts().await), (1, (1, 1)));
}

#[tokio::test]
async fn a_key_in_flight_tells_its_lease_and_nothing_is_executed_by_looking() {
    let (app, world) = start().await;
    let body = paid_body("pm_sim_slow_500");
    let look = || app.get("/v1/idempotency-keys/k", "/v1/idempotency-keys/{idempotency_key}");
    let looking = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        look().await.json()
    };
    let (first, seen) = tokio::join!(app.post("k", &body), looking);
    assert_eq!(
        (&seen["state"], &seen["attempts"], &seen["order_id"]),
        (&json!("in_progress"), &json!(1), &json!(first.id()))
    );
    assert!(seen["lease_until"].is_string() && seen["response_status"].is_null());
    let after = look().await.json();
    assert_eq!(
        (&after["state"], &after["response_status"], &after["lease_until"]),
        (&json!("completed"), &json!(201), &json!(null))
    );
    assert_eq!(world.charges().await, 1);
}

#[tokio::test]
async fn other_orders_keep_their_pace_while_a_gateway_hangs() {
    let (app, _world) = start().await;
    let slow: Vec<_> = (0..40).map(|n| (format!("slow-{n}"), paid_body("pm_sim_slow_500"))).collect();
    let slow = join_all(slow.iter().map(|(key, body)| app.post(key, body)));
    let quick = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        let began = Instant::now();
        let answer = app.post("quick", &crate::support::app::order_body()).await;
        (answer.status, began.elapsed())
    };
    let (answers, (status, took)) = tokio::join!(slow, quick);
    assert!(answers.iter().all(|answer| answer.status == 201));
    // Four connections and forty hanging calls: it did not wait for one of them.
    assert!(status == 201 && took < GATEWAY_TIMEOUT / 2, "{status} {took:?}");
}

#[tokio::test]
async fn whoever_lost_the_lease_while_the_gateway_was_silent_is_told_that_the_order_is_recorded() {
    let (app, world) = start().await;
    let body = paid_body("pm_sim_slow_3000");
    let sql = app.sql().await;
    let taking = async {
        let taken = "UPDATE operations SET lease_token = gen_random_uuid(), lease_until = now() + interval '1 minute'";
        until("somebody takes the charge", GATEWAY_TIMEOUT, || async { sql.execute(taken, &[]).await.unwrap() == 1 })
            .await;
    };
    let (answer, ()) = tokio::join!(app.post("k", &body), taking);
    // Not 409: this request did something, and nobody may read that it did not.
    assert_eq!(answer.status, 202, "{}", answer.json());
    assert_eq!((&answer.json()["status"], app.counts().await), (&json!("received"), (1, 1)));
    assert!(answer.header("Retry-After").is_some());
    assert_eq!(world.count("charge", &answer.id()).await, 1);
}

#[tokio::test]
async fn whoever_lost_the_lease_writes_nothing() {
    let (app, _world) = start().await;
    let id = app.post("k", &paid_body("pm_sim_lost_request")).await.id();
    let sql = app.sql().await;
    let taken = "UPDATE operations SET state = 'leased', lease_token = gen_random_uuid(), next_attempt_at = NULL,
        lease_until = now() + interval '1 minute'";
    assert_eq!(sql.execute(taken, &[]).await.unwrap(), 1);
    let rows = "SELECT o::text || p::text || c::text || k::text
        FROM operations o, payments p, orders c, idempotency_keys k";
    let rows = async || sql.query_one(rows, &[]).await.unwrap().get::<_, String>(0);
    let before = rows().await;
    for fact in [
        ChargeFact::NoAnswer,
        ChargeFact::NotSent,
        ChargeFact::Processing { reference: "pi_late".to_owned() },
        ChargeFact::Declined { reference: None, code: "card_declined".to_owned() },
    ] {
        late(&app, &id, 1, fact.clone()).await;
        assert_eq!(rows().await, before, "{fact:?}");
    }
}
