//! Each fault of a payment.

use super::{World, charges};
use serde_json::json;
use std::time::{Duration, Instant};

#[tokio::test]
async fn lost_answer_is_done_and_never_answered_the_first_time() {
    let world = World::start().await;
    assert!(world.try_pay("K", "pm_sim_lost_answer").await.is_err());
    assert_eq!(world.effects().await, json!([charges("K", 1)]));
    let found = world.get("payment_intents/search?query=metadata['ichido_order_id']:'o1'").await;
    assert_eq!(found.at("/data/0/status"), "succeeded");
    let again = world.pay("K", "pm_sim_lost_answer").await;
    assert_eq!((again.status, again.at("/id")), (200, found.at("/data/0/id")));
    assert!(again.is_replay());
    assert_eq!(world.effects().await, json!([charges("K", 1)]));
}

#[tokio::test]
async fn lost_request_is_neither_done_nor_answered_the_first_time() {
    let world = World::start().await;
    assert!(world.try_pay("K", "pm_sim_lost_request").await.is_err());
    assert_eq!(world.effects().await, json!([]));
    assert_eq!(world.get("payment_intents").await.at("/data"), json!([]));
    let again = world.pay("K", "pm_sim_lost_request").await;
    assert_eq!((again.status, again.is_replay()), (200, false));
    assert!(world.pay("K", "pm_sim_lost_request").await.is_replay());
    assert!(world.try_pay("K2", "pm_sim_lost_request").await.is_err(), "another key has a first call of its own");
    assert_eq!(world.effects().await, json!([charges("K", 1)]));
}

#[tokio::test]
async fn error_500_then_ok_and_conflict_409_strike_once() {
    let world = World::start().await;
    for (key, method, status) in [("K1", "pm_sim_error_500_then_ok", 500), ("K2", "pm_sim_conflict_409", 409)] {
        let first = world.pay(key, method).await;
        assert_eq!((first.status, first.is_replay()), (status, false));
        let second = world.pay(key, method).await;
        assert_eq!((second.status, second.is_replay()), (200, false));
        assert!(world.pay(key, method).await.is_replay());
    }
    assert_eq!(world.pay("K3", "pm_sim_error_500_then_ok").await.at("/error/type"), "api_error");
    assert_eq!(world.pay("K4", "pm_sim_conflict_409").await.at("/error/code"), "idempotency_key_in_use");
    assert_eq!(world.effects().await, json!([charges("K1", 1), charges("K2", 1)]));
}

#[tokio::test]
async fn a_500_of_work_that_began_is_stored() {
    let world = World::start().await;
    for (key, method) in [("K1", "pm_sim_error_500"), ("K2", "pm_sim_error_500_done")] {
        let (first, second) = (world.pay(key, method).await, world.pay(key, method).await);
        assert_eq!((first.status, second.status), (500, 500));
        assert_eq!((first.is_replay(), second.is_replay()), (false, true));
    }
    assert_eq!(world.effects().await, json!([charges("K2", 1)]));
}

#[tokio::test]
async fn slow_is_done_at_once_and_late_only_then() {
    let world = World::start().await;
    for (key, method, seen) in [("K1", "pm_sim_slow_900", 1), ("K2", "pm_sim_late_900", 1)] {
        let started = Instant::now();
        let call = world.pay(key, method);
        let look = async {
            tokio::time::sleep(Duration::from_millis(350)).await;
            world.effects().await.as_array().unwrap().len()
        };
        let (answer, effects) = futures_util::future::join(call, look).await;
        assert_eq!((answer.status, effects), (200, seen), "{method}");
        assert!(started.elapsed() >= Duration::from_millis(900));
    }
    assert_eq!(world.effects().await, json!([charges("K1", 1), charges("K2", 1)]));
}

#[tokio::test]
async fn a_caller_that_hangs_up_changes_nothing() {
    let world = World::start().await;
    for method in ["pm_sim_slow_600", "pm_sim_late_600"] {
        let call = world.try_pay(method, method);
        assert!(tokio::time::timeout(Duration::from_millis(200), call).await.is_err());
        assert_eq!(world.pay(method, method).await.status, 409);
        tokio::time::sleep(Duration::from_millis(800)).await;
        assert!(world.pay(method, method).await.is_replay(), "{method}");
    }
    assert_eq!(world.effects().await.as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn without_a_key_every_call_is_a_first_one() {
    let world = World::start().await;
    let form = super::payment("pm_sim_lost_answer");
    for _ in 0..2 {
        assert!(world.try_post("payment_intents", None, &form).await.is_err());
    }
    assert_eq!(world.effects().await.as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn faults_strike_where_the_money_is_taken() {
    let world = World::start().await;
    let form = [
        ("amount", "1200"),
        ("currency", "jpy"),
        ("payment_method", "pm_sim_lost_answer"),
        ("metadata[ichido_order_id]", "o1"),
    ];
    let created = world.post("payment_intents", "K1", &form).await;
    assert_eq!(created.at("/status"), "requires_confirmation");
    let confirm = format!("payment_intents/{}/confirm", created.id());
    let form = [("error_on_requires_action", "true")];
    assert!(world.try_post(&confirm, Some("K2"), &form).await.is_err());
    let again = world.post(&confirm, "K2", &form).await;
    assert_eq!((again.at("/status"), again.is_replay()), (json!("succeeded"), true));
    assert_eq!(world.effects().await, json!([charges("K2", 1)]));
}
