//! Disputes, and refunds that contradict what is known.

use crate::inbox::endpoint::{Endpoint, cases, event, outcome, refund};
use crate::support::app::TestApp;
use crate::support::payments::{World, paid_body, start};
use crate::support::work::{work, work_until};
use serde_json::{Value, json};

async fn paid() -> (TestApp, World, Endpoint, String, String) {
    let (app, world) = start().await;
    let endpoint = Endpoint::of(&app).await;
    let order = app.post("k", &paid_body("pm_card_visa")).await.json();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let (id, reference) = (text(&order["id"]), text(&order["payment"]["gateway_reference"]));
    (app, world, endpoint, id, reference)
}

fn dispute(id: &str, pi: &str, status: &str) -> Value {
    json!({ "id": id, "object": "dispute", "payment_intent": pi, "charge": "ch_1", "amount": 2400, "currency": "jpy",
        "status": status, "reason": "fraudulent" })
}

async fn dismiss(app: &TestApp, case: &Value, key: &str) {
    let decision = json!({ "decision": "dismiss", "reason": "settled by hand" });
    assert_eq!(app.decide(case["id"].as_str().unwrap(), key, decision).await.status, 200);
}

#[tokio::test]
async fn money_that_comes_back_for_a_cancelled_order_goes_to_the_customer() {
    let (app, world, endpoint, id, pi) = paid().await;
    endpoint.tell_and_apply(&app, &event("charge.dispute.created", &dispute("dp_1", &pi, "needs_response"))).await;
    assert_eq!(app.order(&id).await["payment"]["status"], "disputed");
    assert_eq!(app.cancel(&id, "c").await.json()["status"], "cancelled");
    work(&app).await;
    assert_eq!(world.count("refund", &id).await, 0, "the bank has the money");
    endpoint.tell_and_apply(&app, &event("charge.dispute.closed", &dispute("dp_1", &pi, "won"))).await;
    let order = work_until(&app, &id, "refunded", |order| order["payment"]["status"] == "refunded").await;
    assert_eq!((&order["amount_refunded"], world.count("refund", &id).await), (&json!(2400), 1));
}

#[tokio::test]
async fn each_dispute_has_its_case_and_old_news_reopen_none() {
    let (app, _world, endpoint, _id, pi) = paid().await;
    for name in ["dp_1", "dp_2"] {
        endpoint.tell_and_apply(&app, &event("charge.dispute.created", &dispute(name, &pi, "needs_response"))).await;
    }
    let facts = |cases: &[Value]| cases.iter().map(|it| it["fact"].as_str().unwrap().to_owned()).collect::<Vec<_>>();
    assert_eq!(facts(&cases(&app).await), ["dp_2", "dp_1"]);
    endpoint.tell_and_apply(&app, &event("charge.dispute.closed", &dispute("dp_1", &pi, "won"))).await;
    assert_eq!(facts(&cases(&app).await), ["dp_2"]);
    endpoint.tell_and_apply(&app, &event("charge.dispute.closed", &dispute("dp_2", &pi, "lost"))).await;
    dismiss(&app, &cases(&app).await[0], "d").await;
    endpoint.tell_and_apply(&app, &event("charge.dispute.updated", &dispute("dp_2", &pi, "under_review"))).await;
    assert!(cases(&app).await.is_empty(), "a person has decided");
}

#[tokio::test]
async fn a_refund_of_ours_with_another_amount_is_a_case_and_ours_goes_on() {
    let (app, world, endpoint, id, pi) = paid().await;
    assert_eq!(app.cancel(&id, "c").await.status, 200);
    let key = "SELECT operation_key FROM operations WHERE kind = 'refund'";
    let key: String = app.sql().await.query_one(key, &[]).await.unwrap().get(0);
    let mut other = refund("re_x", &pi, 1, "succeeded");
    other["metadata"]["ichido_refund_key"] = json!(key);
    endpoint.tell_and_apply(&app, &event("refund.updated", &other)).await;
    assert_eq!(outcome(&app, "refund:re_x:succeeded").await, "conflict");
    assert_eq!(app.order(&id).await["amount_refunded"], 0);
    work_until(&app, &id, "refunded", |order| order["payment"]["status"] == "refunded").await;
    assert_eq!(world.count("refund", &id).await, 1);
}

#[tokio::test]
async fn one_refund_with_two_amounts_is_a_case_and_the_first_one_counts() {
    let (app, _world, endpoint, id, pi) = paid().await;
    endpoint.tell_and_apply(&app, &event("refund.created", &refund("re_1", &pi, 400, "succeeded"))).await;
    endpoint.tell_and_apply(&app, &event("refund.updated", &refund("re_1", &pi, 300, "succeeded"))).await;
    assert_eq!(app.order(&id).await["amount_refunded"], 400);
    assert_eq!(cases(&app).await[0]["reason"], "notification_conflict");
    endpoint.tell_and_apply(&app, &event("refund.created", &refund("re_2", &pi, 100, "succeeded"))).await;
    assert_eq!(app.order(&id).await["amount_refunded"], 500);
}
