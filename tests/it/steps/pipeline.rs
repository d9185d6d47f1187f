//! What is done, in which order, and what becomes of the order.

use super::{KINDS, body_with, policy, set, settle_steps, state, with_all_steps};
use crate::support::app::order_body;
use crate::support::payments::{paid_body, start};
use crate::support::work::{work, work_until};
use ichido::domain::step::StepKind;
use serde_json::json;

#[tokio::test]
async fn every_step_is_done_once_and_the_order_is_completed() {
    let (app, world) = with_all_steps().await;
    let first = app.post("k", &paid_body("pm_card_visa")).await;
    assert_eq!(first.status, 201);
    let order = first.json();
    assert_eq!(
        (state(&order, StepKind::StockReservation), state(&order, StepKind::ShipmentRequest)),
        ("ready".into(), "waiting".into())
    );
    let order = settle_steps(&app, &first.id()).await;
    assert_eq!(order["status"], "completed");
    for kind in KINDS {
        assert_eq!(world.count(kind.as_str(), &first.id()).await, 1, "{}", kind.as_str());
        let effects = world.effects(&first.id()).await;
        let effect = effects.iter().find(|effect| effect["kind"] == kind.as_str()).unwrap();
        assert_eq!((&effect["amount"], &effect["currency"]), (&order["amount"], &order["currency"]));
    }
    assert_eq!(app.post("k", &paid_body("pm_card_visa")).await.body, first.body, "the first answer stays");
    work(&app).await;
    assert_eq!(world.effects(&first.id()).await.len(), 5);
}

#[tokio::test]
async fn the_shipment_waits_for_the_stock_and_nobody_else_does() {
    let (app, world) = with_all_steps().await;
    let id = app.post("k", &body_with(StepKind::StockReservation, "declined")).await.id();
    let order = settle_steps(&app, &id).await;
    assert_eq!(state(&order, StepKind::StockReservation), "needs_reconciliation");
    assert_eq!(
        (state(&order, StepKind::ShipmentRequest), state(&order, StepKind::ConfirmationMail)),
        ("waiting".into(), "done".into())
    );
    assert_eq!((&order["status"], &order["needs_reconciliation"]), (&json!("confirmed"), &json!(true)));
    let case =
        app.get("/v1/reconciliation-cases?state=open", "/v1/reconciliation-cases").await.json()["data"][0].clone();
    assert_eq!(
        (&case["reason"], &case["owner"], &case["corrector"]),
        (&json!("step_refused"), &json!("warehouse"), &json!("returns"))
    );
    // The goods are set aside by hand: the shipment's turn comes.
    let done = json!({ "decision": "mark_done", "reason": "done by hand", "proof": "shelf 7" });
    assert_eq!(app.decide(case["id"].as_str().unwrap(), "d", done).await.status, 200);
    let order = settle_steps(&app, &id).await;
    assert_eq!((&order["status"], &order["needs_reconciliation"]), (&json!("completed"), &json!(false)));
    assert_eq!((world.count("stock_reservation", &id).await, world.count("shipment_request", &id).await), (0, 1));
}

#[tokio::test]
async fn an_order_that_is_not_paid_starts_no_step() {
    let (app, world) = with_all_steps().await;
    let unpaid = app.post("k1", &order_body()).await.id();
    let declined =
        app.post("k2", &paid_body("pm_card_chargeDeclined")).await.json()["order_id"].as_str().unwrap().to_owned();
    work(&app).await;
    for id in [&unpaid, &declined] {
        assert_eq!(world.effects(id).await.len(), 0);
    }
    // Paid later, it does.
    assert_eq!(app.pay(&declined, "k3", "pm_card_visa").await.status, 201);
    assert_eq!(settle_steps(&app, &declined).await["status"], "completed");
}

#[tokio::test]
async fn only_the_steps_of_the_organisation_are_done_and_the_shipment_is_seen() {
    let (app, world) = start().await;
    set(&app, &app.org, policy(&world, StepKind::ShipmentRequest, true, true)).await;
    set(&app, &app.org, policy(&world, StepKind::AccountingEntry, false, false)).await;
    let id = app.post("k", &body_with(StepKind::AccountingEntry, "lost_answer")).await.id();
    let order = settle_steps(&app, &id).await;
    assert_eq!((&order["status"], order["steps"].as_array().unwrap().len()), (&json!("shipment_requested"), 3));
}

#[tokio::test]
async fn a_cancelled_order_begins_nothing_more_and_tells_who_corrects_what_was_done() {
    let (app, world) = with_all_steps().await;
    let early = app.post("k1", &paid_body("pm_card_visa")).await.id();
    app.cancel(&early, "c1").await;
    let order = settle_steps(&app, &early).await;
    assert_eq!(
        (&order["status"], state(&order, StepKind::ShipmentRequest)),
        (&json!("cancelled"), "failed".to_owned())
    );
    assert_eq!(order["needs_reconciliation"], false);
    for kind in KINDS {
        assert_eq!(world.count(kind.as_str(), &early).await, 0);
    }
    let late = app.post("k2", &paid_body("pm_card_visa")).await.id();
    settle_steps(&app, &late).await;
    assert_eq!(app.cancel(&late, "c2").await.json()["status"], "cancelled");
    let cases = app.get(&format!("/v1/reconciliation-cases?order_id={late}"), "/v1/reconciliation-cases").await.json();
    let cases = cases["data"].as_array().unwrap().clone();
    assert_eq!(cases.len(), 4);
    assert!(cases.iter().all(|case| case["reason"] == "done_before_cancellation" && case["corrector"] == "returns"));
    work_until(&app, &late, "refunded", |order| order["payment"]["status"] == "refunded").await;
    for (n, case) in cases.iter().enumerate() {
        let undone = json!({ "decision": "dismiss", "reason": "sent back" });
        assert_eq!(app.decide(case["id"].as_str().unwrap(), &format!("d{n}"), undone).await.status, 200);
    }
    assert_eq!(app.order(&late).await["needs_reconciliation"], false);
}

#[tokio::test]
async fn a_step_that_waited_long_has_its_whole_time_when_its_turn_comes() {
    let (app, world) = with_all_steps().await;
    let id = app.post("k", &body_with(StepKind::StockReservation, "declined")).await.id();
    settle_steps(&app, &id).await;
    let long = "UPDATE operations SET deadline_at = now() - interval '1 day' WHERE kind = 'shipment_request'";
    assert_eq!(app.sql().await.execute(long, &[]).await.unwrap(), 1);
    let case =
        app.get("/v1/reconciliation-cases?state=open", "/v1/reconciliation-cases").await.json()["data"][0].clone();
    let done = json!({ "decision": "mark_done", "reason": "done by hand", "proof": "shelf 7" });
    assert_eq!(app.decide(case["id"].as_str().unwrap(), "d", done).await.status, 200);
    assert_eq!(
        (&settle_steps(&app, &id).await["status"], world.count("shipment_request", &id).await),
        (&json!("completed"), 1)
    );
}

#[tokio::test]
async fn what_waits_for_a_step_that_is_given_up_never_begins() {
    let (app, world) = with_all_steps().await;
    let id = app.post("k", &body_with(StepKind::StockReservation, "declined")).await.id();
    settle_steps(&app, &id).await;
    let case =
        app.get("/v1/reconciliation-cases?state=open", "/v1/reconciliation-cases").await.json()["data"][0].clone();
    let given_up = json!({ "decision": "mark_not_done", "reason": "sold out" });
    assert_eq!(app.decide(case["id"].as_str().unwrap(), "d", given_up).await.status, 200);
    let order = settle_steps(&app, &id).await;
    assert_eq!(
        (state(&order, StepKind::StockReservation), state(&order, StepKind::ShipmentRequest)),
        ("failed".into(), "failed".into())
    );
    assert_eq!((&order["status"], world.count("shipment_request", &id).await), (&json!("confirmed"), 0));
}
