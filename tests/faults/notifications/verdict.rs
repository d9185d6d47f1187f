//! What each shuffle came to.

use crate::Failure;
use crate::judge::steps::STEPS;
use crate::notifications::orders::Orders;
use crate::notifications::story::{AMOUNT, BACK};
use crate::stack::Stack;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashSet};
use std::time::{Duration, Instant};
use tokio::time::sleep;
use uuid::Uuid;

/// Everything has to be settled within this time after the last delivery.
const LIMIT: Duration = Duration::from_mins(2);
/// While an order's row is locked, replies take at most this long at p99.
const REPLY: Duration = Duration::from_millis(250);
/// What is exhausted delays what is new by less than this.
const DELAY: Duration = Duration::from_secs(1);

/// What was found.
#[derive(Debug, Default)]
pub struct Judged {
    /// Processes that were killed.
    pub kills: usize,
    /// Final states, and how many orders ended in each.
    states: BTreeMap<String, usize>,
    /// Effects at partners.
    effects: u64,
    /// Reply times to deliveries about an order that is locked: p50, p99.
    pub locked: (Duration, Duration),
    /// How long a new order takes to be done: alone, and behind a thousand that are exhausted.
    pub exhausted: (Duration, Duration),
    /// Processes that ended by themselves.
    pub processes: Vec<String>,
    wrong: Vec<String>,
}

impl Judged {
    /// The figures.
    pub fn json(&self) -> Value {
        let millis = |time: Duration| time.as_millis();
        json!({
            "kills": self.kills, "orders_by_final_state": self.states, "effects_at_partners": self.effects,
            "reply_ms_while_the_order_is_locked": { "p50": millis(self.locked.0), "p99": millis(self.locked.1) },
            "new_order_done_ms": {
                "alone": millis(self.exhausted.0), "behind_1000_exhausted": millis(self.exhausted.1),
            },
        })
    }

    /// Adds what should not be.
    pub fn blame(&mut self, wrong: Vec<String>) {
        self.wrong.extend(wrong);
    }

    /// What should not be.
    pub fn wrong(&self) -> Vec<String> {
        let mut wrong = self.wrong.clone();
        if self.locked.1 > REPLY {
            wrong.push(format!("replies while an order is locked take {:?} at p99", self.locked.1));
        }
        if self.exhausted.1.saturating_sub(self.exhausted.0) > DELAY {
            wrong.push(format!("exhausted rows delay a new one: {:?}", self.exhausted));
        }
        wrong.extend(self.processes.iter().cloned());
        wrong
    }
}

/// Waits until nothing moves, and compares the orders of one shuffle with what they have to be.
pub async fn judge(stack: &Stack, orders: &Orders, ids: &[String], judged: &mut Judged) -> Result<(), Failure> {
    let started = Instant::now();
    let moving = "SELECT (SELECT count(*) FROM events WHERE next_attempt_at IS NOT NULL)
        + (SELECT count(*) FROM operations WHERE state IN ('waiting', 'ready', 'leased', 'retry_at', 'unknown'))";
    while orders.sql().query_one(moving, &[]).await?.get::<_, i64>(0) > 0 {
        if started.elapsed() > LIMIT {
            judged.wrong.push(format!("not settled after {LIMIT:?}"));
            break;
        }
        sleep(Duration::from_millis(300)).await;
    }
    let uuids = ids.iter().map(|id| Uuid::try_parse(id)).collect::<Result<Vec<_>, _>>()?;
    let state = "SELECT order_id::text, concat_ws(' ', status, payment_state, 'refunded', amount_refunded,
            CASE WHEN needs_reconciliation THEN 'for a person' END,
            (SELECT count(*) FROM payments WHERE payments.order_id = orders.order_id), 'payment')
        FROM orders WHERE order_id = ANY ($1)";
    let rows = orders.sql().query(state, &[&uuids]).await?;
    let expected = format!("completed partially_refunded refunded {BACK} 1 payment");
    if rows.len() != ids.len() {
        judged.wrong.push(format!("{} orders instead of {}", rows.len(), ids.len()));
    }
    for row in &rows {
        let (id, state): (String, String) = (row.get(0), row.get(1));
        if state != expected {
            judged.wrong.push(format!("{id} is {state}"));
        }
        *judged.states.entry(state).or_default() += 1;
    }
    effects(stack, ids, judged).await
}

/// Every step of every order once, at its partner, and nothing else.
async fn effects(stack: &Stack, ids: &[String], judged: &mut Judged) -> Result<(), Failure> {
    let gateway = stack.gateways.first().ok_or("no simulated world")?;
    let world = stack.api.get(&format!("http://{}/effects", gateway.address)).await?;
    let ours: HashSet<&str> = ids.iter().map(String::as_str).collect();
    let mut seen = HashSet::new();
    for effect in world["effects"].as_array().into_iter().flatten() {
        let (kind, id) = (effect["kind"].as_str().unwrap_or_default(), effect["order_id"].as_str().unwrap_or_default());
        if !ours.contains(id) {
            continue;
        }
        judged.effects += effect["count"].as_u64().unwrap_or_default();
        let once = effect["count"] == 1 && effect["amount"] == AMOUNT && STEPS.contains(&kind);
        if !once || !seen.insert((kind, id)) {
            judged.wrong.push(format!("effect {effect}"));
        }
    }
    if seen.len() != ids.len() * STEPS.len() {
        judged.wrong.push(format!("{} effects instead of {}", seen.len(), ids.len() * STEPS.len()));
    }
    Ok(())
}
