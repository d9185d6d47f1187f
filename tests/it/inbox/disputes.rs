//! Disputes, and refunds that contradict what is known.

use crate::inbox::endpoint::{cases, event, outcome, refund};
use crate::inbox::refunds::paid;
use crate::support::app::TestApp;
use crate::support::work::{work, work_until};
use serde_json::{Value, json};

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

/// The provider's notification need not carry what we wrote into the refund: it is known by its name.
#[tokio::test]
async fn our_own_refund_that_fails_is_for_a_person_whatever_its_metadata_say() {
    let (app, _world, endpoint, id, pi) = paid().await;
    assert_eq!(app.cancel(&id, "c").await.status, 200);
    work_until(&app, &id, "refunded", |order| order["payment"]["status"] == "refunded").await;
    let name = "SELECT external_reference FROM operations WHERE kind = 'refund'";
    let name: String = app.sql().await.query_one(name, &[]).await.unwrap().get(0);
    endpoint.tell_and_apply(&app, &event("refund.failed", &refund(&name, &pi, 2400, "failed"))).await;
    let case = cases(&app).await[0].clone();
    assert_eq!((&case["reason"], &case["kind"]), (&json!("refund_unsettled"), &json!("refund")));
    let order = app.order(&id).await;
    assert_eq!((&order["amount_refunded"], &order["needs_reconciliation"]), (&json!(0), &json!(true)));
}

/// A part was given back at the gateway, we gave back the rest, and then the first part came back.
#[tokio::test]
async fn money_of_a_cancelled_order_that_comes_back_after_our_refund_is_for_a_person() {
    let (app, world, endpoint, id, pi) = paid().await;
    endpoint.tell_and_apply(&app, &event("refund.created", &refund("re_x", &pi, 500, "succeeded"))).await;
    assert_eq!(app.cancel(&id, "c").await.status, 200);
    work_until(&app, &id, "refunded", |order| order["payment"]["status"] == "refunded").await;
    endpoint.tell_and_apply(&app, &event("refund.failed", &refund("re_x", &pi, 500, "failed"))).await;
    let order = app.order(&id).await;
    assert_eq!((&order["amount_refunded"], &order["needs_reconciliation"]), (&json!(1900), &json!(true)));
    assert_eq!(cases(&app).await[0]["reason"], "refund_unsettled");
    assert_eq!(world.count("refund", &id).await, 1);
}

#[tokio::test]
async fn more_given_back_than_was_taken_is_a_case() {
    for (first, second) in [(1_400, 1_400), (2_400, i64::MAX), (i64::MAX, i64::MAX)] {
        let (app, _world, endpoint, id, pi) = paid().await;
        for (name, amount) in [("re_1", first), ("re_2", second)] {
            endpoint.tell_and_apply(&app, &event("refund.created", &refund(name, &pi, amount, "succeeded"))).await;
        }
        let order = app.order(&id).await;
        assert_eq!((&order["amount_refunded"], &order["payment"]["status"]), (&json!(2400), &json!("refunded")));
        let cases = cases(&app).await;
        assert!(!cases.is_empty() && order["needs_reconciliation"] == true, "{first} {second} {order}");
        assert!(cases.iter().all(|case| case["reason"] == "notification_conflict"), "{cases:?}");
    }
}

/// It failed, and then the older news comes that it had succeeded.
#[tokio::test]
async fn a_refund_that_failed_stays_a_case_whatever_older_news_say() {
    let (app, world, endpoint, id, pi) = paid().await;
    // Our own call is not made yet when the gateway's news come.
    assert_eq!(app.cancel(&id, "c").await.status, 200);
    let client = app.sql().await;
    let key = "SELECT operation_key FROM operations WHERE kind = 'refund'";
    let key: String = client.query_one(key, &[]).await.unwrap().get(0);
    let told = |status: &str| {
        let mut object = refund("re_1", &pi, 2400, status);
        object["metadata"]["ichido_refund_key"] = json!(key);
        event("refund.updated", &object)
    };
    endpoint.tell_and_apply(&app, &told("failed")).await;
    assert_eq!(cases(&app).await[0]["reason"], "refund_unsettled");
    endpoint.tell_and_apply(&app, &told("succeeded")).await;
    let order = app.order(&id).await;
    assert_eq!((&order["amount_refunded"], &order["needs_reconciliation"]), (&json!(0), &json!(true)));
    assert_eq!((cases(&app).await.len(), world.count("refund", &id).await), (1, 0));
}
