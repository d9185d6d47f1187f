//! kill -9, and two instances on one database.

use super::{Prepared, Seen};
use crate::support::process::Program;
use crate::support::proxy::{At, Fault, Proxy};
use crate::support::wait::until;
use futures_util::future::join_all;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const CLIENTS: usize = 8;
const KILLS: usize = 10;

/// Sends one key until it is answered. What is not answered is tried again, for a minute at most.
async fn until_answered(prepared: &Prepared, base: &str, key: &str) -> Seen {
    for _ in 0..3_000 {
        match prepared.post(base, key).await {
            Some(seen) if matches!(seen.status, 200 | 201) => return seen,
            Some(seen) => assert!(matches!(seen.status, 409 | 503), "{key}: {seen:?}"),
            None => {}
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{key} was never answered");
}

/// One client: each key is sent until it is answered, and once more. Gives what it was told.
async fn client(prepared: &Prepared, base: &str, name: usize, over: &AtomicBool) -> Vec<(String, Seen)> {
    let mut told = Vec::new();
    for n in 0..100_000 {
        // Two clients share each key.
        let key = format!("kill-{}-{n}", name / 2);
        for _ in 0..2 {
            told.push((key.clone(), until_answered(prepared, base, &key).await));
        }
        if over.load(Ordering::SeqCst) {
            break;
        }
    }
    told
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_at_any_moment_it_loses_no_acknowledged_order_and_makes_none_twice() {
    let prepared = Prepared::new().await;
    let seed = rand::rng().random();
    println!("seed {seed}");
    let mut random = StdRng::seed_from_u64(seed);
    let mut running = Program::serve(&prepared.url, "127.0.0.1:0").start();
    let base = running.base().await;
    let listen = base.trim_start_matches("http://").to_owned();
    let over = AtomicBool::new(false);
    let killer = async {
        for _ in 0..KILLS {
            tokio::time::sleep(Duration::from_millis(random.random_range(50..400))).await;
            running.kill();
            running = Program::serve(&prepared.url, &listen).start();
            running.base().await;
        }
        over.store(true, Ordering::SeqCst);
    };
    let clients = join_all((0..CLIENTS).map(|name| client(&prepared, &base, name, &over)));
    let ((), told) = tokio::join!(killer, clients);

    let mut by_key: HashMap<String, Vec<u8>> = HashMap::new();
    for (key, seen) in told.into_iter().flatten() {
        let first = by_key.entry(key.clone()).or_insert_with(|| seen.body.clone());
        assert_eq!(*first, seen.body, "two answers to {key}");
    }
    assert!(by_key.len() > CLIENTS, "too little happened: {} keys", by_key.len());
    let keys = i64::try_from(by_key.len()).unwrap();
    assert_eq!(prepared.counts().await, (keys, keys));
    for body in by_key.values() {
        let order: serde_json::Value = serde_json::from_slice(body).unwrap();
        let path = format!("/v1/orders/{}", order["id"].as_str().unwrap());
        let kept = prepared.get(&base, &path).await.unwrap();
        assert_eq!((kept.status, &kept.body), (200, body));
    }
}

#[tokio::test]
async fn two_instances_on_one_database_make_one_order_of_a_request_sent_to_both() {
    let prepared = Prepared::new().await;
    let mut one = Program::serve(&prepared.url, "127.0.0.1:0").start();
    let mut two = Program::serve(&prepared.url, "127.0.0.1:0").arg("--no-worker").start();
    let (one_base, two_base) = (one.base().await, two.base().await);
    for n in 0..20 {
        let key = format!("both-{n}");
        let (first, second) = tokio::join!(prepared.post(&one_base, &key), prepared.post(&two_base, &key));
        let (first, second) = (first.unwrap(), second.unwrap());
        let created = [&first, &second].iter().filter(|seen| seen.status == 201).count();
        assert_eq!(created, 1, "{first:?} {second:?}");
        assert!([first.status, second.status].iter().all(|status| matches!(status, 200 | 201 | 409)));
        let again = prepared.post(&one_base, &key).await.unwrap();
        assert_eq!(again.status, 200);
        for seen in [first, second].iter().filter(|seen| seen.status != 409) {
            assert_eq!(seen.body, again.body);
        }
    }
    assert_eq!(prepared.counts().await, (20, 20));
}

#[tokio::test]
async fn killed_between_the_commit_and_the_answer_its_order_is_what_the_retry_gets() {
    let prepared = Prepared::new().await;
    let proxy = Proxy::start().await;
    let mut running = Program::serve(&proxy.url(&prepared.url), "127.0.0.1:0").start();
    let base = running.base().await;
    assert_eq!(prepared.post(&base, "warm").await.unwrap().status, 201);
    proxy.arm("WITH claim", At::Answer, Fault::Stall, 1);
    let (answer, ()) = tokio::join!(prepared.post(&base, "K"), async {
        until("the order is committed", Duration::from_secs(10), || async { prepared.counts().await == (2, 2) }).await;
        running.kill();
    });
    assert_eq!((proxy.struck(), answer), (1, None));
    let mut again = Program::serve(&prepared.url, "127.0.0.1:0").start();
    let retry = prepared.post(&again.base().await, "K").await.unwrap();
    assert_eq!((retry.status, prepared.counts().await), (200, (2, 2)));
}
