//! What comes late: decisions after the deadline, findings after somebody else settled, answers after the key's time.

use crate::support::app::{TestApp, new_org, order_body};
use crate::support::payments::{open_case, paid_body, start, use_gateway};
use crate::support::scripted_http::{ScriptedHttp, Step};
use crate::support::work::{work, work_until};
use futures_util::future::join_all;
use ichido::app::charge::send::Heard;
use ichido::app::charge::settle::{Finding, settle_charge};
use ichido::app::clean_up::clean_up;
use ichido::db::operations::OperationId;
use ichido::db::orgs::NewOrg;
use ichido::domain::ids::OrderId;
use ichido::domain::payment::ChargeFact;
use reqwest::Method;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

fn decision(decision: &str) -> Value {
    json!({ "decision": decision, "reason": "looked at the dashboard" })
}

async fn execute(app: &TestApp, sql: &str) {
    assert!(app.sql().await.execute(sql, &[]).await.unwrap() > 0, "{sql}");
}

async fn only_case(app: &TestApp) -> Value {
    let cases = app.get("/v1/reconciliation-cases?state=open", "/v1/reconciliation-cases").await.json();
    assert_eq!(cases["data"].as_array().unwrap().len(), 1, "{cases}");
    cases["data"][0].clone()
}

/// A finding of a process whose lease is somebody else's by now.
pub(super) async fn late(app: &TestApp, order_id: &str, attempt: i32, fact: ChargeFact) {
    let finding = Finding {
        id: OperationId::charge(app.org.id, OrderId::parse(order_id).unwrap(), attempt),
        token: Some(uuid::Uuid::new_v4()),
        heard: Heard { fact, outcome: "late", retry_after: None },
        asked: false,
        actor: "request".to_owned(),
        request_id: uuid::Uuid::now_v7(),
    };
    assert!(settle_charge(&app.app, &finding).await.unwrap().reply.is_none(), "the first answer stands");
}

#[tokio::test]
async fn after_its_deadline_a_charge_can_still_be_asked_for() {
    for way in ["ask_again", "continue", "start_new", "cancel"] {
        let (app, world) = start().await;
        let id = app.post("k", &paid_body("pm_sim_lost_answer")).await.id();
        execute(&app, "UPDATE operations SET deadline_at = now() - interval '1 hour', next_attempt_at = now()").await;
        work_until(&app, &id, "a case", |order| order["needs_reconciliation"] == true).await;
        let case = only_case(&app).await;
        assert_eq!(case["reason"], "exhausted");
        if way == "cancel" {
            assert_eq!(app.cancel(&id, "c").await.status, 200);
        } else {
            assert_eq!(app.decide(case["id"].as_str().unwrap(), "d", decision(way)).await.status, 200, "{way}");
        }
        work_until(&app, &id, way, |order| order["payment"]["status"] != "unknown").await;
        assert_eq!((world.charges().await, &app.order(&id).await["needs_reconciliation"]), (1, &json!(false)), "{way}");
    }
}

#[tokio::test]
async fn asking_again_only_looks_and_continuing_may_send() {
    let (app, world) = start().await;
    use_gateway(&app.app, &app.org, "http://127.0.0.1:9/stripe").await;
    let id = app.post("k", &paid_body("pm_card_visa")).await.id();
    execute(&app, "UPDATE operations SET deadline_at = now() - interval '1 hour', next_attempt_at = now()").await;
    work_until(&app, &id, "a case", |order| order["needs_reconciliation"] == true).await;
    use_gateway(&app.app, &app.org, &world.stripe()).await;
    let case = only_case(&app).await;
    assert_eq!(app.decide(case["id"].as_str().unwrap(), "d1", decision("ask_again")).await.status, 200);
    execute(&app, "UPDATE operations SET created_at = now() - interval '1 hour'").await;
    work_until(&app, &id, "a case", |order| order["needs_reconciliation"] == true).await;
    assert_eq!((world.charges().await, &only_case(&app).await["reason"]), (0, &json!("not_found")));
    let case = only_case(&app).await;
    assert_eq!(app.decide(case["id"].as_str().unwrap(), "d2", decision("continue")).await.status, 200);
    work_until(&app, &id, "paid", |order| order["status"] == "confirmed").await;
    assert_eq!(world.charges().await, 1);
}

#[tokio::test]
async fn the_same_key_pays_once_however_many_come_at_once() {
    let (app, world) = start().await;
    let declined = app.post("k1", &paid_body("pm_card_chargeDeclined")).await;
    let id = declined.json()["order_id"].as_str().unwrap().to_owned();
    let answers = join_all((0..20).map(|_| app.pay(&id, "k2", "pm_sim_slow_200"))).await;
    for answer in &answers {
        let in_flight = answer.status == 409 && answer.code() == "request_in_flight";
        assert!(matches!(answer.status, 200 | 201) || in_flight, "{} {}", answer.status, answer.json());
    }
    assert_eq!(answers.iter().filter(|answer| answer.status == 201).count(), 1);
    assert_eq!(world.count("charge", &id).await, 1);
    // Another key on another endpoint, and the same key: the key's own request comes first.
    assert_eq!(app.cancel("01890000-0000-7000-8000-000000000000", "k2").await.code(), "idempotency_key_reused");
}

#[tokio::test]
async fn two_keys_pay_an_order_once() {
    let (app, world) = start().await;
    let id = app.post("k", &order_body()).await.id();
    let keys: Vec<_> = (0..10).map(|n| format!("k{n}")).collect();
    let answers = join_all(keys.iter().map(|key| app.pay(&id, key, "pm_sim_slow_200"))).await;
    let of = |status: u16| answers.iter().filter(|answer| answer.status == status).count();
    assert_eq!((of(201), of(409)), (1, 9));
    assert!(answers.iter().filter(|answer| answer.status == 409).all(|answer| answer.code() == "payment_not_possible"));
    assert_eq!(world.count("charge", &id).await, 1);
}

#[tokio::test]
async fn a_late_success_counts_and_a_second_one_goes_to_a_person() {
    let (app, world) = start().await;
    let declined = app.post("k1", &paid_body("pm_card_chargeDeclined")).await;
    let id = declined.json()["order_id"].as_str().unwrap().to_owned();
    let paid = app.pay(&id, "k2", "pm_card_visa").await;
    assert_eq!(paid.status, 201);
    late(&app, &id, 1, ChargeFact::Succeeded { reference: Some("pi_late".to_owned()) }).await;
    let order = app.order(&id).await;
    assert_eq!((&order["status"], &order["needs_reconciliation"]), (&json!("confirmed"), &json!(true)));
    let case = only_case(&app).await;
    assert_eq!(case["reason"], "second_success");
    // A person gives the second one back; here the gateway does not know it, so another case is opened for the refund.
    assert_eq!(app.decide(case["id"].as_str().unwrap(), "d", decision("continue")).await.status, 200);
    work_until(&app, &id, "a refund's case", |order| order["needs_reconciliation"] == true).await;
    assert_eq!(only_case(&app).await["kind"], "refund");
    // A cancellation gives back what is left.
    app.cancel(&id, "c").await;
    work(&app).await;
    assert_eq!((world.count("charge", &id).await, world.count("refund", &id).await), (1, 1));
    assert_eq!(app.post("k1", &paid_body("pm_card_chargeDeclined")).await.body, declined.body);
}

#[tokio::test]
async fn a_late_finding_changes_nothing_and_is_not_thrown_away() {
    let (app, _world) = start().await;
    let declined = app.post("k1", &paid_body("pm_card_chargeDeclined")).await;
    let id = declined.json()["order_id"].as_str().unwrap().to_owned();
    late(&app, &id, 1, ChargeFact::NoAnswer).await;
    assert_eq!(app.order(&id).await["needs_reconciliation"], false);
    late(&app, &id, 1, ChargeFact::Processing { reference: "pi_late".to_owned() }).await;
    let order = app.order(&id).await;
    assert_eq!((&order["status"], &order["needs_reconciliation"]), (&json!("payment_failed"), &json!(true)));
    let case = only_case(&app).await;
    assert_eq!(
        (&case["reason"], &case["evidence"]["theirs"]["gateway_reference"]),
        (&json!("late_finding"), &json!("pi_late"))
    );
    let noted = "SELECT count(*) FROM journal WHERE what = 'late_finding'";
    assert_eq!(app.sql().await.query_one(noted, &[]).await.unwrap().get::<_, i64>(0), 2);
    assert_eq!(app.decide(case["id"].as_str().unwrap(), "d", decision("dismiss")).await.status, 200);
    assert_eq!(app.order(&id).await["needs_reconciliation"], false);
}

#[tokio::test]
async fn a_payment_that_the_gateway_once_knew_does_not_end_by_being_unknown() {
    let (app, _world) = start().await;
    let id = app.post("k", &paid_body("pm_sim_processing")).await.id();
    execute(&app, "UPDATE payments SET gateway_reference = 'pi_gone'").await;
    app.cancel(&id, "c").await;
    work_until(&app, &id, "a case", |order| order["needs_reconciliation"] == true).await;
    assert_eq!(
        (&only_case(&app).await["reason"], &app.order(&id).await["status"]),
        (&json!("not_found"), &json!("received"))
    );
}

#[tokio::test]
async fn a_key_that_was_answered_late_is_kept_for_a_retry() {
    let (app, world) = start().await;
    let org = app.org(NewOrg { keys_kept_for_seconds: Some(86_400), ..new_org() }).await;
    use_gateway(&app.app, &org, &world.stripe()).await;
    let body = paid_body("pm_sim_lost_answer");
    assert_eq!(app.post_as(&org.token, "k", &body).await.status, 202);
    execute(&app, "UPDATE idempotency_keys SET expires_at = now() - interval '1 hour'").await;
    execute(&app, "UPDATE operations SET next_attempt_at = now()").await;
    work(&app).await;
    clean_up(&app.app, 100, &CancellationToken::new()).await.unwrap();
    assert_eq!((app.post_as(&org.token, "k", &body).await.status, world.charges().await), (200, 1));
}

#[tokio::test]
async fn our_own_credentials_refused_is_no_declined_card() {
    let (app, world) = start().await;
    let refused =
        || Step::json(401, &json!({ "error": { "type": "invalid_request_error", "message": "Invalid API Key" } }));
    let gateway = ScriptedHttp::start([refused()]).await;
    use_gateway(&app.app, &app.org, &gateway.base).await;
    let first = app.post("k", &paid_body("pm_card_visa")).await;
    assert_eq!((first.status, &first.json()["payment"]["status"]), (202, &json!("processing")));
    use_gateway(&app.app, &app.org, &world.stripe()).await;
    work_until(&app, &first.id(), "paid", |order| order["status"] == "confirmed").await;
    assert_eq!(world.charges().await, 1);
}

#[tokio::test]
async fn a_proof_that_names_another_payment_is_refused() {
    let (app, _world) = start().await;
    let paid = app.post("k1", &paid_body("pm_card_visa")).await.json();
    let id = app.post("k2", &order_body()).await.id();
    let case_id = open_case(&app.sql().await, &app.org, &id).await;
    let done = |proof: &Value| json!({ "decision": "mark_done", "reason": "seen", "proof": proof });
    let wrong = app.decide(&case_id, "d", done(&paid["payment"]["gateway_reference"])).await;
    assert_eq!((wrong.status, &wrong.json()["errors"][0]["pointer"]), (400, &json!("/proof")));
    assert_eq!(app.decide(&case_id, "d", done(&json!("a letter of the bank"))).await.status, 200);
    assert_eq!(app.order(&id).await["payment"]["gateway_reference"], json!(null));
}

#[tokio::test]
async fn one_version_has_one_representation() {
    let (app, _world) = start().await;
    let id = app.post("k", &paid_body("pm_sim_lost_answer")).await.id();
    let mut seen: Vec<(String, Vec<u8>)> = Vec::new();
    let mut look = async || {
        let request = app.request(Method::GET, &format!("/v1/orders/{id}")).bearer_auth(&app.org.token);
        let answer = app.send(request, "/v1/orders/{order_id}").await;
        let list = app.get("/v1/orders", "/v1/orders").await.json()["data"][0].clone();
        assert_eq!(answer.json(), list);
        seen.push((answer.header("ETag").unwrap().to_owned(), answer.body));
    };
    look().await;
    work_until(&app, &id, "paid", |order| order["status"] == "confirmed").await;
    look().await;
    app.cancel(&id, "c").await;
    look().await;
    work_until(&app, &id, "refunded", |order| order["payment"]["status"] == "refunded").await;
    look().await;
    for (n, (tag, body)) in seen.iter().enumerate() {
        for (other_tag, other_body) in &seen[n + 1..] {
            assert_eq!(tag == other_tag, body == other_body);
            assert_ne!(tag, other_tag, "each of these moments has another representation");
        }
    }
}

#[tokio::test]
async fn a_cancellation_is_carried_out_whatever_the_open_attempt_comes_to() {
    let (app, world) = start().await;
    let declined = app.post("k1", &paid_body("pm_card_chargeDeclined")).await;
    let id = declined.json()["order_id"].as_str().unwrap().to_owned();
    // A second attempt is under way when the first one turns out to be paid after all.
    assert_eq!(app.pay(&id, "k2", "pm_sim_processing").await.status, 202);
    let first = app.post("other", &paid_body("pm_card_visa")).await.json();
    execute(&app, "UPDATE payments SET gateway_reference = NULL WHERE state <> 'processing'").await;
    let reference = first["payment"]["gateway_reference"].as_str().unwrap().to_owned();
    late(&app, &id, 1, ChargeFact::Succeeded { reference: Some(reference) }).await;
    assert_eq!(
        app.order(&id).await["payment"],
        json!({
            "status": "succeeded", "gateway": "stripe", "gateway_reference": first["payment"]["gateway_reference"], "attempt": 1
        })
    );
    assert_eq!(app.cancel(&id, "c").await.json()["status"], "confirmed");
    let order = work_until(&app, &id, "cancelled", |order| order["payment"]["status"] == "refunded").await;
    assert_eq!((&order["status"], &order["amount_refunded"]), (&json!("cancelled"), &order["amount"]));
    assert_eq!(world.count("charge", &id).await, 0, "the second attempt was ended");
}

#[tokio::test]
async fn a_charge_is_never_sent_to_another_gateway_than_before() {
    let (app, world) = start().await;
    let id = app.post("k", &paid_body("pm_sim_lost_answer")).await.id();
    let other = crate::support::payments::World::start();
    use_gateway(&app.app, &app.org, &other.stripe()).await;
    execute(
        &app,
        "UPDATE operations SET first_sent_at = now() - interval '1 hour', last_sent_at = now() - interval '1 hour'",
    )
    .await;
    work_until(&app, &id, "a case", |order| order["needs_reconciliation"] == true).await;
    assert_eq!((world.charges().await, other.charges().await), (1, 0));
    assert_eq!(only_case(&app).await["reason"], "outcome_unknown");
    // Nor is it given up because the other one knows nothing of it.
    app.cancel(&id, "c").await;
    for _ in 0..3 {
        work(&app).await;
    }
    assert_eq!(app.order(&id).await["status"], "received");
    use_gateway(&app.app, &app.org, &world.stripe()).await;
    work_until(&app, &id, "refunded", |order| order["payment"]["status"] == "refunded").await;
    assert_eq!((world.count("charge", &id).await, world.count("refund", &id).await), (1, 1));
}
