//! The connection breaks in the middle of a claim.

use super::{CLAIM, Faulty, assert_not_executed, assert_outcome_unknown};
use crate::support::app::order_body;
use crate::support::proxy::{At, Fault, Mode};

#[tokio::test]
async fn cut_after_the_commit_the_same_request_recognises_its_own_claim_and_is_201() {
    let faulty = Faulty::start(2).await;
    faulty.proxy.arm(CLAIM, At::Answer, Fault::Cut, 1);
    let first = faulty.post("K").await;
    assert_eq!((first.status, faulty.proxy.struck()), (201, 1));
    assert_eq!(first.header("idempotent-replayed"), None);
    let retry = faulty.post("K").await;
    assert_eq!((retry.status, &retry.body), (200, &first.body));
    assert_eq!(faulty.counts().await, (1, 1));
}

#[tokio::test]
async fn cut_after_the_commit_of_an_order_with_a_reference_is_201_and_no_conflict_with_itself() {
    let faulty = Faulty::start(2).await;
    let mut body = order_body();
    body["order_reference"] = "PO-1".into();
    faulty.proxy.arm(CLAIM, At::Answer, Fault::Cut, 1);
    let first = faulty.app.post("K", &body).await;
    assert_eq!((first.status, faulty.proxy.struck()), (201, 1));
    assert_eq!(faulty.counts().await, (1, 1));
}

#[tokio::test]
async fn cut_before_the_statement_arrives_it_is_repeated_and_is_201() {
    let faulty = Faulty::start(2).await;
    faulty.proxy.arm(CLAIM, At::Before, Fault::Cut, 1);
    assert_eq!((faulty.post("K").await.status, faulty.proxy.struck()), (201, 1));
    assert_eq!(faulty.counts().await, (1, 1));
}

#[tokio::test]
async fn a_claim_is_tried_four_times_and_then_its_outcome_is_unknown() {
    let faulty = Faulty::start(2).await;
    faulty.proxy.arm(CLAIM, At::Before, Fault::Cut, 3);
    assert_eq!((faulty.post("K").await.status, faulty.proxy.struck()), (201, 3));
    faulty.proxy.arm(CLAIM, At::Before, Fault::Cut, 4);
    assert_outcome_unknown(&faulty.post("L").await);
    assert_eq!(faulty.post("L").await.status, 201);
    assert_eq!(faulty.counts().await, (2, 2));
}

#[tokio::test]
async fn cut_after_the_commit_for_good_is_outcome_unknown_and_the_retry_has_the_order() {
    let faulty = Faulty::start(2).await;
    faulty.proxy.arm(CLAIM, At::Answer, Fault::CutAndRefuse, 1);
    assert_outcome_unknown(&faulty.post("K").await);
    assert_eq!(faulty.counts().await, (1, 1));
    faulty.proxy.set(Mode::Pass);
    assert_eq!(faulty.post("K").await.status, 200);
    assert_eq!(faulty.counts().await, (1, 1));
}

#[tokio::test]
async fn cut_before_the_statement_for_good_is_outcome_unknown_and_the_retry_makes_the_order() {
    let faulty = Faulty::start(2).await;
    faulty.proxy.arm(CLAIM, At::Before, Fault::CutAndRefuse, 1);
    assert_outcome_unknown(&faulty.post("K").await);
    assert_eq!(faulty.counts().await, (0, 0));
    faulty.proxy.set(Mode::Pass);
    assert_eq!(faulty.post("K").await.status, 201);
    assert_eq!(faulty.counts().await, (1, 1));
}

#[tokio::test]
async fn a_claim_that_commits_while_its_connection_is_lost_answers_a_request_with_another_body_422() {
    let faulty = Faulty::start(2).await;
    faulty.proxy.arm(CLAIM, At::Answer, Fault::CutAndRefuse, 1);
    assert_outcome_unknown(&faulty.post("K").await);
    faulty.proxy.set(Mode::Pass);
    let mut other = order_body();
    other["lines"][0]["quantity"] = 3.into();
    assert_eq!(faulty.app.post("K", &other).await.code(), "idempotency_key_reused");
    assert_eq!(faulty.post("K").await.status, 200);
    assert_eq!(faulty.counts().await, (1, 1));
}

#[tokio::test]
async fn a_read_that_is_cut_is_503_not_executed() {
    let faulty = Faulty::start(2).await;
    faulty.proxy.arm("FROM orders", At::Answer, Fault::Cut, 1);
    assert_not_executed(&faulty.app.get("/v1/orders", "/v1/orders").await);
    assert_eq!(faulty.proxy.struck(), 1);
    assert_eq!(faulty.app.get("/v1/orders", "/v1/orders").await.status, 200);
}
