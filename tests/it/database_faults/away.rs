//! The database is not there, or does not answer.

use super::{BOUND, CLAIM, Faulty, assert_not_executed, assert_outcome_unknown};
use crate::support::app::order_body;
use crate::support::proxy::{At, Fault, Mode};
use crate::support::wait::until;
use std::time::{Duration, Instant};

/// No connection of the pool survives this, and the pool has found out.
async fn take_away(faulty: &Faulty) {
    faulty.proxy.set(Mode::Refuse);
    // Each read finds one dead connection at most.
    for _ in 0..faulty.app.app.db.pool_status().max {
        assert_eq!(faulty.app.get("/v1/orders", "/v1/orders").await.code(), "unavailable");
    }
}

#[tokio::test]
async fn a_database_that_is_down_is_503_not_executed_and_recovers_by_itself() {
    let faulty = Faulty::start(2).await;
    take_away(&faulty).await;
    assert_not_executed(&faulty.post("K").await);
    assert_not_executed(&faulty.app.get("/v1/orders", "/v1/orders").await);
    assert_eq!(faulty.app.get("/readyz", "/readyz").await.status, 503);
    assert_eq!(faulty.app.get("/healthz", "/healthz").await.status, 200);
    assert_eq!(faulty.counts().await, (0, 0));
    faulty.proxy.set(Mode::Pass);
    assert_eq!(faulty.post("K").await.status, 201);
    assert_eq!(faulty.app.get("/readyz", "/readyz").await.status, 200);
    assert_eq!(faulty.counts().await, (1, 1));
}

#[tokio::test]
async fn a_database_that_accepts_and_says_nothing_is_503_not_executed() {
    let faulty = Faulty::start(2).await;
    take_away(&faulty).await;
    faulty.proxy.set(Mode::Stall);
    assert_not_executed(&faulty.post("K").await);
    let started = Instant::now();
    assert_eq!(faulty.app.get("/readyz", "/readyz").await.status, 503);
    assert!(started.elapsed() < Duration::from_secs(2), "a probe has its answer in a second");
    faulty.proxy.set(Mode::Pass);
    assert_eq!(faulty.post("K").await.status, 201);
    assert_eq!(faulty.counts().await, (1, 1));
}

#[tokio::test]
async fn a_claim_that_is_swallowed_is_outcome_unknown_and_its_retry_makes_the_one_order() {
    let faulty = Faulty::start(2).await;
    faulty.proxy.arm(CLAIM, At::Before, Fault::Stall, 1);
    assert_outcome_unknown(&faulty.post("K").await);
    assert_eq!(faulty.counts().await, (0, 0));
    // The claim that the network held back arrives now, and races with the retry.
    faulty.proxy.set(Mode::Pass);
    let retry = faulty.post("K").await;
    assert!(matches!(retry.status, 200 | 201), "{}", retry.status);
    let again = faulty.post("K").await;
    assert_eq!((again.status, &again.body), (200, &retry.body));
    assert_eq!(faulty.counts().await, (1, 1));
}

#[tokio::test]
async fn a_claim_whose_answer_is_swallowed_is_outcome_unknown_and_its_retry_is_200() {
    let faulty = Faulty::start(2).await;
    faulty.proxy.arm(CLAIM, At::Answer, Fault::Stall, 1);
    assert_outcome_unknown(&faulty.post("K").await);
    assert_eq!(faulty.counts().await, (1, 1));
    faulty.proxy.set(Mode::Pass);
    assert_eq!(faulty.post("K").await.status, 200);
    assert_eq!(faulty.counts().await, (1, 1));
}

#[tokio::test]
async fn finding_out_who_asks_and_the_claim_share_one_limit_of_3_s() {
    let faulty = Faulty::start(2).await;
    let scopes = [ichido::domain::scope::Scope::OrdersWrite];
    let token = faulty.app.token(faulty.app.org.id, &scopes).await;
    let body = order_body();
    faulty.proxy.arm("FROM api_keys", At::Before, Fault::Stall, 1);
    let started = Instant::now();
    let slow_then_stuck = async {
        until("the look-up is stuck", BOUND, || async { faulty.proxy.struck() == 1 }).await;
        faulty.proxy.arm(CLAIM, At::Before, Fault::Stall, 1);
        tokio::time::sleep(Duration::from_secs(2)).await;
        faulty.proxy.set(Mode::Pass);
    };
    let (answer, ()) = tokio::join!(faulty.app.post_as(&token, "K", &body), slow_then_stuck);
    let took = started.elapsed();
    assert_eq!((answer.status, faulty.proxy.struck()), (503, 2), "{}", answer.code());
    assert!(took < BOUND, "answered after {took:?}");
}
