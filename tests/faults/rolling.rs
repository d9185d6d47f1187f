//! A rolling deployment under load: each server in turn gets SIGTERM, ends in order, and is followed by a new one. Nobody
//! breaks anything here, so every request that reached a server is to be answered, and clients go to the other server only
//! when nobody listens.

use crate::Failure;
use crate::answer::{Answer, Call, Meaning, What};
use crate::api::NoAnswer;
use crate::clients::{Manner, PERSISTENCE, Record, Shared, Told, wrong};
use crate::fault::{Fault, Target, millis};
use crate::ledger::{Kind, Ledger, Violation};
use crate::orders::Order;
use crate::stack::Stack;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::sleep;

/// Before each drain, for the load to be spread over both servers again, in milliseconds.
const BETWEEN_MS: (u64, u64) = (1_500, 3_000);
/// Between two orders of a client, in milliseconds: its connection is idle for that time.
const THINK_MS: std::ops::RangeInclusive<u64> = 1..=250;
/// Between two tries, in milliseconds.
const BACKOFF_MS: std::ops::RangeInclusive<u64> = 50..=500;
/// No client makes more orders than this.
const MOST_ORDERS: usize = 100_000;

/// Replaces both servers, one after the other, so many times.
///
/// # Errors
///
/// When a new server does not listen.
pub async fn deploy(stack: &Stack, ledger: &Ledger, rounds: u32, seed: u32) -> Result<(), Failure> {
    let mut random = StdRng::seed_from_u64(u64::from(seed) << 32);
    let (mut seconds, mut on_their_way) = (Vec::new(), Vec::new());
    for target in (0..rounds).flat_map(|_| [Target::ServerA, Target::ServerB]) {
        sleep(millis(&mut random, BETWEEN_MS.0, BETWEEN_MS.1)).await;
        ledger.injected(&Fault::Drain(target));
        on_their_way.push(target.server().map_or(0, |server| ledger.on_their_way(server)));
        let drain = stack.process(target).replace().await?;
        ledger.log(&format!("{} has ended after {:?}", target.name(), drain.time));
        seconds.push((drain.time.as_secs_f64() * 100.0).round() / 100.0);
        if let Some(what) = drain.wrong {
            ledger.violated(Violation::new(Kind::Drain, format!("{}: {what}", target.name())));
        }
    }
    sleep(millis(&mut random, BETWEEN_MS.0, BETWEEN_MS.1)).await;
    if on_their_way.iter().all(|count| *count == 0) {
        ledger.violated(Violation::new(Kind::NothingStruck, "no request was on its way at any SIGTERM"));
    }
    ledger.add_to_table("seconds of each drain", json!(seconds));
    ledger.add_to_table("requests on their way at each SIGTERM", json!(on_their_way));
    Ok(())
}

/// A client that asks again only when it is told to or when nobody listens.
pub async fn client(shared: Shared, number: usize, manner: Manner, seed: u64) -> Vec<Record> {
    let shared = Shared { client: number as u64, ..shared };
    let mut random = StdRng::seed_from_u64(seed);
    // Both organisations use the same keys: they are not each other's.
    let (org, pair) = (number % shared.api.orgs(), number / shared.api.orgs());
    let mut records = Vec::new();
    for n in 0..MOST_ORDERS {
        if shared.over.is_cancelled() {
            break;
        }
        let order = Order::choose(&mut random, &format!("cus_{number}"), manner.paid);
        let call = Arc::new(Call {
            what: What::Order,
            org,
            path: "/v1/orders".to_owned(),
            key: format!("order-{pair}-{n}"),
            body: order.body.clone(),
            amount: Some(order.amount),
        });
        let told = until_settled(&shared, &call, &mut random).await;
        records.push(Record { org_id: shared.api.org_id(&call), order, call, told, cancel: None });
        let think = random.random_range(THINK_MS);
        sleep(Duration::from_millis(think)).await;
    }
    records
}

async fn until_settled(shared: &Shared, call: &Call, random: &mut StdRng) -> Option<Told> {
    let started = Instant::now();
    let mut server = random.random_range(0..2);
    while started.elapsed() < PERSISTENCE {
        match attempt(shared, server, call).await {
            Ok(answer) => match answer.meaning(call.what) {
                Meaning::Definite => {
                    shared.ledger.settled(call, None);
                    return Some(Told::new(answer, server));
                }
                Meaning::Again if answer.status == 503 && !answer.retry_after => {
                    wrong(shared, call, &format!("without Retry-After: {answer}"));
                }
                Meaning::Again => {}
                Meaning::WrongAgain(what) => wrong(shared, call, &what),
                Meaning::Wrong(what) => {
                    wrong(shared, call, &what);
                    return None;
                }
            },
            Err(NoAnswer::Refused) => server = 1 - server,
            Err(NoAnswer::Lost(why)) => {
                let what = format!("{} of {} at server {server}: {why}", call.key, call.org);
                shared.ledger.violated(Violation::new(Kind::LostAnswer, what));
                return None;
            }
        }
        sleep(Duration::from_millis(random.random_range(BACKOFF_MS))).await;
    }
    wrong(shared, call, "no definite answer in a rolling deployment");
    None
}

async fn attempt(shared: &Shared, server: usize, call: &Call) -> Result<Answer, NoAnswer> {
    let number = shared.ledger.sets_out(server);
    let line = shared.history.invoke(call.invoke(shared.client, shared.api.org_id(call)));
    let answer = shared.api.try_to_send(server, call).await;
    shared.history.end(line, Answer::event(answer.as_ref().ok()));
    if answer == Err(NoAnswer::Refused) {
        shared.ledger.refused(number);
    } else {
        shared.ledger.arrives(number, answer.as_ref().ok());
    }
    answer
}
