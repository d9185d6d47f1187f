//! The database turns read-only (SQLSTATE 25006, a primary that became a standby) around a payment.

use crate::support::app::TestApp;
use crate::support::payments::{World, paid_body, start};
use crate::support::work::work_until;
use serde_json::json;

/// A trigger that refuses changes of a table as a read-only server does, also in sessions that are there already.
async fn turn_read_only(app: &TestApp, table: &str, event: &str) {
    let text = format!(
        "CREATE FUNCTION read_only() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            RAISE EXCEPTION 'cannot execute in a read-only transaction' USING ERRCODE = '25006'; END $$;
        CREATE TRIGGER read_only BEFORE {event} ON {table} FOR EACH ROW EXECUTE FUNCTION read_only()"
    );
    app.sql().await.batch_execute(&text).await.unwrap();
}

async fn turn_writable(app: &TestApp) {
    app.sql().await.batch_execute("DROP FUNCTION read_only() CASCADE").await.unwrap();
}

#[tokio::test]
async fn before_the_claim_nothing_is_done_and_no_gateway_hears_of_it() {
    let (app, world) = start().await;
    turn_read_only(&app, "idempotency_keys", "INSERT").await;
    for _ in 0..6 {
        let refused = app.post("k", &paid_body("pm_card_visa")).await;
        assert_eq!((refused.status, refused.code().as_str()), (503, "unavailable"));
        assert_eq!((&refused.json()["executed"], &refused.json()["retryable"]), (&json!("no"), &json!(true)));
        assert!(refused.header("Retry-After").is_some());
    }
    assert_eq!((app.counts().await, world.charges().await), ((0, 0), 0));
    turn_writable(&app).await;
    assert_eq!(app.post("k", &paid_body("pm_card_visa")).await.status, 201);
    assert_eq!(world.charges().await, 1);
}

#[tokio::test]
async fn after_the_charge_its_outcome_is_unknown_to_the_client_and_settled_later_charged_once() {
    let (app, world) = start().await;
    turn_read_only(&app, "operations", "UPDATE").await;
    let unknown = app.post("k", &paid_body("pm_card_visa")).await;
    assert_eq!((unknown.status, unknown.code().as_str()), (503, "outcome_unknown"));
    assert_eq!((&unknown.json()["executed"], &unknown.json()["safe_new_key"]), (&json!("unknown"), &json!(false)));
    assert_eq!(world.charges().await, 1);
    turn_writable(&app).await;
    settled(&app, &world).await;
}

#[tokio::test]
async fn a_cancellation_that_could_not_be_recorded_was_not_executed() {
    let (app, world) = start().await;
    let paid = app.post("k", &paid_body("pm_card_visa")).await;
    turn_read_only(&app, "orders", "UPDATE").await;
    for _ in 0..6 {
        let refused = app.cancel(&paid.id(), "c").await;
        assert_eq!((refused.status, refused.code().as_str()), (503, "unavailable"));
        assert_eq!(refused.json()["executed"], json!("no"));
    }
    turn_writable(&app).await;
    assert_eq!(app.cancel(&paid.id(), "c").await.status, 200);
    work_until(&app, &paid.id(), "given back", |order| order["payment"]["status"] == "refunded").await;
    assert_eq!((world.count("charge", &paid.id()).await, world.count("refund", &paid.id()).await), (1, 1));
}

async fn settled(app: &TestApp, world: &World) {
    let sql = app.sql().await;
    let order: String = sql.query_one("SELECT order_id::text FROM orders", &[]).await.unwrap().get(0);
    work_until(app, &order, "paid", |order| order["status"] == "confirmed").await;
    let replay = app.post("k", &paid_body("pm_card_visa")).await;
    assert_eq!((replay.status, replay.id()), (200, order));
    assert_eq!(world.charges().await, 1);
}
