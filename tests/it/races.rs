//! Many requests under one key at once, on one service and on two.

use crate::support::app::{Answer, TestApp, order_body};
use crate::support::bodies::{with, with_lines};
use crate::support::held::{PLACE_PO_1, begin, blocked, copy_of_key, eventually, unfinish};
use crate::support::postgres;
use futures_util::future::join_all;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};
use std::collections::HashMap;

/// Sends the same request so many times at once, to the services in turn; exactly one may create, and every other gets
/// its answer or is told to come again.
async fn storm(services: &[&TestApp], token: &str, key: &str, size: usize) -> Answer {
    let body = order_body();
    let service = |number: usize| services[number % services.len()];
    let mut answers = join_all((0..size).map(|number| service(number).post_as(token, key, &body))).await;
    assert!(answers.iter().all(|answer| matches!(answer.status, 200 | 201 | 409)), "{:?}", statuses(&answers));
    assert!(answers.iter().all(|answer| answer.status != 409 || answer.code() == "request_in_flight"));
    let created: Vec<_> = answers.iter().filter(|answer| answer.status == 201).cloned().collect();
    assert_eq!(created.len(), 1, "{:?}", statuses(&answers));
    answers.retain(|answer| answer.status == 200);
    answers.extend(join_all(services.iter().map(|service| service.post_as(token, key, &body))).await);
    for answer in &answers {
        assert_eq!((answer.status, &answer.body), (200, &created[0].body));
        assert_eq!(answer.header("location"), created[0].header("location"));
        assert_eq!(answer.header("etag"), created[0].header("etag"));
    }
    created[0].clone()
}

fn statuses(answers: &[Answer]) -> Vec<u16> {
    answers.iter().map(|answer| answer.status).collect()
}

#[tokio::test]
async fn storms_on_one_service_make_one_order_each() {
    let app = TestApp::start().await;
    for (number, size) in [2, 2, 3, 5, 8, 13, 32, 64].into_iter().enumerate() {
        storm(&[&app], &app.org.token, &format!("K{number}"), size).await;
    }
    assert_eq!(app.counts().await, (8, 8));
}

#[tokio::test]
async fn storms_on_two_services_make_one_order_each() {
    let a = TestApp::start().await;
    let b = TestApp::start_on(a.url.clone(), 4, Vec::new()).await;
    for (number, size) in [2, 2, 2, 2, 4, 16, 64].into_iter().enumerate() {
        storm(&[&a, &b], &a.org.token, &format!("K{number}"), size).await;
    }
    assert_eq!(a.counts().await, (7, 7));
}

#[tokio::test]
async fn many_keys_at_once_are_all_served() {
    let app = TestApp::start().await;
    let body = order_body();
    let keys: Vec<_> = (0..64).map(|number| format!("K{number}")).collect();
    let answers = join_all(keys.iter().map(|key| app.post(key, &body))).await;
    assert!(answers.iter().all(|answer| answer.status == 201), "{:?}", statuses(&answers));
    assert_eq!(app.counts().await, (64, 64));
}

/// One request of a random storm.
struct Shot {
    key: usize,
    body: usize,
    service: usize,
}

/// What must hold whatever the order in which the requests arrived: each key belongs to one of its bodies; that one was
/// created once and replays; every other body is a mismatch.
fn check_against_model(seed: u64, shots: &[Shot], answers: &[Answer]) -> HashMap<usize, (usize, Vec<u8>)> {
    let mut won = HashMap::new();
    for (shot, answer) in shots.iter().zip(answers) {
        if answer.status == 201 {
            let before = won.insert(shot.key, (shot.body, answer.body.clone()));
            assert!(before.is_none(), "seed {seed}: two orders under key {}", shot.key);
        }
    }
    for (shot, answer) in shots.iter().zip(answers) {
        let (body, first) = won.get(&shot.key).unwrap_or_else(|| panic!("seed {seed}: nobody got key {}", shot.key));
        match answer.status {
            200 | 201 => assert_eq!((&shot.body, &answer.body), (body, first), "seed {seed}"),
            422 => assert_ne!(shot.body, *body, "seed {seed}"),
            status => panic!("seed {seed}: {status} {}", answer.json()),
        }
    }
    won
}

#[tokio::test]
async fn random_storms_agree_with_the_model() {
    let a = TestApp::start().await;
    let b = TestApp::start_on(a.url.clone(), 4, Vec::new()).await;
    let bodies: Vec<Value> = (1..5).map(with_lines).collect();
    let mut orders = 0;
    for seed in 0..6 {
        let mut random = StdRng::seed_from_u64(seed);
        let keys = random.random_range(1..6);
        let shot = |random: &mut StdRng| Shot {
            key: random.random_range(0..keys),
            body: random.random_range(0..bodies.len()),
            service: random.random_range(0..2),
        };
        let shots: Vec<_> = (0..random.random_range(2..65)).map(|_| shot(&mut random)).collect();
        let name = |key: usize| format!("seed-{seed}-{key}");
        let answers = join_all(shots.iter().map(async |shot| {
            let service = [&a, &b][shot.service];
            service.post_as(&a.org.token, &name(shot.key), &bodies[shot.body]).await
        }))
        .await;
        let won = check_against_model(seed, &shots, &answers);
        orders += i64::try_from(won.len()).unwrap();
        assert_eq!(a.counts().await, (orders, orders), "seed {seed}");
        for (key, (body, first)) in won {
            let again = b.post_as(&a.org.token, &name(key), &bodies[body]).await;
            assert_eq!((again.status, again.body), (200, first), "seed {seed}");
        }
    }
}

#[tokio::test]
async fn a_loser_that_waited_finds_the_row_its_snapshot_did_not_show() {
    let app = TestApp::start().await;
    let first = app.post("first", &order_body()).await;
    let winner = begin(&app, &copy_of_key("first", "K")).await;
    let body = order_body();
    let (answer, ()) = tokio::join!(app.post("K", &body), async {
        blocked(&app, 1).await;
        winner.batch_execute("COMMIT").await.unwrap();
    });
    assert_eq!((answer.status, answer.body), (200, first.body));
    assert_eq!(app.counts().await, (1, 2));
}

#[tokio::test]
async fn a_loser_takes_over_when_the_winner_rolls_back() {
    let app = TestApp::start().await;
    let first = app.post("first", &order_body()).await;
    let winner = begin(&app, &copy_of_key("first", "K")).await;
    let body = order_body();
    let (answer, ()) = tokio::join!(app.post("K", &body), async {
        blocked(&app, 1).await;
        winner.batch_execute("ROLLBACK").await.unwrap();
    });
    assert_eq!(answer.status, 201);
    assert_ne!(answer.id(), first.id());
    assert_eq!(app.counts().await, (2, 2));
}

#[tokio::test]
async fn a_key_removed_between_the_conflict_and_the_look_is_claimed_anew() {
    let app = TestApp::start_on(postgres::database().await, 1, Vec::new()).await;
    let first = app.post("first", &order_body()).await;
    let winner = begin(&app, &copy_of_key("first", "K")).await;
    let remover = app.sql().await;
    let body = order_body();
    // The removal asks for the whole table while the claim waits for the winner, so it comes after the claim's conflict
    // and before the look, which has to wait for the table.
    let (answer, (), ()) = tokio::join!(
        app.post("K", &body),
        async {
            let waits_alone = async || {
                let pool = app.app.db.pool_status();
                pool.open - pool.idle == 1
            };
            eventually("the claim has left its batch", waits_alone).await;
            blocked(&app, 1).await;
            let removal = "BEGIN; LOCK TABLE idempotency_keys IN ACCESS EXCLUSIVE MODE;
                DELETE FROM idempotency_keys WHERE idempotency_key = 'K'; COMMIT";
            remover.batch_execute(removal).await.unwrap();
        },
        async {
            blocked(&app, 2).await;
            winner.batch_execute("COMMIT").await.unwrap();
        }
    );
    assert_eq!(answer.status, 201);
    assert_ne!(answer.id(), first.id());
    assert_eq!(app.post("K", &order_body()).await.body, answer.body);
}

#[tokio::test]
async fn a_deadlock_is_tried_again() {
    let app = TestApp::start().await;
    app.post("first", &order_body()).await;
    // A gate between the claim's insert and the order's.
    let gate = begin(&app, "SELECT pg_advisory_lock(1)").await;
    let trigger = "CREATE FUNCTION gate() RETURNS trigger LANGUAGE plpgsql AS \
                   'BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NEW; END'; \
                   CREATE TRIGGER gate BEFORE INSERT ON orders FOR EACH ROW \
                   WHEN (NEW.customer_reference = 'gated') EXECUTE FUNCTION gate()";
    app.sql().await.batch_execute(trigger).await.unwrap();
    // Only the service may find the deadlock, so only its statement is the victim.
    let other = begin(&app, &format!("SET LOCAL deadlock_timeout = '1min'; {PLACE_PO_1}")).await;
    let mut body = with("/order_reference", json!("PO-1"));
    body["customer"]["reference"] = json!("gated");
    let (answer, (), ()) = tokio::join!(
        app.post("K", &body),
        async {
            // The request has its key and will want the reference; this transaction has that and wants the key.
            blocked(&app, 1).await;
            other.batch_execute(&copy_of_key("first", "K")).await.unwrap();
            other.batch_execute("ROLLBACK").await.unwrap();
        },
        async {
            blocked(&app, 2).await;
            gate.batch_execute("SELECT pg_advisory_unlock(1)").await.unwrap();
        }
    );
    assert_eq!(answer.status, 201, "{}", answer.json());
    assert_eq!(app.counts().await, (2, 2));
}

#[tokio::test]
async fn a_key_in_flight_is_cheap_to_ask_for_and_other_keys_are_served() {
    let app = TestApp::start().await;
    app.post("busy", &order_body()).await;
    unfinish(&app, "busy").await;
    let body = order_body();
    let (busy, other) = tokio::join!(
        join_all((0..300).map(|_| app.post("busy", &body))),
        join_all((0..20).map(async |number| app.post(&format!("K{number}"), &body).await))
    );
    assert!(busy.iter().all(|answer| answer.status == 409), "{:?}", statuses(&busy));
    assert!(other.iter().all(|answer| answer.status == 201), "{:?}", statuses(&other));
}
