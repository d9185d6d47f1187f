//! A key that was removed after its time and is used again: what comes late of its first request is no answer to the second.

use crate::support::app::{Answer, TestApp, TestOrg, new_org};
use crate::support::payments::{World, paid_body, start, use_gateway};
use crate::support::work::work;
use ichido::app::charge::send::Heard;
use ichido::app::charge::settle::{Finding, settle_charge};
use ichido::app::clean_up::clean_up;
use ichido::db::operations::OperationId;
use ichido::db::orgs::NewOrg;
use ichido::domain::ids::OrderId;
use ichido::domain::payment::ChargeFact;
use reqwest::Method;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

async fn execute(app: &TestApp, sql: &str) {
    assert!(app.sql().await.execute(sql, &[]).await.unwrap() > 0, "{sql}");
}

/// An order whose payment was refused under the key `k`, which is free again.
async fn refused() -> (TestApp, World, TestOrg, String) {
    let (app, world) = start().await;
    let org = app.org(NewOrg { keys_kept_for_seconds: Some(86_400), ..new_org() }).await;
    use_gateway(&app.app, &org, &world.stripe()).await;
    let refused = app.post_as(&org.token, "k", &paid_body("pm_card_chargeDeclined")).await;
    assert_eq!(refused.status, 402);
    execute(&app, "UPDATE idempotency_keys SET expires_at = now() - interval '1 hour'").await;
    clean_up(&app.app, 100, &CancellationToken::new()).await.unwrap();
    (app, world, org, refused.json()["order_id"].as_str().unwrap().to_owned())
}

/// The refused attempt has taken its money after all.
async fn comes_late(app: &TestApp, org: &TestOrg, order_id: &str) {
    let finding = Finding {
        id: OperationId::charge(org.id, OrderId::parse(order_id).unwrap(), 1),
        token: None,
        heard: Heard {
            fact: ChargeFact::Succeeded { reference: Some("pi_late".to_owned()) },
            outcome: "late",
            retry_after: None,
        },
        asked: false,
        actor: "notification".to_owned(),
        request_id: uuid::Uuid::now_v7(),
    };
    assert!(settle_charge(&app.app, &finding).await.unwrap().reply.is_none(), "nobody waits for it any more");
}

async fn pay(app: &TestApp, org: &TestOrg, order_id: &str, body: &Value) -> Answer {
    let path = format!("/v1/orders/{order_id}/payments");
    let request = app.request(Method::POST, &path).bearer_auth(&org.token).header("Idempotency-Key", "k");
    app.send(request.json(body), "/v1/orders/{order_id}/payments").await
}

#[tokio::test]
async fn another_orders_late_success_is_no_answer() {
    let (app, _world, org, first) = refused().await;
    let second = app.post_as(&org.token, "k", &paid_body("pm_sim_lost_answer")).await;
    assert_eq!(second.status, 202);
    assert_ne!(second.id(), first);
    comes_late(&app, &org, &first).await;
    let retry = app.post_as(&org.token, "k", &paid_body("pm_sim_lost_answer")).await;
    assert_eq!((retry.status, retry.id()), (202, second.id()), "the second order's payment is not known");
    execute(&app, "UPDATE operations SET next_attempt_at = now() WHERE state = 'unknown'").await;
    work(&app).await;
    let settled = app.post_as(&org.token, "k", &paid_body("pm_sim_lost_answer")).await;
    assert_eq!((settled.status, settled.id()), (200, second.id()));
}

#[tokio::test]
async fn another_attempts_late_success_is_no_answer() {
    let (app, _world, org, order) = refused().await;
    let body = json!({ "method": "pm_sim_lost_request" });
    assert_eq!(pay(&app, &org, &order, &body).await.status, 202);
    comes_late(&app, &org, &order).await;
    let retry = pay(&app, &org, &order, &body).await;
    assert_eq!(retry.status, 202, "the second attempt is not settled: {}", retry.json());
}
