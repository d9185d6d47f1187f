//! Money that goes back: counted from all that was told, in whatever order, never twice.

use crate::inbox::endpoint::{Endpoint, cases, charge, event, event_at, now, outcome, refund, rematch};
use crate::support::app::TestApp;
use crate::support::payments::{World, paid_body, start};
use serde_json::{Value, json};

/// An order that is paid, its id, and its payment's name.
pub async fn paid() -> (TestApp, World, Endpoint, String, String) {
    let (app, world) = start().await;
    let endpoint = Endpoint::of(&app).await;
    let order = app.post("k", &paid_body("pm_card_visa")).await.json();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let (id, reference) = (text(&order["id"]), text(&order["payment"]["gateway_reference"]));
    (app, world, endpoint, id, reference)
}

async fn told(app: &TestApp, id: &str) -> (i64, String, String) {
    let order = app.order(id).await;
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    (order["amount_refunded"].as_i64().unwrap(), text(&order["payment"]["status"]), text(&order["status"]))
}

fn stands(amount: i64, payment: &str) -> (i64, String, String) {
    (amount, payment.to_owned(), "confirmed".to_owned())
}

#[tokio::test]
async fn two_refunds_of_one_charge_both_count_and_a_repeated_one_does_not() {
    let (app, _world, endpoint, id, pi) = paid().await;
    for (refund_id, amount, sum) in [("re_1", 400, 400), ("re_2", 600, 1000), ("re_1", 400, 1000)] {
        endpoint.tell_and_apply(&app, &event("refund.created", &refund(refund_id, &pi, amount, "succeeded"))).await;
        assert_eq!(told(&app, &id).await, stands(sum, "partially_refunded"));
    }
    // The cumulative figure tells of what is known, then of more, then of old news.
    for (total, sum) in [(1000, 1000), (1500, 1500), (400, 1500)] {
        endpoint.tell_and_apply(&app, &event("charge.refunded", &charge("ch_1", &pi, 2400, total))).await;
        assert_eq!(told(&app, &id).await, stands(sum, "partially_refunded"));
    }
    endpoint.tell_and_apply(&app, &event("charge.refunded", &charge("ch_1", &pi, 2400, 2400))).await;
    assert_eq!(told(&app, &id).await, stands(2400, "refunded"));
    // A late success undoes nothing.
    let success = json!({ "id": pi, "object": "payment_intent", "amount_received": 2400, "currency": "jpy" });
    endpoint.tell_and_apply(&app, &event("payment_intent.succeeded", &success)).await;
    assert_eq!(told(&app, &id).await, stands(2400, "refunded"));
    assert!(cases(&app).await.is_empty());
}

#[tokio::test]
async fn a_refund_that_failed_gave_nothing_back() {
    let (app, _world, endpoint, id, pi) = paid().await;
    let at = now();
    endpoint.tell_and_apply(&app, &event_at("refund.created", &refund("re_1", &pi, 400, "succeeded"), at - 5)).await;
    endpoint.tell_and_apply(&app, &event_at("charge.refunded", &charge("ch_1", &pi, 2400, 400), at - 5)).await;
    assert_eq!(told(&app, &id).await, stands(400, "partially_refunded"));
    endpoint.tell_and_apply(&app, &event_at("refund.failed", &refund("re_1", &pi, 400, "failed"), at)).await;
    assert_eq!(told(&app, &id).await, stands(0, "succeeded"));
    endpoint.tell_and_apply(&app, &event_at("refund.updated", &refund("re_1", &pi, 400, "succeeded"), at - 5)).await;
    assert_eq!(told(&app, &id).await, stands(0, "succeeded"));
}

#[tokio::test]
async fn our_own_refund_that_fails_is_for_a_person() {
    let (app, _world, endpoint, id, pi) = paid().await;
    assert_eq!(app.cancel(&id, "c").await.status, 200);
    crate::support::work::work_until(&app, &id, "refunded", |order| order["payment"]["status"] == "refunded").await;
    let query = "SELECT operation_key, external_reference FROM operations WHERE kind = 'refund'";
    let row = app.sql().await.query_one(query, &[]).await.unwrap();
    let mut failed = refund(row.get(1), &pi, 2400, "failed");
    failed["metadata"] = json!({ "ichido_refund_key": row.get::<_, String>(0) });
    endpoint.tell_and_apply(&app, &event("refund.failed", &failed)).await;
    let order = app.order(&id).await;
    assert_eq!((&order["amount_refunded"], &order["payment"]["status"]), (&json!(0), &json!("succeeded")));
    let case = cases(&app).await[0].clone();
    assert_eq!((&case["kind"], &case["reason"]), (&json!("refund"), &json!("refund_unsettled")));
}

#[tokio::test]
async fn another_currency_adds_up_to_nothing_and_is_a_case() {
    let (app, _world, endpoint, id, pi) = paid().await;
    let mut other = refund("re_1", &pi, 400, "succeeded");
    other["currency"] = json!("eur");
    endpoint.tell_and_apply(&app, &event("refund.created", &other)).await;
    assert_eq!(told(&app, &id).await, stands(0, "succeeded"));
    assert_eq!((cases(&app).await.len(), outcome(&app, "refund:re_1:succeeded").await.as_str()), (1, "conflict"));
}

fn dispute(pi: &str, status: &str) -> Value {
    json!({ "id": "dp_1", "object": "dispute", "payment_intent": pi, "charge": "ch_1", "amount": 2400, "currency": "jpy",
        "status": status, "reason": "fraudulent" })
}

#[tokio::test]
async fn a_dispute_is_shown_and_is_a_case_until_it_is_won() {
    let (app, _world, endpoint, id, pi) = paid().await;
    endpoint.tell_and_apply(&app, &event("charge.dispute.created", &dispute(&pi, "warning_needs_response"))).await;
    assert_eq!(told(&app, &id).await, stands(0, "succeeded"));
    assert!(cases(&app).await.is_empty());
    endpoint.tell_and_apply(&app, &event("charge.dispute.updated", &dispute(&pi, "needs_response"))).await;
    assert_eq!(told(&app, &id).await, stands(0, "disputed"));
    let case = cases(&app).await[0].clone();
    assert_eq!((&case["kind"], &case["fact"], &case["reason"]), (&json!("dispute"), &json!("dp_1"), &json!("dispute")));
    // While it is disputed, a part is given back.
    endpoint.tell_and_apply(&app, &event("refund.created", &refund("re_1", &pi, 400, "succeeded"))).await;
    assert_eq!(told(&app, &id).await, stands(400, "disputed"));
    endpoint.tell_and_apply(&app, &event("charge.dispute.closed", &dispute(&pi, "won"))).await;
    assert_eq!(told(&app, &id).await, stands(400, "partially_refunded"));
    assert!(cases(&app).await.is_empty() && app.order(&id).await["needs_reconciliation"] == false);
    // Old news.
    endpoint.tell_and_apply(&app, &event("charge.dispute.updated", &dispute(&pi, "under_review"))).await;
    assert_eq!(told(&app, &id).await, stands(400, "partially_refunded"));
}

/// The final state and amounts do not depend on the order of arrival (I11).
#[tokio::test]
async fn every_order_of_arrival_ends_in_the_same_state() {
    let orders: [[usize; 6]; 6] = [
        [0, 1, 2, 3, 4, 5],
        [5, 4, 3, 2, 1, 0],
        [3, 0, 5, 1, 4, 2],
        [2, 5, 0, 4, 1, 3],
        [1, 3, 5, 0, 2, 4],
        [4, 2, 0, 5, 3, 1],
    ];
    for arrival in orders {
        let (app, _world) = start().await;
        let endpoint = Endpoint::of(&app).await;
        let id = app.post("k", &crate::support::app::order_body()).await.id();
        let at = now() - 100;
        let pi = crate::inbox::endpoint::intent("pi_1", &id, 2400);
        let events = [
            event_at("payment_intent.payment_failed", &pi, at),
            event_at("payment_intent.succeeded", &pi, at + 1),
            event_at("refund.created", &refund("re_1", "pi_1", 400, "succeeded"), at + 2),
            event_at("charge.refunded", &charge("ch_1", "pi_1", 2400, 700), at + 3),
            event_at("charge.dispute.created", &dispute("pi_1", "needs_response"), at + 4),
            event_at("charge.dispute.closed", &dispute("pi_1", "won"), at + 5),
        ];
        for at in arrival {
            endpoint.tell_and_apply(&app, &events[at]).await;
            endpoint.tell_and_apply(&app, &events[at]).await;
        }
        rematch(&app).await;
        assert_eq!(told(&app, &id).await, stands(700, "partially_refunded"), "{arrival:?}");
        assert!(cases(&app).await.is_empty(), "{arrival:?} {:?}", cases(&app).await);
    }
}
