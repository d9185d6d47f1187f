//! `POST /v1/orders/{order_id}/cancel`, and a second attempt to pay.

use crate::support::app::order_body;
use crate::support::payments::{paid_body, start, use_gateway};
use crate::support::work::{work, work_until};
use serde_json::{Value, json};

#[tokio::test]
async fn an_order_whose_payment_failed_is_paid_by_another_attempt() {
    let (app, world) = start().await;
    let declined = app.post("k1", &paid_body("pm_card_chargeDeclined")).await;
    let order_id = declined.json()["order_id"].as_str().unwrap().to_owned();
    let again = app.pay(&order_id, "k2", "pm_card_chargeDeclined").await;
    assert_eq!((again.status, again.code().as_str()), (402, "payment_declined"));
    let paid = app.pay(&order_id, "k3", "pm_card_visa").await;
    assert_eq!(paid.status, 201, "{}", paid.json());
    let order = paid.json();
    assert_eq!((&order["status"], &order["payment"]["attempt"]), (&json!("confirmed"), &json!(3)));
    let replay = app.pay(&order_id, "k3", "pm_card_visa").await;
    assert_eq!((replay.status, replay.body), (200, paid.body));
    assert_eq!(app.pay(&order_id, "k3", "pm_other").await.json()["differing"], json!(["/method"]));
    let once_more = app.pay(&order_id, "k4", "pm_card_visa").await;
    assert_eq!((once_more.status, once_more.code().as_str()), (409, "payment_not_possible"));
    assert_eq!(app.post("k1", &paid_body("pm_card_chargeDeclined")).await.status, 402, "the first answer stays");
    assert_eq!(world.count("charge", &order_id).await, 1);
    assert_eq!(app.order(&order_id).await["status"], "confirmed");
}

#[tokio::test]
async fn an_unpaid_order_is_cancelled_at_once_and_cannot_be_paid() {
    let (app, world) = start().await;
    let order_id = app.post("k1", &order_body()).await.id();
    let cancelled = app.cancel(&order_id, "k2").await;
    assert_eq!((cancelled.status, &cancelled.json()["status"]), (200, &json!("cancelled")));
    let replay = app.cancel(&order_id, "k2").await;
    assert_eq!(
        (replay.status, replay.header("Idempotent-Replayed"), &replay.body),
        (200, Some("true"), &cancelled.body)
    );
    assert_eq!(app.cancel(&order_id, "k3").await.status, 200);
    assert_eq!(app.pay(&order_id, "k4", "pm_card_visa").await.code(), "payment_not_possible");
    assert_eq!(world.charges().await, 0);
    let nobody = "01936f5e-7f00-7000-8000-000000000000";
    assert_eq!(app.cancel(nobody, "k5").await.status, 404);
    assert_eq!(app.pay(nobody, "k6", "pm_card_visa").await.status, 404);
}

#[tokio::test]
async fn a_paid_order_that_is_cancelled_is_refunded_once() {
    let (app, world) = start().await;
    let id = app.post("k1", &paid_body("pm_card_visa")).await.id();
    let cancelled = app.cancel(&id, "k2").await;
    assert_eq!((cancelled.status, &cancelled.json()["status"]), (200, &json!("cancelled")));
    let order = work_until(&app, &id, "refunded", |order| order["payment"]["status"] == "refunded").await;
    assert_eq!((&order["amount_refunded"], &order["status"]), (&order["amount"], &json!("cancelled")));
    assert_eq!(app.cancel(&id, "k3").await.status, 200);
    work(&app).await;
    assert_eq!((world.count("charge", &id).await, world.count("refund", &id).await), (1, 1));
    assert_eq!(order["steps"], json!([{ "kind": "charge", "state": "done" }, { "kind": "refund", "state": "done" }]));
}

#[tokio::test]
async fn a_refund_whose_answer_was_lost_is_sent_again_under_its_key() {
    let (app, world) = start().await;
    let id = app.post("k1", &paid_body("pm_card_visa")).await.id();
    app.cancel(&id, "k2").await;
    let is_refunded = |order: &Value| order["amount_refunded"] == order["amount"];
    work_until(&app, &id, "refunded", is_refunded).await;
    // As if its answer had never come.
    let sql = app.sql().await;
    for statement in [
        "UPDATE payments SET refunded = 0, state = 'succeeded'",
        "UPDATE operations SET state = 'unknown', next_attempt_at = now(), external_reference = NULL WHERE kind = 'refund'",
        "UPDATE orders SET amount_refunded = 0",
    ] {
        assert_eq!(sql.execute(statement, &[]).await.unwrap(), 1);
    }
    let order = work_until(&app, &id, "refunded again", is_refunded).await;
    assert_eq!((&order["needs_reconciliation"], world.count("refund", &id).await), (&json!(false), 1));
}

#[tokio::test]
async fn an_unknown_charge_of_a_cancelled_order_is_looked_up_and_never_sent_again() {
    let (app, world) = start().await;
    // Charged, and the answer was lost: the money goes back.
    let charged = app.post("k1", &paid_body("pm_sim_lost_answer")).await.id();
    assert_eq!(app.cancel(&charged, "k2").await.json()["status"], "received");
    work_until(&app, &charged, "refunded", |order| order["payment"]["status"] == "refunded").await;
    assert_eq!(app.order(&charged).await["status"], "cancelled");
    assert_eq!((world.count("charge", &charged).await, world.count("refund", &charged).await), (1, 1));
    assert_eq!(app.post("k1", &paid_body("pm_sim_lost_answer")).await.status, 200);
    // Never charged: it cannot be known at once that it never will be, and then it ends without money.
    let lost = app.post("k3", &paid_body("pm_sim_lost_request")).await.id();
    app.cancel(&lost, "k4").await;
    work(&app).await;
    assert_eq!(app.order(&lost).await["status"], "received");
    let later = "UPDATE operations SET first_sent_at = now() - interval '5 minutes', next_attempt_at = now(),
        last_sent_at = now() - interval '5 minutes' WHERE state = 'unknown'";
    assert_eq!(app.sql().await.execute(later, &[]).await.unwrap(), 1);
    work_until(&app, &lost, "cancelled", |order| order["status"] == "cancelled").await;
    assert_eq!(world.effects(&lost).await.len(), 0);
    let answer = app.post("k3", &paid_body("pm_sim_lost_request")).await;
    assert_eq!((answer.status, answer.code().as_str()), (402, "payment_declined"));
}

#[tokio::test]
async fn cancelled_while_the_gateway_thinks_it_is_paid_and_given_back() {
    let (app, world) = start().await;
    let body = paid_body("pm_sim_slow_500");
    let cancel = async {
        tokio::time::sleep(std::time::Duration::from_millis(150)).await;
        let id = app.post("k1", &body).await.header("Location").unwrap().rsplit('/').next().unwrap().to_owned();
        assert_eq!(app.cancel(&id, "k2").await.json()["status"], "received");
    };
    let (first, ()) = tokio::join!(app.post("k1", &body), cancel);
    assert_eq!((first.status, &first.json()["status"]), (201, &json!("cancelled")));
    work_until(&app, &first.id(), "refunded", |order| order["payment"]["status"] == "refunded").await;
    assert_eq!((world.count("charge", &first.id()).await, world.count("refund", &first.id()).await), (1, 1));
}

#[tokio::test]
async fn a_charge_that_was_never_sent_ends_with_the_order_at_once() {
    let (app, world) = start().await;
    use_gateway(&app.app, &app.org, "http://127.0.0.1:9/stripe").await;
    let id = app.post("k1", &paid_body("pm_card_visa")).await.id();
    app.cancel(&id, "k2").await;
    use_gateway(&app.app, &app.org, &world.stripe()).await;
    work_until(&app, &id, "cancelled", |order| order["status"] == "cancelled").await;
    assert_eq!((world.charges().await, app.post("k1", &paid_body("pm_card_visa")).await.status), (0, 402));
}
