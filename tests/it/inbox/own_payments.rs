//! Notifications about payments that we make ourselves: before, during and after our own call.

use crate::inbox::endpoint::{
    Endpoint, SECRET, cases, count, event, event_at, now, of_attempt, outcome, outcomes, settled,
};
use crate::support::app::TestApp;
use crate::support::payments::{World, paid_body, start, use_gateway};
use crate::support::wait::until;
use crate::support::work::work_until;
use ichido::sim;
use secrecy::SecretString;
use serde_json::{Value, json};
use std::time::Duration;

/// A service, and a world that tells it what happens.
async fn told_by_the_world() -> (TestApp, World, Endpoint) {
    let app = TestApp::start().await;
    let endpoint = Endpoint::of(&app).await;
    let world = World::start_with(sim::Options {
        webhook_url: Some(format!("{}{}", app.base, endpoint.path())),
        webhook_secret: Some(SecretString::from(SECRET)),
        ..sim::Options::default()
    });
    use_gateway(&app.app, &app.org, &world.stripe()).await;
    (app, world, endpoint)
}

async fn receipts_of(app: &TestApp, kind: &str) -> i64 {
    count(app, &format!("SELECT count(*) FROM receipts WHERE type = '{kind}'")).await
}

async fn came(app: &TestApp, kind: &str) {
    until(kind, Duration::from_secs(20), || async { receipts_of(app, kind).await > 0 }).await;
    settled(app).await;
}

#[tokio::test]
async fn what_we_did_ourselves_is_told_and_changes_nothing() {
    let (app, world, endpoint) = told_by_the_world().await;
    let paid = app.post("k", &paid_body("pm_card_visa")).await;
    assert_eq!(paid.status, 201);
    came(&app, "payment_intent.succeeded").await;
    came(&app, "charge.succeeded").await;
    let order = app.order(&paid.id()).await;
    assert_eq!((&order["status"], world.count("charge", &paid.id()).await), (&json!("confirmed"), 1));
    assert_eq!(outcomes(&app).await.len(), 1);
    let receipt = app.get("/v1/receipts?type=charge.succeeded", "/v1/receipts").await.json()["data"][0].clone();
    assert_eq!(receipt["order_id"], order["id"]);
    // On demand, many times, under one id and under others.
    let notify = json!({ "type": "payment_intent.succeeded", "payment_intent": order["payment"]["gateway_reference"],
        "copies": 10, "at_once": true });
    let answer = reqwest::Client::new().post(format!("{}/control/webhooks", world.base)).json(&notify).send().await;
    let deliveries = answer.unwrap().json::<Value>().await.unwrap()["deliveries"].as_array().unwrap().clone();
    assert!(deliveries.iter().all(|delivery| delivery["status"] == 200), "{deliveries:?}");
    settled(&app).await;
    assert_eq!(outcomes(&app).await.len(), 1);
    assert_eq!((app.order(&paid.id()).await, cases(&app).await.len()), (order, 0));
    drop(endpoint);
}

#[tokio::test]
async fn the_notification_comes_while_our_call_waits() {
    let (app, world) = start().await;
    let endpoint = Endpoint::of(&app).await;
    // Our own call takes longer than the notification.
    let body = paid_body("pm_sim_slow_600");
    let call = app.post("k", &body);
    let tell = async {
        until("the order is there", Duration::from_secs(10), || async {
            count(&app, "SELECT count(*) FROM payments").await == 1
        })
        .await;
        let id: uuid::Uuid = app.sql().await.query_one("SELECT order_id FROM orders", &[]).await.unwrap().get(0);
        let object = of_attempt("pi_early", &id.to_string(), 2400, 1);
        endpoint.tell_and_apply(&app, &event("payment_intent.succeeded", &object)).await;
        (id.to_string(), app.order(&id.to_string()).await)
    };
    let (answer, (id, order)) = tokio::join!(call, tell);
    assert_eq!(order["status"], "confirmed");
    // Whoever settled it: this request made the order, and nothing is replayed.
    assert_eq!((answer.status, answer.header("Idempotent-Replayed")), (201, None), "{}", answer.json());
    assert_eq!(answer.json()["status"], "confirmed");
    assert_eq!(
        (world.count("charge", &id).await, outcome(&app, "pi:pi_early:succeeded").await),
        (1, "applied".to_owned())
    );
    assert_eq!(app.post("k", &body).await.status, 200);
}

#[tokio::test]
async fn a_lost_answer_is_settled_by_the_notification() {
    let (app, world, _endpoint) = told_by_the_world().await;
    let first = app.post("k", &paid_body("pm_sim_lost_answer")).await;
    came(&app, "payment_intent.succeeded").await;
    until("paid", Duration::from_secs(10), || async { app.order(&first.id()).await["status"] == "confirmed" }).await;
    let replay = app.post("k", &paid_body("pm_sim_lost_answer")).await;
    assert_eq!((replay.status, world.count("charge", &first.id()).await), (200, 1));
}

#[tokio::test]
async fn what_takes_days_is_told_in_the_end() {
    for (outcome, status) in [("succeeded", "confirmed"), ("failed", "payment_failed")] {
        let (app, world, _endpoint) = told_by_the_world().await;
        let first = app.post("k", &paid_body("pm_sim_processing")).await;
        assert_eq!(first.status, 202);
        came(&app, "payment_intent.processing").await;
        let reference = app.order(&first.id()).await["payment"]["gateway_reference"].as_str().unwrap().to_owned();
        world.settle(&reference, outcome).await;
        until(status, Duration::from_secs(10), || async { app.order(&first.id()).await["status"] == status }).await;
        let replay = app.post("k", &paid_body("pm_sim_processing")).await;
        assert_eq!(replay.status, if outcome == "succeeded" { 200 } else { 402 });
    }
}

#[tokio::test]
async fn a_failed_first_attempt_and_a_paid_second_one_are_confirmed_both_ways() {
    for late in [false, true] {
        let (app, _world) = start().await;
        let endpoint = Endpoint::of(&app).await;
        let declined = app.post("k1", &paid_body("pm_card_chargeDeclined")).await;
        let id = declined.json()["order_id"].as_str().unwrap().to_owned();
        let first = app.order(&id).await["payment"]["gateway_reference"].as_str().unwrap().to_owned();
        assert_eq!(app.pay(&id, "k2", "pm_card_visa").await.status, 201);
        let second = app.order(&id).await["payment"]["gateway_reference"].as_str().unwrap().to_owned();
        let failed = event("payment_intent.payment_failed", &of_attempt(&first, &id, 2400, 1));
        let paid = event("payment_intent.succeeded", &of_attempt(&second, &id, 2400, 2));
        let told = if late { [&paid, &failed] } else { [&failed, &paid] };
        for event in told {
            endpoint.tell_and_apply(&app, event).await;
        }
        let order = app.order(&id).await;
        assert_eq!((&order["status"], &order["needs_reconciliation"]), (&json!("confirmed"), &json!(false)), "{late}");
        assert_eq!(outcomes(&app).await.iter().filter(|(_, outcome)| outcome == "same_fact").count(), 2);
    }
}

#[tokio::test]
async fn a_failure_of_a_paid_attempt_is_stale_when_older_and_a_case_when_newer() {
    let (app, _world) = start().await;
    let began = now();
    let endpoint = Endpoint::of(&app).await;
    let paid = app.post("k", &paid_body("pm_card_visa")).await.json();
    let (id, reference) = (paid["id"].as_str().unwrap(), paid["payment"]["gateway_reference"].as_str().unwrap());
    let mut object = of_attempt(reference, id, 2400, 1);
    endpoint.tell_and_apply(&app, &event_at("payment_intent.succeeded", &object, began - 100)).await;
    for (charge, at, expected) in
        [("ch_old", began - 200, "stale"), ("ch_same", began - 100, "stale"), ("ch_new", began, "conflict")]
    {
        object["last_payment_error"] = json!({ "charge": charge, "code": "card_declined" });
        endpoint.tell_and_apply(&app, &event_at("payment_intent.payment_failed", &object, at)).await;
        assert_eq!(outcome(&app, &format!("pi:{reference}:failed:{charge}")).await, expected);
        assert_eq!(app.order(id).await["status"], "confirmed");
    }
    assert_eq!(cases(&app).await.len(), 1);
}

#[tokio::test]
async fn a_failure_that_is_told_while_nobody_knows_settles_the_attempt() {
    let (app, _world) = start().await;
    let endpoint = Endpoint::of(&app).await;
    let first = app.post("k", &paid_body("pm_sim_processing")).await;
    let order = app.order(&first.id()).await;
    let object = of_attempt(order["payment"]["gateway_reference"].as_str().unwrap(), &first.id(), 2400, 1);
    endpoint.tell_and_apply(&app, &event("payment_intent.canceled", &object)).await;
    let replay = app.post("k", &paid_body("pm_sim_processing")).await;
    assert_eq!((replay.status, app.order(&first.id()).await["status"].as_str()), (402, Some("payment_failed")));
    // The money came after all: that counts.
    endpoint.tell_and_apply(&app, &event("payment_intent.succeeded", &object)).await;
    assert_eq!(app.order(&first.id()).await["status"], "confirmed");
}

/// A person said that it was paid, and could not say by which payment.
#[tokio::test]
async fn the_name_of_a_payment_is_learnt_from_what_is_the_same_otherwise() {
    let (app, _world) = start().await;
    let endpoint = Endpoint::of(&app).await;
    let paid = app.post("k", &paid_body("pm_card_visa")).await.json();
    let id = paid["id"].as_str().unwrap();
    app.sql().await.execute("UPDATE payments SET gateway_reference = NULL", &[]).await.unwrap();
    let refund = crate::inbox::endpoint::refund("re_1", "pi_learnt", 400, "succeeded");
    assert_eq!(endpoint.tell(&app, &event("refund.created", &refund)).await, "parked");
    endpoint.tell_and_apply(&app, &event("payment_intent.succeeded", &of_attempt("pi_learnt", id, 2400, 1))).await;
    until("both are applied", Duration::from_secs(10), || async { app.order(id).await["amount_refunded"] == 400 })
        .await;
    assert_eq!(app.order(id).await["payment"]["gateway_reference"], "pi_learnt");
}

#[tokio::test]
async fn our_own_refund_is_told_by_its_key_and_counted_once() {
    for early in [true, false] {
        let (app, world, endpoint) = told_by_the_world().await;
        let id = app.post("k", &paid_body("pm_card_visa")).await.id();
        came(&app, "charge.succeeded").await;
        assert_eq!(app.cancel(&id, "c").await.status, 200);
        if early {
            // Told before our own call knows: by key, and by the charge's sum.
            let query = "SELECT operation_key FROM operations WHERE kind = 'refund'";
            let key: String = app.sql().await.query_one(query, &[]).await.unwrap().get(0);
            let payment = app.order(&id).await["payment"]["gateway_reference"].as_str().unwrap().to_owned();
            let mut refund = crate::inbox::endpoint::refund("re_early", &payment, 2400, "succeeded");
            refund["metadata"] = json!({ "ichido_order_id": id, "ichido_refund_key": key });
            let total = crate::inbox::endpoint::charge("ch_1", &payment, 2400, 2400);
            endpoint.tell_and_apply(&app, &event("charge.refunded", &total)).await;
            endpoint.tell_and_apply(&app, &event("refund.created", &refund)).await;
        }
        let order = work_until(&app, &id, "refunded", |order| order["payment"]["status"] == "refunded").await;
        assert_eq!((&order["status"], &order["amount_refunded"]), (&json!("cancelled"), &json!(2400)));
        let state = "SELECT count(*) FROM operations WHERE kind = 'refund' AND state = 'done'";
        until("the refund is done", Duration::from_secs(10), || async {
            crate::support::work::work(&app).await;
            count(&app, state).await == 1
        })
        .await;
        if !early {
            came(&app, "charge.refunded").await;
            assert_eq!(world.count("refund", &id).await, 1);
        }
        let order = app.order(&id).await;
        assert_eq!(
            (&order["amount_refunded"], &order["needs_reconciliation"]),
            (&json!(2400), &json!(false)),
            "{early}"
        );
    }
}
