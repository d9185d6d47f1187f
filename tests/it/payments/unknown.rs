//! Answers that never come: asked for, settled, and shown to a person only when nobody can know.

use crate::support::payments::{LEASE, World, paid_body, start};
use crate::support::wait::until;
use crate::support::work::{work, work_until};
use serde_json::json;
use std::time::{Duration, Instant};

#[tokio::test]
async fn a_lost_answer_is_202_and_then_the_order_charged_once() {
    let (app, world) = start().await;
    for method in ["pm_sim_lost_answer", "pm_sim_lost_request"] {
        let first = app.post(method, &paid_body(method)).await;
        assert_eq!((first.status, &first.json()["payment"]["status"]), (202, &json!("unknown")), "{method}");
        assert!(first.header("Retry-After").unwrap().parse::<u64>().unwrap() >= 1);
        assert_eq!(first.header("Idempotent-Replayed"), None);
        let retry = app.post(method, &paid_body(method)).await;
        assert!(matches!(retry.status, 200 | 202), "nobody holds the lease, so never 409: {}", retry.status);
        let order = work_until(&app, &first.id(), "paid", |order| order["status"] == "confirmed").await;
        assert_eq!(order["payment"]["status"], "succeeded");
        let settled = app.post(method, &paid_body(method)).await;
        assert_eq!((settled.status, settled.header("Idempotent-Original-Status")), (200, Some("201")));
        assert_eq!(world.count("charge", &first.id()).await, 1, "{method}");
    }
}

#[tokio::test]
async fn a_clients_retry_alone_settles_what_is_due() {
    let (app, world) = start().await;
    let first = app.post("k", &paid_body("pm_sim_lost_answer")).await;
    assert_eq!(first.status, 202);
    tokio::time::sleep(Duration::from_millis(350)).await;
    let retry = app.post("k", &paid_body("pm_sim_lost_answer")).await;
    assert_eq!((retry.status, &retry.json()["status"]), (200, &json!("confirmed")));
    assert_eq!(world.charges().await, 1);
}

#[tokio::test]
async fn server_errors_and_a_key_in_use_are_unknown_and_never_failed() {
    let (app, world) = start().await;
    for method in ["pm_sim_error_500_then_ok", "pm_sim_conflict_409"] {
        let first = app.post(method, &paid_body(method)).await;
        assert!(matches!(first.status, 201 | 202), "{method}: {}", first.status);
        let id = first.id();
        work_until(&app, &id, "paid", |order| order["status"] == "confirmed").await;
        assert_eq!(world.count("charge", &id).await, 1, "{method}");
    }
}

#[tokio::test]
async fn a_gateway_slower_than_its_timeout_and_the_lease_is_asked_under_the_same_key() {
    let (app, world) = start().await;
    for method in ["pm_sim_slow_1000", "pm_sim_slow_3500"] {
        let first = app.post(method, &paid_body(method)).await;
        assert_eq!(first.status, 202, "{method}");
        work_until(&app, &first.id(), "paid", |order| order["status"] == "confirmed").await;
        assert_eq!(app.post(method, &paid_body(method)).await.status, 200);
        assert_eq!(world.count("charge", &first.id()).await, 1, "{method}");
    }
}

#[tokio::test]
async fn a_payment_that_is_processing_is_202_until_the_gateway_has_decided() {
    let (app, world) = start().await;
    let first = app.post("k", &paid_body("pm_sim_processing")).await;
    assert_eq!((first.status, &first.json()["payment"]["status"]), (202, &json!("processing")));
    let reference = first.json()["payment"]["gateway_reference"].as_str().unwrap().to_owned();
    for _ in 0..3 {
        tokio::time::sleep(Duration::from_millis(350)).await;
        work(&app).await;
    }
    assert_eq!(app.post("k", &paid_body("pm_sim_processing")).await.status, 202);
    world.settle(&reference, "succeeded").await;
    work_until(&app, &first.id(), "paid", |order| order["status"] == "confirmed").await;
    assert_eq!(app.post("k", &paid_body("pm_sim_processing")).await.status, 200);
}

#[tokio::test]
async fn a_gateway_that_cannot_be_reached_is_tried_again_and_nothing_was_sent() {
    let (app, world) = start().await;
    crate::support::payments::use_gateway(&app.app, &app.org, "http://127.0.0.1:9/stripe").await;
    let first = app.post("k", &paid_body("pm_card_visa")).await;
    assert_eq!((first.status, &first.json()["payment"]["status"]), (202, &json!("processing")));
    let sql = app.sql().await;
    let sent = "SELECT first_sent_at IS NOT NULL, state FROM operations";
    let row = sql.query_one(sent, &[]).await.unwrap();
    assert_eq!((row.get::<_, bool>(0), row.get::<_, &str>(1)), (false, "retry_at"));
    crate::support::payments::use_gateway(&app.app, &app.org, &world.stripe()).await;
    work_until(&app, &first.id(), "paid", |order| order["status"] == "confirmed").await;
    assert_eq!(world.charges().await, 1);
}

#[tokio::test]
async fn what_nobody_can_know_becomes_a_case_and_a_late_answer_closes_it() {
    let (app, world) = start().await;
    let first = app.post("k", &paid_body("pm_sim_lost_answer")).await;
    assert_eq!(first.status, 202);
    crate::support::payments::use_gateway(&app.app, &app.org, "http://127.0.0.1:9/stripe").await;
    let order = work_until(&app, &first.id(), "a case", |order| order["needs_reconciliation"] == true).await;
    assert_eq!((&order["payment"]["status"], &order["status"]), (&json!("unknown"), &json!("received")));
    let retry = app.post("k", &paid_body("pm_sim_lost_answer")).await;
    assert_eq!((retry.status, retry.header("Retry-After")), (202, Some("60")));
    let cases = app.get("/v1/reconciliation-cases?state=open", "/v1/reconciliation-cases").await.json();
    let case = &cases["data"][0];
    assert_eq!((&case["order_id"], &case["reason"]), (&json!(first.id()), &json!("outcome_unknown")));
    assert_eq!((&case["evidence"]["ours"]["asked"], &case["owner"]), (&json!(3), &json!("payments")));
    crate::support::payments::use_gateway(&app.app, &app.org, &world.stripe()).await;
    let decided =
        app.decide(case["id"].as_str().unwrap(), "d", json!({ "decision": "ask_again", "reason": "it is back" })).await;
    assert_eq!((decided.status, &decided.json()["state"]), (200, &json!("resolved")));
    let order = work_until(&app, &first.id(), "paid", |order| order["status"] == "confirmed").await;
    assert_eq!(order["needs_reconciliation"], false);
    assert_eq!(world.charges().await, 1);
}

#[tokio::test]
async fn a_claim_whose_holder_died_is_409_within_its_lease_and_settled_after_it() {
    let (app, world) = start().await;
    // The holder's process is gone: its charge was claimed and never sent.
    let first = app.post("k", &paid_body("pm_sim_lost_request")).await;
    let sql = app.sql().await;
    let leased = "UPDATE operations SET state = 'leased', lease_token = gen_random_uuid(), next_attempt_at = NULL,
        lease_until = now() + interval '1500 milliseconds'";
    assert_eq!(sql.execute(leased, &[]).await.unwrap(), 1);
    let retry = async || app.post("k", &paid_body("pm_sim_lost_request")).await;
    let within = retry().await;
    assert_eq!((within.status, within.header("Retry-After")), (409, Some("1")));
    work(&app).await;
    assert_eq!((retry().await.status, world.charges().await), (409, 0));
    tokio::time::sleep(Duration::from_millis(1_550)).await;
    let after = retry().await;
    assert_eq!((after.status, after.id()), (200, first.id()));
    assert_eq!(world.charges().await, 1);
    assert!(LEASE > Duration::from_millis(1_500));
}

#[tokio::test]
async fn exhausted_effects_starve_nobody() {
    let (app, world) = start().await;
    let first = app.post("k", &paid_body("pm_sim_lost_answer")).await;
    let sql = app.sql().await;
    let many = "INSERT INTO operations (org_id, order_id, kind, fact, state, operation_key, deadline_at, created_at, updated_at)
        SELECT org_id, order_id, 'charge', 'old-' || n, 'needs_reconciliation', 'old-' || n, now(), now(), now()
        FROM operations, generate_series(1, 1000) n";
    assert_eq!(sql.execute(many, &[]).await.unwrap(), 1_000);
    let began = Instant::now();
    work_until(&app, &first.id(), "paid", |order| order["status"] == "confirmed").await;
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    assert_eq!(world.charges().await, 1);
}

#[tokio::test]
async fn an_effect_over_which_processes_die_goes_to_a_person() {
    let (app, world) = start().await;
    let first = app.post("k", &paid_body("pm_sim_lost_request")).await;
    let worn_out = "UPDATE operations SET attempts = 100, state = 'leased', lease_token = gen_random_uuid(),
        next_attempt_at = NULL, lease_until = now()";
    assert_eq!(app.sql().await.execute(worn_out, &[]).await.unwrap(), 1);
    work_until(&app, &first.id(), "a case", |order| order["needs_reconciliation"] == true).await;
    let cases = app.get("/v1/reconciliation-cases?reason=exhausted", "/v1/reconciliation-cases").await.json();
    assert_eq!(cases["data"].as_array().unwrap().len(), 1);
    assert_eq!(world.charges().await, 0, "nobody was asked");
}

#[tokio::test]
async fn a_key_that_the_gateway_has_forgotten_is_never_sent_again() {
    let (app, world) = start().await;
    let first = app.post("k", &paid_body("pm_sim_lost_request")).await;
    let old =
        "UPDATE operations SET first_sent_at = now() - interval '23 hours', last_sent_at = now() - interval '23 hours',
        next_attempt_at = now()";
    assert_eq!(app.sql().await.execute(old, &[]).await.unwrap(), 1);
    work_until(&app, &first.id(), "a case", |order| order["needs_reconciliation"] == true).await;
    let case = app.get("/v1/reconciliation-cases", "/v1/reconciliation-cases").await.json()["data"][0].clone();
    assert_eq!(case["reason"], "not_found");
    assert_eq!(world.charges().await, 0);
    let reason = json!({ "decision": "start_new", "reason": "the gateway does not know it" });
    assert_eq!(app.decide(case["id"].as_str().unwrap(), "d", reason).await.status, 200);
    work_until(&app, &first.id(), "given up", |order| order["status"] == "payment_failed").await;
    assert_eq!(app.post("k", &paid_body("pm_sim_lost_request")).await.status, 402);
    let paid = app.pay(&first.id(), "k2", "pm_card_visa").await;
    assert_eq!((paid.status, world.charges().await), (201, 1));
}

#[tokio::test]
async fn a_worker_settles_without_anybodys_retry() {
    let (app, world) = start().await;
    let stop = tokio_util::sync::CancellationToken::new();
    let worker = tokio::spawn(ichido::worker::run(app.app.clone(), stop.clone()));
    let id = app.post("k", &paid_body("pm_sim_lost_answer")).await.id();
    until("paid", Duration::from_secs(6), || async { app.order(&id).await["status"] == "confirmed" }).await;
    stop.cancel();
    worker.await.unwrap();
    assert_eq!(count(&world, &id).await, 1);
}

async fn count(world: &World, id: &str) -> u64 {
    world.count("charge", id).await
}
