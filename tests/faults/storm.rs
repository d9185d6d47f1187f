//! Storms: many requests at once under one key, to both servers. One order comes of it, and every one of them gets the same
//! answer in the end.

use crate::answer::{Call, Meaning, What};
use crate::clients::{Manner, PERSISTENCE, Record, Shared, Told, attempt, compare, wrong};
use crate::orders::Order;
use futures_util::future::join_all;
use futures_util::{StreamExt, stream};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::sleep;

/// How many requests one key gets at once.
const AT_ONCE: std::ops::RangeInclusive<usize> = 2..=64;
/// How many keys have their storm at the same time.
const KEYS_AT_ONCE: usize = 4;
/// Between two tries of one request, in milliseconds.
const BACKOFF_MS: std::ops::RangeInclusive<u64> = 20..=400;

/// All of them; what each key came to.
pub async fn run(shared: &Shared, keys: u32, manner: Manner, seed: u32) -> Vec<Record> {
    let storms: Vec<(Record, usize)> = stream::iter(0..keys)
        .map(|number| one_key(shared, number, manner, u64::from(seed) << 32 | u64::from(number)))
        .buffer_unordered(KEYS_AT_ONCE)
        .collect()
        .await;
    shared.ledger.add_to_table(
        "storms, and requests in them",
        json!([storms.len(), storms.iter().map(|(_, requests)| requests).sum::<usize>(),]),
    );
    storms.into_iter().map(|(record, _)| record).collect()
}

async fn one_key(shared: &Shared, number: u32, manner: Manner, seed: u64) -> (Record, usize) {
    let mut random = StdRng::seed_from_u64(seed);
    let order = Order::choose(&mut random, &format!("cus_{number}"), manner.paid);
    // Both organisations use the same keys: they are not each other's.
    let (org, pair) = (number as usize % shared.api.orgs(), number as usize / shared.api.orgs());
    let call = Arc::new(Call {
        what: What::Order,
        org,
        path: "/v1/orders".to_owned(),
        key: format!("order-{pair}"),
        body: order.body.clone(),
        amount: Some(order.amount),
    });
    let requests = random.random_range(AT_ONCE);
    let all = (0..requests).map(|at| {
        // Each waits in its own rhythm.
        let random = StdRng::seed_from_u64(seed ^ (at as u64 + 1) << 48);
        insist(Shared { client: at as u64, ..shared.clone() }, at % 2, &call, random)
    });
    let told: Vec<_> = join_all(all).await.into_iter().flatten().collect();
    if let Some((first, others)) = told.split_first() {
        for other in others {
            compare(shared, &call, &first.answer, &other.answer);
        }
        if told.len() == requests {
            shared.ledger.settled(&call, None);
        }
    }
    // A request without an answer leaves its key without one, which is looked at.
    let told = told.first().filter(|_| told.len() == requests).cloned();
    (Record { org_id: shared.api.org_id(&call), order, call, told, cancel: None }, requests)
}

/// Sends one request until it is settled.
async fn insist(shared: Shared, server: usize, call: &Call, mut random: StdRng) -> Option<Told> {
    let started = Instant::now();
    while started.elapsed() < PERSISTENCE {
        if let (Some(answer), _) = attempt(&shared, server, call).await {
            match answer.meaning(call.what) {
                Meaning::Definite => return Some(Told::new(answer, server)),
                Meaning::Again => {}
                Meaning::WrongAgain(what) => wrong(&shared, call, &what),
                Meaning::Wrong(what) => {
                    wrong(&shared, call, &what);
                    return None;
                }
            }
        }
        sleep(Duration::from_millis(random.random_range(BACKOFF_MS))).await;
    }
    wrong(&shared, call, "no definite answer in a storm");
    None
}
