//! Notifications under kills: orders that are paid elsewhere, and a provider that tells of it again and again, shuffled, some of
//! it too early or badly signed, while servers and worker are killed. Every effect has to happen once, and every shuffle has to
//! end in the same state.

mod deliver;
mod exhausted;
mod locked;
mod orders;
mod story;
mod verdict;

use crate::Failure;
use crate::arguments::Arguments;
use crate::fault::Target;
use crate::notifications::deliver::Provider;
use crate::notifications::orders::Orders;
use crate::notifications::story::deliveries;
use crate::notifications::verdict::{Judged, judge};
use crate::stack::Stack;
use futures_util::StreamExt;
use futures_util::stream;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use serde_json::json;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

/// Orders of one shuffle; each has five notifications.
const ORDERS: usize = 200;
/// A kill, in turn of server A, server B and the worker.
const KILL_EVERY: Duration = Duration::from_secs(5);
/// Deliveries at once, and the pause of each between two: slow enough that every shuffle meets several kills.
const AT_ONCE: usize = 8;
const PAUSE: Duration = Duration::from_millis(35);

/// Runs, and prints the table; whether nothing was wrong.
pub async fn run(arguments: &Arguments, shuffles: u32, logs: &Path) -> Result<bool, Failure> {
    let seed = arguments.seed.unwrap_or_else(rand::random);
    eprintln!("notifications: seed {seed}, {shuffles} shuffles of {ORDERS} orders, logs in {}", logs.display());
    let started = Instant::now();
    let mut random = StdRng::seed_from_u64(u64::from(seed));
    let stack = Stack::start(arguments, logs).await?;
    let provider = Provider::set_up(&stack).await?;
    let orders = Orders::of(&stack).await?;
    let mut judged = Judged::default();
    for shuffle in 1..=shuffles {
        let over = CancellationToken::new();
        let (sent, kills) = tokio::join!(one_shuffle(&provider, &orders, &mut random, &over), kill(&stack, &over));
        let ids = sent?;
        judge(&stack, &orders, &ids, &mut judged).await?;
        judged.kills += kills;
        judged.blame(provider.take_wrong());
        eprintln!("shuffle {shuffle}/{shuffles}: {kills} kills, {} deliveries so far", provider.delivered());
    }
    judged.locked = locked::replies(&stack, &provider, &orders).await?;
    judged.exhausted = exhausted::delay(&stack, &provider, &orders).await?;
    judged.processes = stack.ended_by_themselves();
    let report = json!({
        "run": arguments.run(), "faults": judged.kills, "operations": provider.delivered() + provider.refused(),
        "violations": judged.wrong().len(), "seconds": started.elapsed().as_secs_f64(),
        "seed": seed, "shuffles": shuffles, "orders": ORDERS * shuffles as usize,
        "deliveries": provider.delivered(), "badly_signed": provider.refused(), "figures": judged.json(),
        "passed": judged.wrong().is_empty(),
    });
    println!("{report:#}");
    for what in judged.wrong() {
        println!("violation: {what}");
    }
    if let Some(file) = &arguments.json {
        fs::write(file, format!("{report:#}\n"))?;
    }
    Ok(judged.wrong().is_empty())
}

/// Orders, and all that is told of them, in an order of its own. Gives the orders' ids.
async fn one_shuffle(
    provider: &Provider,
    orders: &Orders,
    random: &mut StdRng,
    over: &CancellationToken,
) -> Result<Vec<String>, Failure> {
    let _over = over.clone().drop_guard();
    let mut ids = Vec::new();
    let (mut told, mut early) = (Vec::new(), Vec::new());
    for _ in 0..ORDERS {
        // One in twenty is told of before it is there.
        let is_early = random.random_range(0..20) == 0;
        let id = if is_early { Orders::id_to_come() } else { orders.place().await? };
        told.extend(deliveries(&id, random));
        if is_early {
            early.push(id.clone());
        }
        ids.push(id);
    }
    told.shuffle(random);
    let half = PAUSE * u32::try_from(told.len() / AT_ONCE / 2).unwrap_or_default();
    let come = async {
        sleep(half).await;
        for id in &early {
            orders.place_as(id).await?;
        }
        Ok::<_, Failure>(())
    };
    let deliver = stream::iter(told).for_each_concurrent(AT_ONCE, |delivery| async move {
        provider.insist(&delivery).await;
        sleep(PAUSE).await;
    });
    let (come, ()) = tokio::join!(come, deliver);
    come?;
    Ok(ids)
}

/// Kills one process after the other until it is over; gives how many.
async fn kill(stack: &Stack, over: &CancellationToken) -> usize {
    let started = Instant::now();
    for (n, target) in [Target::ServerA, Target::ServerB, Target::Worker].into_iter().cycle().enumerate() {
        let next = KILL_EVERY * u32::try_from(n + 1).unwrap_or(u32::MAX);
        tokio::select! {
            () = over.cancelled() => return n,
            () = sleep(next.saturating_sub(started.elapsed())) => stack.process(target).kill().await,
        }
    }
    0
}
