//! One order, one charge, one answer.

use crate::support::app::new_org;
use crate::support::payments::{paid_body, start, use_gateway};
use serde_json::json;

#[tokio::test]
async fn a_paid_order_is_charged_once_and_replays() {
    let (app, world) = start().await;
    let first = app.post("k", &paid_body("pm_card_visa")).await;
    assert_eq!(first.status, 201, "{}", first.json());
    let order = first.json();
    assert_eq!((&order["status"], &order["payment"]["status"]), (&json!("confirmed"), &json!("succeeded")));
    assert_eq!((&order["payment"]["gateway"], &order["payment"]["attempt"]), (&json!("stripe"), &json!(1)));
    assert!(order["payment"]["gateway_reference"].as_str().unwrap().starts_with("pi_"));
    assert_eq!(order["steps"], json!([{ "kind": "charge", "state": "done" }]));
    for _ in 0..3 {
        let replay = app.post("k", &paid_body("pm_card_visa")).await;
        assert_eq!((replay.status, replay.header("Idempotent-Original-Status")), (200, Some("201")));
        assert_eq!(replay.body, first.body);
        assert_eq!(
            (replay.header("Location"), replay.header("ETag")),
            (first.header("Location"), first.header("ETag"))
        );
    }
    assert_eq!(app.order(&first.id()).await, order);
    assert_eq!(world.effects(&first.id()).await.len(), 1);
    assert_eq!(world.count("charge", &first.id()).await, 1);
    assert_eq!(world.effects(&first.id()).await[0]["amount"], order["amount"]);
}

#[tokio::test]
async fn a_declined_payment_is_402_again_and_again_and_charges_nothing() {
    let (app, world) = start().await;
    let first = app.post("k", &paid_body("pm_card_chargeDeclined")).await;
    assert_eq!((first.status, first.code().as_str()), (402, "payment_declined"));
    let problem = first.json();
    assert_eq!((&problem["executed"], &problem["safe_new_key"]), (&json!("yes"), &json!(true)));
    let kind = ichido::http::kinds::KINDS.iter().find(|kind| kind.code == "payment_declined").unwrap();
    assert_eq!(
        (&problem["title"], &problem["retryable"], &problem["status"]),
        (&json!(kind.title), &json!(kind.retryable), &json!(kind.status))
    );
    assert_eq!(problem["safe_new_key"], json!(kind.safe_new_key));
    let order_id = problem["order_id"].as_str().unwrap().to_owned();
    assert_eq!(first.header("Location"), Some(format!("/v1/orders/{order_id}").as_str()));
    let replay = app.post("k", &paid_body("pm_card_chargeDeclined")).await;
    assert_eq!((replay.status, replay.header("Idempotent-Replayed")), (402, Some("true")));
    assert_eq!(replay.body, first.body);
    let order = app.order(&order_id).await;
    assert_eq!((&order["status"], &order["payment"]["status"]), (&json!("payment_failed"), &json!("declined")));
    assert_eq!(world.charges().await, 0);
}

#[tokio::test]
async fn another_method_is_another_request_and_its_name_is_kept_nowhere() {
    let (app, world) = start().await;
    assert_eq!(app.post("k", &paid_body("pm_card_visa")).await.status, 201);
    let other = app.post("k", &paid_body("pm_card_mastercard")).await;
    assert_eq!((other.status, other.code().as_str()), (422, "idempotency_key_reused"));
    assert_eq!(other.json()["differing"], json!(["/payment/method"]));
    let unpaid = app.post("k", &crate::support::app::order_body()).await;
    assert_eq!((unpaid.status, &unpaid.json()["differing"]), (422, &json!(["/payment"])));
    assert_eq!(world.charges().await, 1);
    let sql = app.sql().await;
    for table in ["orders", "idempotency_keys", "payments", "operations", "journal", "gateways"] {
        let query = format!("SELECT count(*) FROM {table} t WHERE t::text LIKE '%pm_card%' OR t::text LIKE '%canary%'");
        let found: i64 = sql.query_one(&query, &[]).await.unwrap().get(0);
        assert_eq!(found, 0, "{table}");
        let rows: i64 = sql.query_one(&format!("SELECT count(*) FROM {table}"), &[]).await.unwrap().get(0);
        assert!(rows > 0, "{table}");
    }
    let sealed: i64 = sql.query_one("SELECT count(method_sealed) FROM payments", &[]).await.unwrap().get(0);
    assert_eq!(sealed, 0, "what is settled needs its method no more");
}

#[tokio::test]
async fn without_a_gateway_nothing_is_claimed() {
    let (app, world) = start().await;
    let other = app.org(new_org()).await;
    let refused = app.post_as(&other.token, "k", &paid_body("pm_card_visa")).await;
    assert_eq!((refused.status, refused.code().as_str()), (400, "payment_not_configured"));
    assert_eq!((app.counts().await, world.charges().await), ((0, 0), 0));
    use_gateway(&app.app, &other, &world.stripe()).await;
    assert_eq!(
        app.post_as(&other.token, "k", &paid_body("pm_card_visa")).await.status,
        201,
        "set for running servers, too"
    );
}

#[tokio::test]
async fn an_order_that_costs_nothing_is_not_paid() {
    let (app, _world) = start().await;
    let mut body = paid_body("pm_card_visa");
    body["lines"][0]["unit_amount"] = json!(0);
    let refused = app.post("k", &body).await;
    assert_eq!((refused.status, &refused.json()["errors"][0]["pointer"]), (400, &json!("/payment")));
    assert_eq!(app.counts().await, (0, 0));
}
