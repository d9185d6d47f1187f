//! What comes before its order, and what was committed and not applied.

use crate::inbox::endpoint::{
    Endpoint, cases, charge, count, event, intent, of_attempt, outcome, outcomes, refund, rematch,
};
use crate::support::app::{TestApp, new_org, order_body};
use crate::support::payments::{paid_body, start};
use ichido::app::inbox::rematch::apply_waiting;
use serde_json::json;
use uuid::Uuid;

/// Gives an order that exists another id, as if it were created now.
async fn appears_as(app: &TestApp, id: &str, wanted: &Uuid) {
    let id = Uuid::try_parse(id).unwrap();
    for table in ["journal", "operations", "payments", "orders"] {
        let sql = format!("UPDATE {table} SET order_id = $2 WHERE order_id = $1");
        app.sql().await.execute(&sql, &[&id, wanted]).await.unwrap();
    }
}

async fn overdue(app: &TestApp) {
    let sql = "UPDATE events SET deadline = now() - interval '1 second' WHERE outcome = 'parked'";
    app.sql().await.execute(sql, &[]).await.unwrap();
}

#[tokio::test]
async fn an_event_before_its_order_is_parked_and_applied_on_creation() {
    let (app, _world) = start().await;
    let endpoint = Endpoint::of(&app).await;
    let wanted = Uuid::now_v7();
    let told = event("payment_intent.succeeded", &intent("pi_1", &wanted.to_string(), 2400));
    assert_eq!(endpoint.tell(&app, &told).await, "parked");
    assert_eq!(endpoint.tell(&app, &told).await, "parked");
    rematch(&app).await;
    assert_eq!(outcome(&app, "pi:pi_1:succeeded").await, "parked");
    let id = app.post("k", &order_body()).await.id();
    appears_as(&app, &id, &wanted).await;
    rematch(&app).await;
    let order = app.order(&wanted.to_string()).await;
    assert_eq!((&order["status"], outcome(&app, "pi:pi_1:succeeded").await.as_str()), (&json!("confirmed"), "applied"));
    let listed = app.get(&format!("/v1/events?order_id={wanted}"), "/v1/events").await.json();
    assert_eq!(listed["data"].as_array().unwrap().len(), 1);
    assert!(["already_done", "resumable"].contains(&endpoint.tell(&app, &told).await.as_str()));
}

#[tokio::test]
async fn a_payments_name_that_is_learnt_later_is_found_by_the_worker() {
    let (app, _world) = start().await;
    let endpoint = Endpoint::of(&app).await;
    let paid = app.post("k", &paid_body("pm_card_visa")).await.json();
    let reference = paid["payment"]["gateway_reference"].as_str().unwrap().to_owned();
    app.sql().await.execute("UPDATE payments SET gateway_reference = NULL", &[]).await.unwrap();
    assert_eq!(
        endpoint.tell(&app, &event("refund.created", &refund("re_1", &reference, 400, "succeeded"))).await,
        "parked"
    );
    app.sql().await.execute("UPDATE payments SET gateway_reference = $1", &[&reference]).await.unwrap();
    rematch(&app).await;
    assert_eq!(app.order(paid["id"].as_str().unwrap()).await["amount_refunded"], 400);
}

/// The charge's notification comes first and names no order; the intent's, of the same fact, does.
#[tokio::test]
async fn any_notification_of_a_fact_may_name_the_order() {
    let (app, _world) = start().await;
    let endpoint = Endpoint::of(&app).await;
    let id = app.post("k", &order_body()).await.id();
    assert_eq!(endpoint.tell(&app, &event("charge.succeeded", &charge("ch_1", "pi_1", 2400, 0))).await, "parked");
    let named = event("payment_intent.succeeded", &intent("pi_1", &id, 2400));
    assert_eq!(endpoint.tell(&app, &named).await, "resumable");
    rematch(&app).await;
    assert_eq!((app.order(&id).await["status"].as_str(), outcomes(&app).await.len()), (Some("confirmed"), 1));
}

#[tokio::test]
async fn past_its_deadline_money_for_an_order_that_never_came_is_a_case() {
    let (app, _world) = start().await;
    let endpoint = Endpoint::of(&app).await;
    let missing = Uuid::now_v7().to_string();
    endpoint.tell(&app, &event("payment_intent.succeeded", &intent("pi_1", &missing, 2400))).await;
    endpoint.tell(&app, &event("payment_intent.processing", &intent("pi_1", &missing, 2400))).await;
    endpoint.tell(&app, &event("charge.refunded", &charge("ch_9", "pi_other", 100, 100))).await;
    rematch(&app).await;
    assert!(cases(&app).await.is_empty());
    overdue(&app).await;
    rematch(&app).await;
    let found = cases(&app).await;
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((&found[0]["reason"], &found[0]["order_id"]), (&json!("order_missing"), &json!(missing)));
    assert_eq!(found[0]["evidence"]["theirs"]["gateway_reference"], "pi_1");
    assert_eq!(outcome(&app, "pi:pi_1:succeeded").await, "conflict");
    assert_eq!(outcome(&app, "pi:pi_1:processing").await, "ignored");
    assert_eq!(outcome(&app, "charge:ch_9:refunded_total:100").await, "ignored");
    assert_eq!(count(&app, "SELECT count(*) FROM events WHERE next_attempt_at IS NOT NULL").await, 0);
    let case_id = found[0]["id"].as_str().unwrap();
    let no = app.decide(case_id, "d1", json!({ "decision": "mark_not_done", "reason": "x" })).await;
    assert_eq!(no.status, 400);
    let done = app.decide(case_id, "d2", json!({ "decision": "dismiss", "reason": "given back by hand" })).await;
    assert_eq!((done.status, &done.json()["state"]), (200, &json!("resolved")));
}

#[tokio::test]
async fn an_order_of_another_organisation_is_nobodys_here() {
    let (app, _world) = start().await;
    let other = app.org(new_org()).await;
    let endpoint = Endpoint::of_org(&app, &other).await;
    let id = app.post("k", &order_body()).await.id();
    assert_eq!(endpoint.tell(&app, &event("payment_intent.succeeded", &intent("pi_1", &id, 2400))).await, "parked");
    rematch(&app).await;
    assert_eq!(app.order(&id).await["status"], "received");
    assert_eq!(app.get("/v1/receipts", "/v1/receipts").await.json()["data"], json!([]));
    assert_eq!(app.get("/v1/events", "/v1/events").await.json()["data"], json!([]));
}

/// Two organisations at one account of the gateway's: each is told of the other's payments.
#[tokio::test]
async fn what_names_another_organisation_is_ignored_at_once() {
    let (app, _world) = start().await;
    let other = app.org(new_org()).await;
    let (ours, theirs) = (Endpoint::of(&app).await, Endpoint::of_org(&app, &other).await);
    let id = app.post("k", &order_body()).await.id();
    let mut paid = intent("pi_1", &id, 2400);
    paid["metadata"]["ichido_org_id"] = json!(app.org.id.to_string());
    let paid = event("payment_intent.succeeded", &paid);
    assert_eq!(theirs.tell(&app, &paid).await, "ignored");
    assert_eq!(count(&app, "SELECT count(*) FROM events").await, 0);
    assert_eq!(ours.tell_and_apply(&app, &paid).await, "new");
    assert_eq!(app.order(&id).await["status"], "confirmed");
}

/// Of an account that others use too most is not ours. What names nobody and moved no money waits for nothing.
#[tokio::test]
async fn what_names_nobody_and_moved_no_money_is_ignored_at_once() {
    let (app, _world) = start().await;
    let endpoint = Endpoint::of(&app).await;
    let nobodys = json!({ "id": "pi_1", "object": "payment_intent", "amount": 5, "currency": "jpy", "metadata": {} });
    for kind in ["payment_intent.created", "payment_intent.canceled", "payment_intent.payment_failed"] {
        assert_eq!(endpoint.tell(&app, &event(kind, &nobodys)).await, "ignored", "{kind}");
    }
    assert_eq!(count(&app, "SELECT count(*) FROM events WHERE next_attempt_at IS NOT NULL").await, 0);
    let money = json!({ "id": "pi_1", "object": "payment_intent", "amount_received": 5, "currency": "jpy" });
    assert_eq!(endpoint.tell(&app, &event("payment_intent.succeeded", &money)).await, "parked");
}

/// However long it had been put off: once its order is named it is applied within seconds, even when that one is locked then.
#[tokio::test]
async fn a_fact_whose_order_is_named_at_last_does_not_wait_for_its_old_time() {
    let (app, _world) = start().await;
    let endpoint = Endpoint::of(&app).await;
    let id = app.post("k", &order_body()).await.id();
    endpoint.tell(&app, &event("charge.succeeded", &charge("ch_1", "pi_1", 2400, 0))).await;
    let client = app.sql().await;
    client.execute("UPDATE events SET next_attempt_at = now() + interval '1 hour'", &[]).await.unwrap();
    client.batch_execute("BEGIN; SELECT * FROM orders FOR UPDATE").await.unwrap();
    let named = event("payment_intent.succeeded", &intent("pi_1", &id, 2400));
    assert_eq!(endpoint.tell(&app, &named).await, "resumable");
    app.app.work_done().await;
    assert_eq!(outcome(&app, "pi:pi_1:succeeded").await, "pending");
    client.batch_execute("COMMIT").await.unwrap();
    crate::support::wait::until("applied", std::time::Duration::from_secs(10), || async {
        apply_waiting(&app.app).await.unwrap();
        app.order(&id).await["status"] == "confirmed"
    })
    .await;
    // The trace tells of the delivery that came before anybody knew whose it was.
    let trace = app.get(&format!("/v1/orders/{id}/trace"), "/v1/orders/{order_id}/trace").await.json();
    let received = trace["entries"].as_array().unwrap().iter().filter(|it| it["what"] == "notification_received");
    let told: Vec<_> = received.map(|it| it["details"]["object_id"].as_str().unwrap()).collect();
    assert_eq!(told, ["ch_1", "pi_1"]);
}

/// C5: the process ends between the commit of the receipt and all that follows.
#[tokio::test]
async fn what_was_committed_and_not_applied_is_applied_by_the_worker() {
    let (app, _world) = start().await;
    let endpoint = Endpoint::of(&app).await;
    let id = app.post("k", &order_body()).await.id();
    // No room: nothing is done behind the answers, as if the process had ended.
    let client = app.sql().await;
    client.batch_execute("BEGIN; SELECT * FROM orders FOR UPDATE").await.unwrap();
    let events = [
        event("payment_intent.succeeded", &of_attempt("pi_1", &id, 2400, 1)),
        event("refund.created", &refund("re_1", "pi_1", 400, "succeeded")),
    ];
    for told in &events {
        endpoint.tell(&app, told).await;
    }
    app.app.work_done().await;
    assert_eq!(outcome(&app, "pi:pi_1:succeeded").await, "pending");
    client.batch_execute("COMMIT").await.unwrap();
    let due = "UPDATE events SET next_attempt_at = now()";
    app.sql().await.execute(due, &[]).await.unwrap();
    assert_eq!(apply_waiting(&app.app).await.unwrap(), 2);
    rematch(&app).await;
    let order = app.order(&id).await;
    assert_eq!((&order["status"], &order["amount_refunded"]), (&json!("confirmed"), &json!(400)));
    assert_eq!(apply_waiting(&app.app).await.unwrap(), 0);
}

#[tokio::test]
async fn several_workers_apply_each_fact_once() {
    let (app, _world) = start().await;
    let endpoint = Endpoint::of(&app).await;
    let wanted: Vec<_> = (0..8).map(|_| Uuid::now_v7()).collect();
    for (n, id) in wanted.iter().enumerate() {
        endpoint
            .tell(&app, &event("payment_intent.succeeded", &intent(&format!("pi_{n}"), &id.to_string(), 2400)))
            .await;
        let made = app.post(&format!("k{n}"), &order_body()).await.id();
        appears_as(&app, &made, id).await;
    }
    app.sql().await.execute("UPDATE events SET next_attempt_at = now()", &[]).await.unwrap();
    let (one, two, three) = tokio::join!(apply_waiting(&app.app), apply_waiting(&app.app), apply_waiting(&app.app));
    assert_eq!(one.unwrap() + two.unwrap() + three.unwrap(), 8);
    let applied = "SELECT count(*) FROM journal WHERE what = 'notification_applied'";
    let paid = "SELECT count(*) FROM orders WHERE status = 'confirmed'";
    assert_eq!((count(&app, applied).await, count(&app, paid).await), (8, 8));
}
