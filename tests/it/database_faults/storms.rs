//! Connections that die again and again under clients that try again and again.

use super::Faulty;
use super::refused::terminate_others;
use crate::support::app::order_body;
use futures_util::future::join_all;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const CLIENTS: usize = 16;
const ROUNDS: usize = 25;
/// More tries than there are rounds of the storm.
const TRIES: usize = 200;

/// Sends one key until it is answered; gives every good answer's bytes.
async fn until_answered(faulty: &Faulty, key: &str) -> Vec<u8> {
    for _ in 0..TRIES {
        let answer = faulty.app.post(key, &order_body()).await;
        match answer.status {
            200 | 201 => return answer.body,
            409 | 503 => tokio::time::sleep(Duration::from_millis(5)).await,
            other => panic!("{key}: {other} {}", answer.code()),
        }
    }
    panic!("{key}: no answer in {TRIES} tries");
}

#[tokio::test(flavor = "multi_thread")]
async fn backends_that_are_terminated_under_load_cost_no_order_and_double_none() {
    let faulty = Faulty::start(8).await;
    let over = AtomicBool::new(false);
    let storm = async {
        let sql = faulty.sql().await;
        for _ in 0..ROUNDS {
            terminate_others(&sql).await;
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        over.store(true, Ordering::SeqCst);
    };
    let clients = join_all((0..CLIENTS).map(|client| {
        let (faulty, over) = (&faulty, &over);
        async move {
            let mut answers = HashMap::new();
            for n in 0.. {
                // Two clients share each key.
                let key = format!("storm-{}-{n}", client / 2);
                let body = until_answered(faulty, &key).await;
                answers.insert(key, body);
                if over.load(Ordering::SeqCst) {
                    break;
                }
            }
            answers
        }
    }));
    let ((), answers) = tokio::join!(storm, clients);
    let mut by_key = HashMap::new();
    for (key, body) in answers.into_iter().flatten() {
        let first = by_key.entry(key.clone()).or_insert_with(|| body.clone());
        assert_eq!(*first, body, "two answers to {key}");
    }
    assert!(by_key.len() > CLIENTS / 2, "too little happened: {}", by_key.len());
    let keys = i64::try_from(by_key.len()).unwrap();
    assert_eq!(faulty.counts().await, (keys, keys));
    for (key, body) in by_key.iter().take(20) {
        let again = faulty.post(key).await;
        assert_eq!((again.status, &again.body), (200, body), "{key}");
    }
}
