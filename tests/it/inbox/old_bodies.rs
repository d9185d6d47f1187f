//! The bytes of deliveries are kept for a time, and while something about them is not resolved.

use crate::inbox::endpoint::{Endpoint, cases, charge, count, event, intent, rematch};
use crate::support::app::{TestApp, order_body};
use crate::support::payments::start;
use ichido::app::forget_bodies::{count_bodies_due, forget_bodies};
use serde_json::json;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

async fn forget(app: &TestApp) -> u64 {
    let due = count_bodies_due(&app.app).await.unwrap();
    assert_eq!(forget_bodies(&app.app, &CancellationToken::new()).await.unwrap(), due);
    due
}

async fn age(app: &TestApp, days: i32) {
    let age = "UPDATE receipts SET received_at = now() - $1::integer * interval '1 day'";
    app.sql().await.execute(age, &[&days]).await.unwrap();
}

#[tokio::test]
async fn old_bytes_go_and_those_that_somebody_may_need_stay() {
    let (app, _world) = start().await;
    let endpoint = Endpoint::of(&app).await;
    let [paid, other] = [app.post("k1", &order_body()).await.id(), app.post("k2", &order_body()).await.id()];
    let missing = Uuid::now_v7().to_string();
    // One that is settled, one that is a case, one that waits for its order, and one that was refused.
    endpoint.tell_and_apply(&app, &event("payment_intent.succeeded", &intent("pi_1", &paid, 2400))).await;
    endpoint.tell_and_apply(&app, &event("payment_intent.succeeded", &intent("pi_2", &other, 1))).await;
    endpoint.tell(&app, &event("payment_intent.succeeded", &intent("pi_3", &missing, 2400))).await;
    assert_eq!(endpoint.deliver(&app, b"{}", Some("t=1,v1=00")).await.status, 400);
    age(&app, 89).await;
    assert_eq!(forget(&app).await, 0);
    age(&app, 91).await;
    assert_eq!(forget(&app).await, 2, "the settled one and the refused one");
    let kept = "SELECT count(*) FROM receipts WHERE body IS NOT NULL AND object_id IN ('pi_2', 'pi_3')";
    assert_eq!(count(&app, kept).await, 2);
    assert_eq!(count(&app, "SELECT count(*) FROM receipts").await, 4, "the rows stay");
    assert_eq!(forget(&app).await, 0);
    let case = cases(&app).await[0].clone();
    let done = json!({ "decision": "mark_not_done", "reason": "given back by hand" });
    let decided = app.decide(case["id"].as_str().unwrap(), "d", done).await;
    assert_eq!(decided.status, 200, "{}", decided.json());
    assert_eq!(forget(&app).await, 1, "a person has decided");
}

/// The order that the case is about was named by the second notification only.
#[tokio::test]
async fn bytes_stay_while_the_case_about_a_missing_order_is_open() {
    let (app, _world) = start().await;
    let endpoint = Endpoint::of(&app).await;
    endpoint.tell(&app, &event("charge.succeeded", &charge("ch_1", "pi_1", 2400, 0))).await;
    let missing = Uuid::now_v7().to_string();
    endpoint.tell(&app, &event("payment_intent.succeeded", &intent("pi_1", &missing, 2400))).await;
    app.sql().await.execute("UPDATE events SET deadline = now()", &[]).await.unwrap();
    rematch(&app).await;
    let case = cases(&app).await[0].clone();
    assert_eq!(case["reason"], "order_missing");
    age(&app, 91).await;
    assert_eq!(forget(&app).await, 0);
    let done = json!({ "decision": "dismiss", "reason": "given back by hand" });
    assert_eq!(app.decide(case["id"].as_str().unwrap(), "d", done).await.status, 200);
    assert_eq!(forget(&app).await, 2);
}
