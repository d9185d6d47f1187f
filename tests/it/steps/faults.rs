//! Partners who lose, fail, forget and cannot tell.

use super::{body_with, policy, set, settle_steps, state, with_all_steps};
use crate::support::app::TestApp;
use crate::support::payments::{World, paid_body, start};
use crate::support::work::{work, work_until};
use ichido::app::recover_due::Recovery;
use ichido::domain::step::StepKind;
use serde_json::{Value, json};

const MAIL: StepKind = StepKind::ConfirmationMail;

async fn with(honours_keys: bool, can_be_asked: bool) -> (TestApp, World) {
    let (app, world) = start().await;
    set(&app, &app.org, policy(&world, MAIL, honours_keys, can_be_asked)).await;
    (app, world)
}

async fn case(app: &TestApp) -> Value {
    let cases = app.get("/v1/reconciliation-cases?state=open", "/v1/reconciliation-cases").await.json();
    assert_eq!(cases["data"].as_array().unwrap().len(), 1, "{cases}");
    cases["data"][0].clone()
}

async fn decide(app: &TestApp, case: &Value, key: &str, decision: &str) {
    let body = json!({ "decision": decision, "reason": "asked them", "proof": "their mail" });
    assert_eq!(app.decide(case["id"].as_str().unwrap(), key, body).await.status, 200, "{decision}");
}

#[tokio::test]
async fn a_partner_who_honours_keys_is_sent_the_same_again() {
    let (app, world) = with_all_steps().await;
    for fault in ["lost_answer", "lost_request", "error_500_then_ok", "conflict_409", "slow_1000"] {
        let id = app.post(fault, &body_with(MAIL, fault)).await.id();
        let order = settle_steps(&app, &id).await;
        assert_eq!(
            (&order["status"], world.count("confirmation_mail", &id).await),
            (&json!("completed"), 1),
            "{fault}"
        );
    }
}

#[tokio::test]
async fn a_partner_who_does_not_is_asked_and_never_sent_it_twice() {
    let (app, world) = with(false, true).await;
    for fault in ["lost_answer", "slow_1000"] {
        let id = app.post(fault, &body_with(MAIL, fault)).await.id();
        let order = work_until(&app, &id, "done", |order| order["status"] == "completed").await;
        assert_eq!((state(&order, MAIL).as_str(), world.count("confirmation_mail", &id).await), ("done", 1), "{fault}");
    }
    // It says that it was not done: a person decides, and only then is it sent again.
    let id = app.post("k", &body_with(MAIL, "lost_request")).await.id();
    assert_eq!(state(&settle_steps(&app, &id).await, MAIL), "needs_reconciliation");
    let found = case(&app).await;
    assert_eq!((&found["reason"], world.count("confirmation_mail", &id).await), (&json!("not_found"), 0));
    decide(&app, &found, "d", "continue").await;
    settle_steps(&app, &id).await;
    assert_eq!(world.count("confirmation_mail", &id).await, 1);
}

#[tokio::test]
async fn a_partner_who_can_neither_is_a_matter_for_a_person() {
    let (app, world) = with(false, false).await;
    let id = app.post("k", &body_with(MAIL, "lost_answer")).await.id();
    assert_eq!(state(&settle_steps(&app, &id).await, MAIL), "needs_reconciliation");
    let found = case(&app).await;
    assert_eq!((&found["reason"], &found["owner"]), (&json!("cannot_be_asked"), &json!("warehouse")));
    for _ in 0..3 {
        work(&app).await;
    }
    assert_eq!(world.count("confirmation_mail", &id).await, 1);
    decide(&app, &found, "d", "mark_done").await;
    assert_eq!(
        (&app.order(&id).await["status"], world.count("confirmation_mail", &id).await),
        (&json!("completed"), 1)
    );
    // Where it certainly was not done, a person lets it be done anew.
    let other = app.post("k2", &body_with(MAIL, "lost_request")).await.id();
    settle_steps(&app, &other).await;
    decide(&app, &case(&app).await, "d2", "start_new").await;
    settle_steps(&app, &other).await;
    assert_eq!(world.count("confirmation_mail", &other).await, 1);
}

#[tokio::test]
async fn a_partner_who_cannot_be_reached_is_left_alone_for_a_while_and_others_are_not() {
    let (app, world) = start().await;
    let mut dead = policy(&world, MAIL, true, true);
    dead.url = "http://127.0.0.1:9/mail".to_owned();
    set(&app, &app.org, dead).await;
    set(&app, &app.org, policy(&world, StepKind::AccountingEntry, true, true)).await;
    let mut ids = Vec::new();
    for n in 0..6 {
        ids.push(app.post(&format!("k{n}"), &paid_body("pm_card_visa")).await.id());
    }
    let recovery = Recovery::new(app.app.clone());
    for _ in 0..3 {
        recovery.begin_due().await.unwrap();
        recovery.finished().await;
    }
    let due = "UPDATE operations SET next_attempt_at = now() WHERE state = 'retry_at'";
    assert_eq!(app.sql().await.execute(due, &[]).await.unwrap(), 6);
    // Its breaker is open, so nothing of it is taken up; everything else was done.
    assert_eq!(recovery.begin_due().await.unwrap(), 0);
    for id in &ids {
        assert_eq!(world.count("accounting_entry", id).await, 1);
    }
    // Another process has not met it; with the partner back, it is done.
    set(&app, &app.org, policy(&world, MAIL, true, true)).await;
    for id in &ids {
        work_until(&app, id, "done", |order| order["status"] == "completed").await;
        assert_eq!(world.count("confirmation_mail", id).await, 1);
    }
}

#[tokio::test]
async fn calls_are_signed_where_there_is_a_secret() {
    use crate::support::scripted_http::{ScriptedHttp, Step};
    use ichido::app::steps::set_policy::set_step_policy;
    use ichido::db::deadline::Deadline;
    use ichido::sim::signature::stripe_signature;
    let (app, world) = start().await;
    let partner = ScriptedHttp::start([Step::json(200, &json!({ "reference": "mail-1" }))]).await;
    let mut signed = policy(&world, MAIL, true, false);
    signed.url = format!("{}/mail?tenant=7", partner.base);
    let secret = secrecy::SecretString::from("partner secret");
    set_step_policy(&app.app, app.org.id, signed, Some(&secret), Deadline::of_request()).await.unwrap();
    let id = app.post("k", &paid_body("pm_card_visa")).await.id();
    settle_steps(&app, &id).await;
    let request = partner.sent().pop().unwrap();
    let signature = request.header("ichido-signature").unwrap().to_owned();
    let at: i64 = signature.strip_prefix("t=").unwrap().split(',').next().unwrap().parse().unwrap();
    assert_eq!(signature, stripe_signature(b"partner secret", at, request.body.as_bytes()));
    assert!(request.line.starts_with("POST /mail?tenant=7"), "{}", request.line);
    let body: Value = serde_json::from_str(&request.body).unwrap();
    assert_eq!(
        (&body["kind"], &body["order_id"], &body["currency"]),
        (&json!("confirmation_mail"), &json!(id), &json!("JPY"))
    );
    assert_eq!(body["operation_key"].as_str(), request.header("idempotency-key"));
}

#[tokio::test]
async fn a_step_that_was_sent_is_never_sent_to_another_partner() {
    let (app, world) = with(true, true).await;
    let id = app.post("k", &body_with(MAIL, "lost_answer")).await.id();
    work(&app).await;
    assert_eq!(world.count("confirmation_mail", &id).await, 1);
    let mut other = policy(&world, MAIL, true, true);
    other.url = format!("{}/partners/{}?tenant=other", world.base, MAIL.as_str());
    set(&app, &app.org, other).await;
    assert_eq!(state(&settle_steps(&app, &id).await, MAIL), "needs_reconciliation");
    assert_eq!(
        (&case(&app).await["reason"], world.count("confirmation_mail", &id).await),
        (&json!("other_partner"), 1)
    );
}

#[tokio::test]
async fn asking_again_only_tells_and_going_on_sends() {
    let (app, world) = with(true, true).await;
    let mut dead = policy(&world, MAIL, true, true);
    dead.url = "http://127.0.0.1:9/mail".to_owned();
    set(&app, &app.org, dead).await;
    let id = app.post("k", &paid_body("pm_card_visa")).await.id();
    let late = "UPDATE operations SET deadline_at = now() - interval '1 hour' WHERE fact = ''";
    assert_eq!(app.sql().await.execute(late, &[]).await.unwrap(), 1);
    assert_eq!(state(&settle_steps(&app, &id).await, MAIL), "needs_reconciliation");
    set(&app, &app.org, policy(&world, MAIL, true, true)).await;
    let found = case(&app).await;
    assert!(found["suggestion"].as_str().unwrap().starts_with("continue"), "{found}");
    decide(&app, &found, "d1", "ask_again").await;
    assert_eq!(state(&settle_steps(&app, &id).await, MAIL), "needs_reconciliation");
    assert_eq!((&case(&app).await["reason"], world.count("confirmation_mail", &id).await), (&json!("not_found"), 0));
    decide(&app, &case(&app).await, "d2", "continue").await;
    settle_steps(&app, &id).await;
    assert_eq!(
        (world.count("confirmation_mail", &id).await, &app.order(&id).await["status"]),
        (1, &json!("completed"))
    );
}

#[tokio::test]
async fn a_process_that_was_stopped_before_its_call_sends_nothing() {
    let (app, world) = with(false, false).await;
    let id = app.post("k", &paid_body("pm_card_visa")).await.id();
    // A process whose lease leaves no room for a call.
    let mut slow = app.app.clone();
    slow.payments.gateway_timeout = slow.payments.lease * 2;
    let recovery = Recovery::new(slow);
    recovery.begin_due().await.unwrap();
    recovery.finished().await;
    assert_eq!(world.count("confirmation_mail", &id).await, 0);
    let order = app.order(&id).await;
    assert_eq!(state(&order, MAIL), "retry_at");
    settle_steps(&app, &id).await;
    assert_eq!(world.count("confirmation_mail", &id).await, 1);
}
