//! Refunds made past us, refunds of ours whose answer was lost, and those that do not fit.

use crate::inbox::endpoint::{Endpoint, event, refund};
use crate::support::app::TestApp;
use crate::support::payments::{World, paid_body, start};
use crate::support::work::work;
use crate::sweep::{at_the_gateway, dismiss, found, open_cases, pay_at_the_gateway, swept};
use crate::trace::orders::{entry, trace};
use ichido::app::sweep::report::Found;
use serde_json::{Value, json};

async fn paid(app: &TestApp) -> (String, String) {
    let order = app.post("k", &paid_body("pm_card_visa")).await.json();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    (text(&order["id"]), text(&order["payment"]["gateway_reference"]))
}

async fn refund_at_the_gateway(world: &World, payment: &str, amount: &str) -> String {
    let refund = at_the_gateway(world, "refunds", &[("payment_intent", payment), ("amount", amount)]).await;
    refund["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn refunds_made_at_the_gateway_are_booked_once_each() {
    let (app, world) = start().await;
    let (id, payment) = paid(&app).await;
    let first = refund_at_the_gateway(&world, &payment, "400").await;
    assert_eq!(found(&swept(&app).await), [Found::Booked]);
    let order = app.order(&id).await;
    assert_eq!((&order["amount_refunded"], &order["payment"]["status"]), (&json!(400), &json!("partially_refunded")));
    assert_eq!((&order["status"], &order["needs_reconciliation"]), (&json!("confirmed"), &json!(false)));
    // The same amount again is another refund.
    refund_at_the_gateway(&world, &payment, "400").await;
    let (one, two) = tokio::join!(swept(&app), swept(&app));
    assert_eq!(one.count(Found::Booked) + two.count(Found::Booked), 1);
    assert_eq!(app.order(&id).await["amount_refunded"], 800);
    refund_at_the_gateway(&world, &payment, "1600").await;
    swept(&app).await;
    let order = app.order(&id).await;
    assert_eq!((&order["amount_refunded"], &order["payment"]["status"]), (&json!(2400), &json!("refunded")));
    let again = swept(&app).await;
    assert_eq!((again.refunds, again.count(Found::Agreed), again.lines.len()), (3, 4, 0));
    assert_eq!(app.order(&id).await, order);
    let trace = trace(&app, &id).await;
    let booked = entry(&trace, "refund_made_there");
    assert_eq!((&booked["actor"], &booked["details"]["gateway_reference"]), (&json!("sweep"), &json!(first)));
    assert_eq!(booked["details"]["payment"], json!({ "attempt": 1, "from": "succeeded", "to": "partially_refunded" }));
    assert_eq!(trace["effects"].as_array().unwrap().len(), 4);
}

#[tokio::test]
async fn a_refund_of_ours_whose_answer_was_lost_is_found_by_its_key() {
    let (app, world) = start().await;
    let mut body = paid_body("pm_card_visa");
    body["metadata"] = json!({});
    let (id, _) = paid(&app).await;
    app.cancel(&id, "c").await;
    work(&app).await;
    // As if its answer had never come.
    let sql = app.sql().await;
    for statement in [
        "UPDATE payments SET refunded = 0, state = 'succeeded'",
        "UPDATE operations SET state = 'unknown', next_attempt_at = now() + interval '1 hour', external_reference = NULL
            WHERE kind = 'refund'",
        "UPDATE orders SET amount_refunded = 0",
    ] {
        assert_eq!(sql.execute(statement, &[]).await.unwrap(), 1);
    }
    assert_eq!(found(&swept(&app).await), [Found::Settled]);
    let order = app.order(&id).await;
    assert_eq!((&order["amount_refunded"], &order["payment"]["status"]), (&json!(2400), &json!("refunded")));
    assert_eq!((swept(&app).await.lines.len(), world.count("refund", &id).await), (0, 1));
}

#[tokio::test]
async fn a_refund_that_does_not_fit_is_a_case() {
    let (app, world) = start().await;
    let (id, payment) = paid(&app).await;
    // By our books less was taken than was given back now.
    app.sql().await.execute("UPDATE payments SET amount = 1000", &[]).await.unwrap();
    let refund = refund_at_the_gateway(&world, &payment, "2400").await;
    assert_eq!(found(&swept(&app).await), [Found::CaseOpened; 2]);
    let cases = open_cases(&app).await;
    assert_eq!((&cases[0]["kind"], &cases[0]["fact"]), (&json!("refund"), &json!(refund)));
    assert_eq!((&cases[0]["reason"], &cases[0]["order_id"]), (&json!("amount_conflict"), &json!(id)));
    assert_eq!((&cases[1]["kind"], &cases[1]["reason"]), (&json!("charge"), &json!("amount_conflict")));
    assert_eq!(found(&swept(&app).await), [Found::CaseKnown; 2]);
    for (n, case) in cases.iter().enumerate() {
        assert_eq!(dismiss(&app, case, &format!("d{n}")).await, 200);
    }
    assert_eq!(found(&swept(&app).await), [Found::CaseKnown; 2]);
    let order = app.order(&id).await;
    assert_eq!((&order["needs_reconciliation"], &order["amount_refunded"]), (&json!(false), &json!(0)));
}

#[tokio::test]
async fn what_is_booked_under_another_name_is_not_booked_again() {
    let (app, world) = start().await;
    let (id, payment) = paid(&app).await;
    refund_at_the_gateway(&world, &payment, "400").await;
    // Told by a sum, without the refund's name.
    app.sql().await.execute("UPDATE payments SET refunded = 400, state = 'partially_refunded'", &[]).await.unwrap();
    let report = swept(&app).await;
    assert_eq!((report.count(Found::Agreed), report.lines.len()), (2, 0));
    // Of two more, the sum is missing 300.
    refund_at_the_gateway(&world, &payment, "200").await;
    refund_at_the_gateway(&world, &payment, "100").await;
    assert_eq!(found(&swept(&app).await), [Found::Booked; 2]);
    assert_eq!(app.order(&id).await["amount_refunded"], 700);
    assert!(swept(&app).await.lines.is_empty());
}

#[tokio::test]
async fn a_refund_of_somebody_elses_payment_is_theirs() {
    let (app, world) = start().await;
    let payment = pay_at_the_gateway(&world, "100", "jpy", &[]).await;
    refund_at_the_gateway(&world, &payment, "100").await;
    let report = swept(&app).await;
    assert_eq!((report.count(Found::Others), report.lines.len(), report.refunds), (2, 0, 1));
}

/// The sweep has booked it; its own notifications come later, and then it fails.
#[tokio::test]
async fn the_news_of_a_refund_that_is_booked_add_nothing_and_its_failure_counts() {
    let (app, world) = start().await;
    let endpoint = Endpoint::of(&app).await;
    let (id, payment) = paid(&app).await;
    let name = refund_at_the_gateway(&world, &payment, "400").await;
    assert_eq!(found(&swept(&app).await), [Found::Booked]);
    let told = |status: &str| event("refund.updated", &refund(&name, &payment, 400, status));
    endpoint.tell_and_apply(&app, &told("succeeded")).await;
    assert_eq!((app.order(&id).await["amount_refunded"].clone(), open_cases(&app).await.len()), (json!(400), 0));
    endpoint.tell_and_apply(&app, &told("failed")).await;
    assert_eq!((app.order(&id).await["amount_refunded"].clone(), open_cases(&app).await.len()), (json!(0), 0));
}
