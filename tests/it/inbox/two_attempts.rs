//! One order, several attempts to pay it, and news of one of them.

use crate::inbox::endpoint::{Endpoint, cases, event, intent, of_attempt, outcome};
use crate::support::app::TestApp;
use crate::support::payments::{paid_body, start};
use crate::support::work::work;
use serde_json::json;

/// Rounds of the worker, with everything that waits due.
async fn work_all(app: &TestApp) {
    for _ in 0..4 {
        work(app).await;
        let due = "UPDATE operations SET next_attempt_at = now() WHERE next_attempt_at IS NOT NULL";
        app.sql().await.execute(due, &[]).await.unwrap();
    }
}

/// The first attempt was refused, or so it seemed; the second one's request is lost; then the first one turns out paid.
#[tokio::test]
async fn a_late_success_of_the_first_attempt_ends_the_second_one_unsent() {
    let (app, world) = start().await;
    let endpoint = Endpoint::of(&app).await;
    let declined = app.post("k1", &paid_body("pm_card_chargeDeclined")).await;
    let id = declined.json()["order_id"].as_str().unwrap().to_owned();
    let reference = app.order(&id).await["payment"]["gateway_reference"].as_str().unwrap_or("pi_first").to_owned();
    assert_eq!(app.pay(&id, "k2", "pm_sim_lost_request").await.status, 202);
    endpoint.tell_and_apply(&app, &event("payment_intent.succeeded", &of_attempt(&reference, &id, 2400, 1))).await;
    assert_eq!(app.order(&id).await["status"], "confirmed");
    // Long ago, so that its absence proves that it never came.
    let sent =
        "UPDATE operations SET first_sent_at = now() - interval '1 hour', last_sent_at = now() - interval '1 hour'
        WHERE kind = 'charge' AND fact = '2'";
    app.sql().await.execute(sent, &[]).await.unwrap();
    work_all(&app).await;
    assert_eq!(world.count("charge", &id).await, 0, "nothing more is sent for an order that is paid");
    let order = app.order(&id).await;
    assert_eq!((&order["status"], &order["payment"]["attempt"]), (&json!("confirmed"), &json!(1)));
    assert!(cases(&app).await.is_empty());
    let second = app.pay(&id, "k2", "pm_sim_lost_request").await;
    assert_eq!((second.status, &second.json()["code"]), (402, &json!("payment_declined")));
    assert!(second.json()["detail"].as_str().unwrap().contains("paid by another attempt"), "{}", second.json());
}

/// Money of another amount that names the order pays nothing, so it must not stand in the way of what does.
#[tokio::test]
async fn a_wrong_payment_does_not_end_our_own_attempt() {
    let (app, world) = start().await;
    let endpoint = Endpoint::of(&app).await;
    let first = app.post("k", &paid_body("pm_sim_lost_request")).await;
    assert_eq!(first.status, 202);
    endpoint.tell_and_apply(&app, &event("payment_intent.succeeded", &intent("pi_1", &first.id(), 1))).await;
    assert_eq!(outcome(&app, "pi:pi_1:succeeded").await, "conflict");
    work_all(&app).await;
    let order = app.order(&first.id()).await;
    assert_eq!((&order["status"], &order["needs_reconciliation"]), (&json!("confirmed"), &json!(true)));
    assert_eq!(world.count("charge", &first.id()).await, 1, "our own attempt went on");
    assert_eq!(app.post("k", &paid_body("pm_sim_lost_request")).await.status, 200);
}

/// The payment's own notification, but without the number of the attempt: it may only be found out by us whose it was.
#[tokio::test]
async fn one_payment_that_is_first_told_of_and_then_found_is_one_payment() {
    let (app, world) = start().await;
    let endpoint = Endpoint::of(&app).await;
    let body = paid_body("pm_sim_lost_answer");
    let first = app.post("k", &body).await;
    assert_eq!(first.status, 202);
    let id = first.id();
    let pi = world.payment_of(&id).await;
    endpoint.tell_and_apply(&app, &event("payment_intent.succeeded", &intent(&pi, &id, 2400))).await;
    assert_eq!(app.order(&id).await["status"], "confirmed");
    work_all(&app).await;
    let replay = app.post("k", &body).await;
    assert_eq!((replay.status, &replay.json()["status"]), (200, &json!("confirmed")), "{}", replay.json());
    assert_eq!((world.count("charge", &id).await, cases(&app).await.len()), (1, 0));
    let unfinished = "SELECT count(*) FROM operations WHERE state NOT IN ('done', 'failed')";
    assert_eq!(app.sql().await.query_one(unfinished, &[]).await.unwrap().get::<_, i64>(0), 0);
    // Cancelled, it goes back once.
    assert_eq!(app.cancel(&id, "c").await.json()["status"], "cancelled");
    work_all(&app).await;
    assert_eq!((world.count("refund", &id).await, &app.order(&id).await["amount_refunded"]), (1, &json!(2400)));
}
