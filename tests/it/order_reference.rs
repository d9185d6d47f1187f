//! `order_reference`: the second guard, for clients that make a new key for each try.

use crate::support::app::{TestApp, new_org, order_body};
use crate::support::bodies::{key_is_unused, with};
use crate::support::held::{PLACE_PO_1, begin, blocked};
use futures_util::future::join_all;
use ichido::db::orgs::NewOrg;
use serde_json::{Value, json};

fn referenced(reference: &str) -> Value {
    with("/order_reference", json!(reference))
}

#[tokio::test]
async fn a_new_key_with_a_known_reference_is_409_with_the_first_orders_id() {
    let app = TestApp::start().await;
    let first = app.post("K1", &referenced("PO-1")).await;
    for _ in 0..2 {
        let taken = app.post("K2", &referenced("PO-1")).await;
        assert_eq!((taken.status, taken.code().as_str()), (409, "order_reference_taken"));
        let problem = taken.json();
        assert_eq!(problem["order_id"], json!(first.id()));
        assert_eq!((&problem["executed"], &problem["retryable"]), (&json!("no"), &json!(false)));
        assert_eq!((taken.header("retry-after"), taken.header("location")), (None, None));
    }
    // Another order with the reference is refused too.
    let mut other = referenced("PO-1");
    other["currency"] = json!("USD");
    assert_eq!(app.post("K3", &other).await.json()["order_id"], json!(first.id()));
    assert_eq!(app.counts().await, (1, 1));
    key_is_unused(&app, "K2").await;
}

#[tokio::test]
async fn a_retry_under_the_first_key_replays() {
    let app = TestApp::start().await;
    let first = app.post("K", &referenced("PO-1")).await;
    let again = app.post("K", &referenced("PO-1")).await;
    assert_eq!((first.status, again.status), (201, 200));
    assert_eq!(first.body, again.body);
}

#[tokio::test]
async fn a_mismatch_of_the_key_wins_over_a_taken_reference() {
    let app = TestApp::start().await;
    app.post("K1", &referenced("PO-1")).await;
    app.post("K2", &referenced("PO-2")).await;
    let answer = app.post("K1", &referenced("PO-2")).await;
    assert_eq!((answer.status, answer.code().as_str()), (422, "idempotency_key_reused"));
    assert_eq!(answer.json()["differing"], json!(["/order_reference"]));
}

#[tokio::test]
async fn references_are_compared_character_by_character() {
    let app = TestApp::start().await;
    for (number, reference) in
        ["PO-1", "po-1", "PO-1 ", " PO-1", "PO\u{2010}1", "é", "e\u{301}"].into_iter().enumerate()
    {
        assert_eq!(app.post(&format!("K{number}"), &referenced(reference)).await.status, 201, "{reference:?}");
    }
}

#[tokio::test]
async fn orders_without_a_reference_do_not_meet() {
    let app = TestApp::start().await;
    for key in ["K1", "K2"] {
        assert_eq!(app.post(key, &with("/order_reference", json!(null))).await.status, 201);
    }
    assert_eq!(app.post("K3", &order_body()).await.status, 201);
}

#[tokio::test]
async fn many_keys_at_once_with_one_reference_make_one_order() {
    let a = TestApp::start().await;
    let b = TestApp::start_on(a.url.clone(), 4, Vec::new()).await;
    for round in 0..4 {
        let body = referenced(&format!("PO-{round}"));
        let post = async |number: usize| {
            let service = [&a, &b][number % 2];
            service.post_as(&a.org.token, &format!("K{round}-{number}"), &body).await
        };
        let answers = join_all((0..24).map(post)).await;
        let created: Vec<_> = answers.iter().filter(|answer| answer.status == 201).collect();
        assert_eq!(created.len(), 1);
        for answer in answers.iter().filter(|answer| answer.status != 201) {
            assert_eq!((answer.status, answer.code().as_str()), (409, "order_reference_taken"));
            assert_eq!(answer.json()["order_id"], json!(created[0].id()));
        }
        assert_eq!(a.counts().await, (round + 1, round + 1), "losers leave their keys unused");
    }
}

#[tokio::test]
async fn a_storm_of_one_key_with_a_reference_gets_replays_and_never_taken() {
    let app = TestApp::start().await;
    for round in 0..4 {
        let (key, body) = (format!("K{round}"), referenced(&format!("PO-{round}")));
        let answers = join_all((0..24).map(|_| app.post(&key, &body))).await;
        let mut statuses: Vec<_> = answers.iter().map(|answer| answer.status).collect();
        statuses.sort_unstable();
        assert_eq!((statuses.pop(), statuses.iter().all(|status| *status == 200)), (Some(201), true), "{statuses:?}");
    }
}

#[tokio::test]
async fn a_reference_taken_in_this_very_moment_is_409_and_undoes_the_claim() {
    let app = TestApp::start().await;
    let winner = begin(&app, PLACE_PO_1).await;
    let body = referenced("PO-1");
    let (answer, ()) = tokio::join!(app.post("K", &body), async {
        blocked(&app, 1).await;
        winner.batch_execute("COMMIT").await.unwrap();
    });
    assert_eq!((answer.status, answer.code().as_str()), (409, "order_reference_taken"));
    assert_eq!(answer.json()["order_id"], "01890000-0000-7000-8000-000000000001");
    key_is_unused(&app, "K").await;
}

#[tokio::test]
async fn a_reference_given_up_in_this_very_moment_is_free() {
    let app = TestApp::start().await;
    let loser = begin(&app, PLACE_PO_1).await;
    let body = referenced("PO-1");
    let (answer, ()) = tokio::join!(app.post("K", &body), async {
        blocked(&app, 1).await;
        loser.batch_execute("ROLLBACK").await.unwrap();
    });
    assert_eq!(answer.status, 201);
    assert_eq!(app.counts().await, (1, 1));
}

#[tokio::test]
async fn a_reference_outlives_its_key() {
    let app = TestApp::start().await;
    let org = app.org(NewOrg { keys_kept_for_seconds: Some(86_400), ..new_org() }).await;
    let first = app.post_as(&org.token, "K", &referenced("PO-1")).await;
    let client = app.sql().await;
    assert_eq!(client.execute("DELETE FROM idempotency_keys", &[]).await.unwrap(), 1);
    let again = app.post_as(&org.token, "K", &referenced("PO-1")).await;
    assert_eq!((again.status, again.code().as_str()), (409, "order_reference_taken"));
    assert_eq!(again.json()["order_id"], json!(first.id()));
}
