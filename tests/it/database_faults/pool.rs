//! Every connection of the pool is taken.

use super::{BOUND, assert_not_executed};
use crate::support::app::{Answer, TestApp, order_body};
use crate::support::payments::{open_case, paid_body, start};
use futures_util::future::join_all;
use ichido::db::deadline::Deadline;
use ichido::db::sql;
use ichido::db::tx::Tx;
use serde_json::json;
use std::time::Instant;

/// Takes all connections that the pool may have.
async fn take_all(app: &TestApp) -> Vec<Tx> {
    let all = app.app.db.pool_status().max;
    join_all((0..all).map(|_| async { app.app.db.begin(Deadline::of_request()).await.unwrap() })).await
}

async fn bounded(answer: impl Future<Output = Answer>) -> Answer {
    let started = Instant::now();
    let answer = answer.await;
    assert!(started.elapsed() < BOUND, "{} after {:?}", answer.status, started.elapsed());
    answer
}

#[tokio::test]
async fn without_a_connection_nothing_is_done_and_everybody_is_told_when_to_come_again() {
    let (app, world) = start().await;
    let unpaid = app.post("unpaid", &order_body()).await.id();
    let paid = app.post("paid", &paid_body("pm_card_visa")).await.id();
    let other = app.post("other", &order_body()).await.id();
    let case = open_case(&app.sql().await, &app.org, &other).await;
    let before = app.counts().await;
    let held = take_all(&app).await;
    let decision = json!({ "decision": "mark_not_done", "reason": "the gateway knows nothing of it" });
    let list = ["/v1/orders", "/v1/operations", "/v1/receipts", "/v1/events", "/v1/reconciliation-cases"];
    let (commands, reads, lists) = tokio::join!(
        async {
            let (pay, cancel, decide) = tokio::join!(
                bounded(app.pay(&unpaid, "p", "pm_card_visa")),
                bounded(app.cancel(&paid, "c")),
                bounded(app.decide(&case, "d", decision.clone())),
            );
            vec![pay, cancel, decide]
        },
        async { vec![bounded(app.get(&format!("/v1/orders/{paid}"), "/v1/orders/{order_id}")).await] },
        join_all(list.map(|path| bounded(app.get(path, path)))),
    );
    for answer in commands.iter().chain(&reads).chain(&lists) {
        assert_not_executed(answer);
    }
    assert_eq!(app.counts().await, before);
    assert_eq!(world.charges().await, 1);
    assert_eq!(world.count("refund", &paid).await, 0);
    for tx in held {
        tx.rollback().await;
    }
    // The same keys, and this time it is done.
    assert_eq!(app.pay(&unpaid, "p", "pm_card_visa").await.status, 201);
    assert_eq!(app.cancel(&paid, "c").await.status, 200);
    assert_eq!(app.decide(&case, "d", decision).await.status, 200);
    assert_eq!(app.get("/v1/orders", "/v1/orders").await.status, 200);
    assert_eq!(world.charges().await, 2);
    let status = app.app.db.pool_status();
    assert_eq!((status.idle, status.waiting), (status.open, 0), "{status:?}");
}

/// New orders have connections of their own, so they do not wait for what holds the pool.
#[tokio::test]
async fn an_order_and_its_payment_get_past_a_pool_that_is_taken_or_are_not_begun() {
    let (app, world) = start().await;
    // Who asks is known from now on.
    assert_eq!(app.post("warm", &order_body()).await.status, 201);
    let held = take_all(&app).await;
    assert_eq!(bounded(app.post("unpaid", &order_body())).await.status, 201);
    let answer = app.post("paid", &paid_body("pm_card_visa")).await;
    assert!(matches!(answer.status, 201 | 202 | 503), "{}", answer.status);
    drop(held);
    for _ in 0..20 {
        if matches!(app.post("paid", &paid_body("pm_card_visa")).await.status, 200 | 201) {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    }
    let paid = app.post("paid", &paid_body("pm_card_visa")).await;
    assert_eq!((paid.status, &paid.json()["status"]), (200, &json!("confirmed")));
    assert_eq!((app.counts().await, world.charges().await), ((3, 3), 1));
}

/// PostgreSQL answers COMMIT with ROLLBACK when a statement had failed, and no error.
#[tokio::test]
async fn a_pooled_transaction_whose_statement_failed_is_never_reported_as_committed() {
    let app = TestApp::start().await;
    let tx = app.app.db.begin(Deadline::of_request()).await.unwrap();
    let params: ichido::db::Params<'_> = &[&"swallowed", &"test", &"reject", &"200", &None::<i64>, &None::<i32>];
    assert!(tx.row(&sql::ORG_CREATE, params).await.unwrap().is_some());
    // The fault: an error that nobody hands on.
    let nonsense: ichido::db::Params<'_> = &[&"swallowed", &"no mode", &"reject", &"200", &None::<i64>, &None::<i32>];
    assert!(tx.row(&sql::ORG_CREATE, nonsense).await.is_err());
    assert!(tx.commit().await.is_err());
    let orgs = app.app.db.list_orgs(Deadline::of_request()).await.unwrap();
    assert_eq!(orgs.len(), 1, "only the test's own");
}
