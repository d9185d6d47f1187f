//! The connection to the database is cut at every statement of every flow, before it arrives and after it is done.

use crate::support::app::{Answer, TestApp};
use crate::support::payments::{World, paid_body, use_gateway};
use crate::support::postgres;
use crate::support::proxy::{At, Fault, Proxy};
use crate::support::work::{work, work_until};
use serde_json::json;
use std::time::Duration;

/// What the statements of all flows contain.
const STATEMENTS: [&str; 16] = [
    "WITH claim",
    "FROM gateways",
    "FROM idempotency_keys",
    "BEGIN",
    "now() AS now\nFROM orders",
    "FROM payments\nWHERE",
    "FROM operations\nWHERE",
    "UPDATE operations",
    "UPDATE payments",
    "UPDATE reconciliation_cases",
    "INSERT INTO journal",
    "UPDATE orders",
    "INSERT INTO idempotency_keys",
    "INSERT INTO operations",
    "UPDATE idempotency_keys",
    "COMMIT",
];

struct Faulty {
    proxy: Proxy,
    app: TestApp,
    world: World,
}

impl Faulty {
    async fn start() -> Self {
        let (proxy, direct) = (Proxy::start().await, postgres::database().await);
        let app = TestApp::start_on(proxy.url(&direct), 3, Vec::new()).await;
        let world = World::start();
        use_gateway(&app.app, &app.org, &world.stripe()).await;
        Self { proxy, app, world }
    }
}

/// Sends until the answer is definite; what comes before has to be an honest "not yet".
async fn settle(app: &TestApp, what: &str, send: impl AsyncFn() -> Answer) -> Answer {
    for _ in 0..40 {
        let answer = send().await;
        if matches!(answer.status, 200 | 201 | 402) {
            return answer;
        }
        assert!(matches!(answer.status, 202 | 409 | 503), "{what}: {} {}", answer.status, answer.json());
        work(app).await;
        tokio::time::sleep(Duration::from_millis(150)).await;
    }
    panic!("{what}: never settled");
}

#[tokio::test]
async fn a_new_order_is_charged_once_wherever_the_connection_breaks() {
    let faulty = Faulty::start().await;
    let mut struck = 0;
    for statement in STATEMENTS {
        for (at, name) in [(At::Before, "before"), (At::Answer, "after")] {
            let what = format!("{} {name}", statement.replace([' ', '\n'], "-")).replace(' ', "-");
            faulty.proxy.arm(statement, at, Fault::Cut, 1);
            let before = faulty.proxy.struck();
            let body = paid_body("pm_card_visa");
            let answer = settle(&faulty.app, &what, async || faulty.app.post(&what, &body).await).await;
            struck += usize::from(faulty.proxy.struck() > before);
            faulty.proxy.arm(statement, At::Before, Fault::Cut, 0);
            let replay = faulty.app.post(&what, &body).await;
            assert_eq!((replay.status, replay.body == answer.body), (200, true), "{what}");
            assert_eq!(answer.json()["status"], "confirmed", "{what}");
            assert_eq!(faulty.world.count("charge", &answer.id()).await, 1, "{what}");
        }
    }
    assert!(struck >= 18, "only {struck} were met");
}

#[tokio::test]
async fn a_second_attempt_is_charged_once_wherever_the_connection_breaks() {
    let faulty = Faulty::start().await;
    let mut struck = 0;
    for statement in STATEMENTS {
        for (at, name) in [(At::Before, "before"), (At::Answer, "after")] {
            let what = format!("{} {name}", statement.replace([' ', '\n'], "-")).replace(' ', "-");
            let first = faulty.app.post(&what, &paid_body("pm_card_chargeDeclined")).await;
            let order_id = first.json()["order_id"].as_str().unwrap().to_owned();
            let key = format!("{what}-again");
            let before = faulty.proxy.struck();
            faulty.proxy.arm(statement, at, Fault::Cut, 1);
            let answer =
                settle(&faulty.app, &what, async || faulty.app.pay(&order_id, &key, "pm_card_visa").await).await;
            struck += usize::from(faulty.proxy.struck() > before);
            faulty.proxy.arm(statement, At::Before, Fault::Cut, 0);
            assert_eq!(faulty.app.pay(&order_id, &key, "pm_card_visa").await.body, answer.body, "{what}");
            assert_eq!(answer.json()["payment"]["attempt"], 2, "{what}");
            assert_eq!(faulty.world.count("charge", &order_id).await, 1, "{what}");
        }
    }
    assert!(struck >= 20, "only {struck} were met");
}

#[tokio::test]
async fn a_cancelled_order_gets_its_money_back_once_wherever_the_connection_breaks() {
    let faulty = Faulty::start().await;
    let mut struck = 0;
    for statement in STATEMENTS {
        for (at, name) in [(At::Before, "before"), (At::Answer, "after")] {
            let what = format!("{} {name}", statement.replace([' ', '\n'], "-")).replace(' ', "-");
            let order_id = faulty.app.post(&what, &paid_body("pm_card_visa")).await.id();
            let key = format!("{what}-cancel");
            let before = faulty.proxy.struck();
            faulty.proxy.arm(statement, at, Fault::Cut, 1);
            let answer = settle(&faulty.app, &what, async || faulty.app.cancel(&order_id, &key).await).await;
            assert_eq!(answer.json()["status"], "cancelled", "{what}");
            let order =
                work_until(&faulty.app, &order_id, "refunded", |order| order["amount_refunded"] == order["amount"])
                    .await;
            struck += usize::from(faulty.proxy.struck() > before);
            faulty.proxy.arm(statement, At::Before, Fault::Cut, 0);
            assert_eq!(
                (&order["status"], &order["payment"]["status"]),
                (&json!("cancelled"), &json!("refunded")),
                "{what}"
            );
            assert_eq!(faulty.app.cancel(&order_id, &key).await.body, answer.body, "{what}");
            assert_eq!(
                (faulty.world.count("charge", &order_id).await, faulty.world.count("refund", &order_id).await),
                (1, 1),
                "{what}"
            );
        }
    }
    assert!(struck >= 20, "only {struck} were met");
}
