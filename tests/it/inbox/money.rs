//! Facts about charges of orders that we did not pay ourselves.

use crate::inbox::endpoint::{
    Endpoint, cases, charge, count, event, event_at, intent, now, outcome, outcomes, settled,
};
use crate::support::app::{TestApp, order_body};
use crate::support::payments::{paid_body, start};
use crate::support::work::{work, work_until};
use futures_util::future::join_all;
use serde_json::{Value, json};

async fn with_order() -> (TestApp, crate::support::payments::World, Endpoint, String) {
    let (app, world) = start().await;
    let endpoint = Endpoint::of(&app).await;
    let id = app.post("k", &order_body()).await.id();
    (app, world, endpoint, id)
}

fn session(payment: &str, order_id: &str) -> Value {
    json!({
        "id": "cs_1", "object": "checkout.session", "payment_intent": payment, "payment_status": "paid",
        "amount_total": 2400, "currency": "jpy", "metadata": { "ichido_order_id": order_id },
    })
}

#[tokio::test]
async fn three_notifications_of_one_payment_at_once_are_one_fact() {
    let (app, _world, endpoint, id) = with_order().await;
    let mut by_charge = charge("ch_1", "pi_1", 2400, 0);
    by_charge["metadata"]["ichido_order_id"] = json!(id);
    let events = [
        event("payment_intent.succeeded", &intent("pi_1", &id, 2400)),
        event("charge.succeeded", &by_charge),
        event("checkout.session.completed", &session("pi_1", &id)),
    ];
    join_all(events.iter().map(|event| endpoint.tell(&app, event))).await;
    settled(&app).await;
    assert_eq!(outcomes(&app).await, [("pi:pi_1:succeeded".to_owned(), "applied".to_owned())]);
    let order = app.order(&id).await;
    assert_eq!(order["status"], "confirmed");
    let payment = json!({ "status": "succeeded", "gateway": "stripe", "gateway_reference": "pi_1", "attempt": 1 });
    assert_eq!(order["payment"], payment);
    assert!(order["steps"].as_array().unwrap().contains(&json!({ "kind": "charge", "state": "done" })));
    assert_eq!(count(&app, "SELECT count(*) FROM event_aliases").await, 3);
    let applied = "SELECT count(*) FROM journal WHERE what = 'notification_applied'";
    assert_eq!(count(&app, applied).await, 1);
    // Another id with the same content is the same fact.
    let again = event("payment_intent.succeeded", &intent("pi_1", &id, 2400));
    assert!(["already_done", "resumable"].contains(&endpoint.tell(&app, &again).await.as_str()));
    assert_eq!((count(&app, "SELECT count(*) FROM events").await, app.order(&id).await), (1, order));
    assert_eq!(app.pay(&id, "p", "pm_card_visa").await.code(), "payment_not_possible");
}

#[tokio::test]
async fn another_amount_or_currency_confirms_nothing_and_is_a_case() {
    for (amount, currency) in [(1, "jpy"), (2400, "eur"), (2401, "jpy")] {
        let (app, _world, endpoint, id) = with_order().await;
        let mut object = intent("pi_1", &id, amount);
        object["currency"] = json!(currency);
        let told = event("payment_intent.succeeded", &object);
        endpoint.tell_and_apply(&app, &told).await;
        let order = app.order(&id).await;
        assert_eq!((&order["status"], &order["needs_reconciliation"]), (&json!("received"), &json!(true)), "{amount}");
        let case = cases(&app).await[0].clone();
        assert_eq!(
            (&case["reason"], &case["kind"], &case["fact"]),
            (&json!("amount_conflict"), &json!("charge"), &json!("1"))
        );
        let (ours, theirs) = (&case["evidence"]["ours"], &case["evidence"]["theirs"]);
        assert_eq!((&ours["amount"], &ours["currency"]), (&json!(2400), &json!("JPY")));
        let expected = (json!(amount), json!(currency.to_uppercase()), json!("pi_1"));
        assert_eq!(
            (&theirs["gateway_amount"], &theirs["currency"], &theirs["gateway_reference"]),
            (&expected.0, &expected.1, &expected.2)
        );
        assert_eq!(endpoint.tell(&app, &told).await, "needs_reconciliation");
        // That it failed before it was paid says nothing any more.
        endpoint.tell_and_apply(&app, &event_at("payment_intent.payment_failed", &object, now() - 60)).await;
        assert_eq!(app.order(&id).await["status"], "received");
        // A person takes it as it is.
        let decision = json!({ "decision": "mark_done", "reason": "agreed on the phone", "proof": "pi_1" });
        assert_eq!(app.decide(case["id"].as_str().unwrap(), "d", decision).await.status, 200);
        let order = app.order(&id).await;
        assert_eq!((&order["status"], &order["needs_reconciliation"]), (&json!("confirmed"), &json!(false)));
    }
}

#[tokio::test]
async fn two_amounts_for_one_payment_are_a_case_and_change_nothing() {
    let (app, _world, endpoint, id) = with_order().await;
    endpoint.tell_and_apply(&app, &event("payment_intent.succeeded", &intent("pi_1", &id, 2400))).await;
    endpoint.tell_and_apply(&app, &event("payment_intent.succeeded", &intent("pi_1", &id, 100))).await;
    assert_eq!(outcome(&app, "pi:pi_1:succeeded:otherwise:100:JPY").await, "conflict");
    let order = app.order(&id).await;
    assert_eq!((&order["status"], &order["needs_reconciliation"]), (&json!("confirmed"), &json!(true)));
    let case = cases(&app).await[0].clone();
    assert_eq!((&case["reason"], &case["kind"]), (&json!("notification_conflict"), &json!("notification")));
    let wrong =
        app.decide(case["id"].as_str().unwrap(), "d1", json!({ "decision": "mark_done", "reason": "x", "proof": "y" }));
    assert_eq!(wrong.await.status, 400);
    let dismissed =
        app.decide(case["id"].as_str().unwrap(), "d2", json!({ "decision": "dismiss", "reason": "looked" }));
    assert_eq!(dismissed.await.status, 200);
    assert_eq!(app.order(&id).await["needs_reconciliation"], false);
}

#[tokio::test]
async fn a_partial_capture_is_compared_with_the_order() {
    for (taken, status) in [(2400, "confirmed"), (2000, "received")] {
        let (app, _world, endpoint, id) = with_order().await;
        let mut captured = charge("ch_1", "pi_1", 3000, 0);
        captured["amount_captured"] = json!(taken);
        captured["metadata"]["ichido_order_id"] = json!(id);
        endpoint.tell_and_apply(&app, &event("charge.captured", &captured)).await;
        assert_eq!(app.order(&id).await["status"], status, "{taken}");
    }
}

#[tokio::test]
async fn what_starts_nothing_changes_nothing() {
    let (app, _world, endpoint, id) = with_order().await;
    let before = app.order(&id).await;
    for kind in ["created", "processing", "amount_capturable_updated", "canceled", "payment_failed"] {
        let told = event(&format!("payment_intent.{kind}"), &intent("pi_1", &id, 2400));
        endpoint.tell_and_apply(&app, &told).await;
    }
    assert_eq!(app.order(&id).await, before);
    assert_eq!(count(&app, "SELECT count(*) FROM events WHERE outcome = 'ignored'").await, 5);
    assert!(cases(&app).await.is_empty());
}

#[tokio::test]
async fn a_second_payment_of_one_order_is_for_a_person_who_gives_it_back() {
    let (app, world) = start().await;
    let endpoint = Endpoint::of(&app).await;
    let paid = app.post("k", &paid_body("pm_card_visa")).await;
    let id = paid.id();
    let other = app.post("other", &paid_body("pm_card_visa")).await.json();
    let reference = other["payment"]["gateway_reference"].as_str().unwrap().to_owned();
    app.sql()
        .await
        .execute("UPDATE payments SET gateway_reference = 'pi_gone' WHERE gateway_reference = $1", &[&reference])
        .await
        .unwrap();
    endpoint.tell_and_apply(&app, &event("payment_intent.succeeded", &intent(&reference, &id, 2400))).await;
    let case = cases(&app).await[0].clone();
    assert_eq!((&case["reason"], &case["fact"]), (&json!("second_success"), &json!("2")));
    assert_eq!(
        app.decide(case["id"].as_str().unwrap(), "d", json!({ "decision": "continue", "reason": "twice" }))
            .await
            .status,
        200
    );
    work(&app).await;
    let order = app.order(&id).await;
    assert_eq!((&order["status"], &order["amount_refunded"]), (&json!("confirmed"), &json!(2400)));
    assert_eq!(world.count("refund", &id).await, 1);
}

#[tokio::test]
async fn money_that_came_by_another_way_ends_our_own_attempt() {
    let (app, world) = start().await;
    let endpoint = Endpoint::of(&app).await;
    let first = app.post("k", &paid_body("pm_sim_lost_request")).await;
    assert_eq!(first.status, 202);
    endpoint.tell_and_apply(&app, &event("payment_intent.succeeded", &intent("pi_1", &first.id(), 2400))).await;
    assert_eq!(app.order(&first.id()).await["status"], "confirmed");
    for _ in 0..3 {
        work(&app).await;
        app.sql()
            .await
            .execute("UPDATE operations SET next_attempt_at = now() WHERE next_attempt_at IS NOT NULL", &[])
            .await
            .unwrap();
    }
    assert_eq!(world.count("charge", &first.id()).await, 0, "nothing is sent again");
}

#[tokio::test]
async fn money_for_a_cancelled_order_goes_back() {
    let (app, world) = start().await;
    let endpoint = Endpoint::of(&app).await;
    let id = app.post("k", &order_body()).await.id();
    assert_eq!(app.cancel(&id, "c").await.status, 200);
    let other = app.post("other", &paid_body("pm_card_visa")).await.json();
    let reference = other["payment"]["gateway_reference"].as_str().unwrap().to_owned();
    app.sql()
        .await
        .execute("UPDATE payments SET gateway_reference = 'pi_gone' WHERE gateway_reference = $1", &[&reference])
        .await
        .unwrap();
    endpoint.tell_and_apply(&app, &event("payment_intent.succeeded", &intent(&reference, &id, 2400))).await;
    let order = work_until(&app, &id, "refunded", |order| order["payment"]["status"] == "refunded").await;
    assert_eq!((&order["status"], &order["amount_refunded"]), (&json!("cancelled"), &json!(2400)));
    assert_eq!(world.count("refund", &id).await, 1);
}

#[tokio::test]
async fn a_payment_of_another_order_is_a_case() {
    let (app, _world) = start().await;
    let endpoint = Endpoint::of(&app).await;
    let paid = app.post("k1", &paid_body("pm_card_visa")).await.json();
    let id = app.post("k2", &order_body()).await.id();
    let reference = paid["payment"]["gateway_reference"].as_str().unwrap();
    endpoint.tell_and_apply(&app, &event("payment_intent.succeeded", &intent(reference, &id, 2400))).await;
    assert_eq!(app.order(&id).await["status"], "received");
    let case = cases(&app).await[0].clone();
    assert_eq!((&case["reason"], &case["order_id"]), (&json!("notification_conflict"), &paid["id"]));
}
