//! Retrying clients. Each makes orders one after the other, sends every try of one with the same key and body until it
//! knows, asks the other server later, and sometimes cancels.

use crate::answer::{Answer, Call, Meaning, What};
use crate::api::{Api, HangUp};
use crate::history::writer::Writer;
use crate::ledger::{Kill, Kind, Ledger, Violation};
use crate::orders::Order;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

/// How long a client goes on with one key.
pub const PERSISTENCE: Duration = Duration::from_mins(1);
/// Between two tries, in milliseconds.
const BACKOFF_MS: std::ops::RangeInclusive<u64> = 50..=500;
/// Between two orders, in milliseconds.
const THINK_MS: std::ops::RangeInclusive<u64> = 50..=350;
/// No client makes more orders than this.
const MOST_ORDERS: usize = 100_000;
/// Share of settled keys under which another request is sent, in percent.
const REUSED: u32 = 10;
/// A key is asked about again when so many others have followed it.
const REPLAY_AFTER: usize = 5;

/// What a client was told in the end.
#[derive(Debug, Clone)]
pub struct Told {
    /// The definite answer.
    pub answer: Answer,
    /// Who gave it.
    server: usize,
}

impl Told {
    /// An answer, and the number of the server that gave it.
    pub fn new(answer: Answer, server: usize) -> Self {
        Self { answer, server }
    }
}

/// One order of a client.
#[derive(Debug, Clone)]
pub struct Record {
    /// The organisation's id.
    pub org_id: i64,
    /// What was asked for.
    pub order: Order,
    /// The call that asked.
    pub call: Arc<Call>,
    /// What the client was told; `None` when it gave up.
    pub told: Option<Told>,
    /// Its cancellation, if one was asked for.
    pub cancel: Option<Cancel>,
}

/// A cancellation.
#[derive(Debug, Clone)]
pub struct Cancel {
    /// The call that asked.
    pub call: Arc<Call>,
    /// What the client was told; `None` when it gave up.
    pub told: Option<Told>,
}

/// What all clients share.
#[derive(Clone)]
pub struct Shared {
    /// The API.
    pub api: Arc<Api>,
    /// What has happened.
    pub ledger: Arc<Ledger>,
    /// What was sent and told.
    pub history: Arc<Writer>,
    /// Who calls.
    pub client: u64,
    /// No more orders.
    pub over: CancellationToken,
}

/// How a client behaves.
#[derive(Debug, Clone, Copy)]
pub struct Manner {
    /// Share of orders with a payment, in percent.
    pub paid: u32,
    /// Share of orders that are cancelled, in percent.
    pub cancels: u32,
}

/// One client's life, until it is over.
pub async fn run(shared: Shared, number: usize, manner: Manner, seed: u64) -> Vec<Record> {
    let shared = Shared { client: number as u64, ..shared };
    let mut client = Client { shared, random: StdRng::seed_from_u64(seed), number };
    let mut records = Vec::new();
    let mut waiting = VecDeque::new();
    for n in 0..MOST_ORDERS {
        let record = client.order(n, manner).await;
        waiting.push_back(records.len());
        records.push(record);
        if waiting.len() > REPLAY_AFTER {
            client.ask_about(waiting.pop_front().and_then(|first| records.get(first))).await;
        }
        if client.shared.over.is_cancelled() {
            break;
        }
        let think = client.random.random_range(THINK_MS);
        sleep(Duration::from_millis(think)).await;
    }
    for rest in waiting {
        client.ask_about(records.get(rest)).await;
    }
    records
}

struct Client {
    shared: Shared,
    random: StdRng,
    number: usize,
}

impl Client {
    async fn order(&mut self, n: usize, manner: Manner) -> Record {
        let api = Arc::clone(&self.shared.api);
        let order = Order::choose(&mut self.random, &format!("cus_{}", self.number), manner.paid);
        // Both organisations use the same keys: they are not each other's.
        let (org, pair) = (self.number % api.orgs(), self.number / api.orgs());
        let call = Arc::new(Call {
            what: What::Order,
            org,
            path: "/v1/orders".to_owned(),
            key: format!("order-{pair}-{n}"),
            body: order.body.clone(),
            amount: Some(order.amount),
        });
        let cancels = self.random.random_range(0..100) < manner.cancels;
        let told = until_definite(&self.shared, &call, &mut self.random, PERSISTENCE).await;
        let order_id = told.as_ref().and_then(|told| told.answer.order_id());
        let cancel = if let (true, Some(order_id)) = (cancels, order_id) {
            Some(self.cancel(&call, &order_id).await)
        } else {
            None
        };
        Record { org_id: api.org_id(&call), order, call, told, cancel }
    }

    async fn cancel(&mut self, order: &Call, order_id: &str) -> Cancel {
        let call = Arc::new(Call {
            what: What::Cancel,
            org: order.org,
            path: format!("/v1/orders/{order_id}/cancel"),
            key: format!("cancel-{}", order.key),
            body: b"{}".to_vec(),
            amount: None,
        });
        let told = until_definite(&self.shared, &call, &mut self.random, PERSISTENCE).await;
        Cancel { call, told }
    }

    /// Sends once more, to the other server, what was answered: the answer has to be the same.
    async fn ask_about(&mut self, record: Option<&Record>) {
        let Some(record) = record else { return };
        let cancel = record.cancel.as_ref().map(|cancel| (&cancel.call, &cancel.told));
        for (call, told) in [Some((&record.call, &record.told)), cancel].into_iter().flatten() {
            if let Some(told) = told {
                replay(&self.shared, call, told, &mut self.random).await;
            }
        }
        if record.told.is_some() && self.random.random_range(0..100) < REUSED {
            let other = Call { body: record.order.another(), amount: None, ..Call::clone(&record.call) };
            // Whatever comes of it: the history's judge looks that it was not acknowledged.
            attempt(&self.shared, self.random.random_range(0..2), &other).await;
        }
    }
}

/// Sends a call until it is settled, or until the client gives up.
pub async fn until_definite(shared: &Shared, call: &Call, random: &mut StdRng, limit: Duration) -> Option<Told> {
    let started = Instant::now();
    let mut caught_in: Option<Kill> = None;
    while started.elapsed() < limit {
        let mut tries = Vec::new();
        let server = random.random_range(0..2);
        match random.random_range(0..100) {
            0..6 => hang_up(shared, server, call, random).await,
            6..14 => {
                let (one, two) = tokio::join!(attempt(shared, 0, call), attempt(shared, 1, call));
                tries.extend([(0, one), (1, two)]);
            }
            _ => tries.push((server, attempt(shared, server, call).await)),
        }
        let mut told: Option<Told> = None;
        for (server, (answer, kill)) in tries {
            caught_in = caught_in.or(kill);
            let Some(answer) = answer else { continue };
            match answer.meaning(call.what) {
                Meaning::Definite => match &told {
                    Some(first) => compare(shared, call, &first.answer, &answer),
                    None => told = Some(Told::new(answer, server)),
                },
                Meaning::Again => {}
                Meaning::WrongAgain(what) => wrong(shared, call, &what),
                Meaning::Wrong(what) => {
                    wrong(shared, call, &what);
                    return None;
                }
            }
        }
        if told.is_some() {
            shared.ledger.settled(call, caught_in);
            return told;
        }
        sleep(Duration::from_millis(random.random_range(BACKOFF_MS))).await;
    }
    shared.ledger.log(&format!("no definite answer to {} of organisation {}", call.key, shared.api.org_id(call)));
    None
}

async fn replay(shared: &Shared, call: &Call, told: &Told, random: &mut StdRng) {
    let started = Instant::now();
    while started.elapsed() < PERSISTENCE {
        if let (Some(answer), _) = attempt(shared, 1 - told.server, call).await {
            match answer.meaning(call.what) {
                Meaning::Definite => return compare(shared, call, &told.answer, &answer),
                Meaning::Again if matches!(answer.status, 408 | 503) => {}
                Meaning::WrongAgain(what) => wrong(shared, call, &what),
                Meaning::Again | Meaning::Wrong(_) => {
                    let what = format!("{} of {}: {}, and later {answer}", call.key, call.org, told.answer);
                    return shared.ledger.violated(Violation::new(Kind::Replay, what));
                }
            }
        }
        sleep(Duration::from_millis(random.random_range(BACKOFF_MS))).await;
    }
    let what = format!("{} of {} was settled, and is not answered any more", call.key, call.org);
    shared.ledger.violated(Violation::new(Kind::Unfinished, what));
}

/// One try, and when it was lost with its server, the kill.
pub async fn attempt(shared: &Shared, server: usize, call: &Call) -> (Option<Answer>, Option<Kill>) {
    let number = shared.ledger.sets_out(server);
    let line = shared.history.invoke(call.invoke(shared.client, shared.api.org_id(call)));
    let answer = shared.api.send(server, call).await;
    shared.history.end(line, Answer::event(answer.as_ref()));
    let kill = shared.ledger.arrives(number, answer.as_ref());
    (answer, kill)
}

async fn hang_up(shared: &Shared, server: usize, call: &Call, random: &mut StdRng) {
    let after = Duration::from_millis(random.random_range(0..40));
    let how = HangUp { half: random.random_bool(0.4), reset: random.random_bool(0.5), after };
    shared.ledger.hung_up();
    let line = shared.history.invoke(call.invoke(shared.client, shared.api.org_id(call)));
    shared.api.hang_up(server, call, how).await;
    shared.history.end(line, Answer::event(None));
}

/// Two definite answers to one call have to be the same.
pub fn compare(shared: &Shared, call: &Call, first: &Answer, second: &Answer) {
    // Declined stays 402; what was made is 201 once and 200 ever after.
    let alike = (first.status == 402) == (second.status == 402);
    if !alike || first.body != second.body {
        let what = format!("{} of {}: {first}, and then {second}", call.key, call.org);
        shared.ledger.violated(Violation::new(Kind::Replay, what));
    }
}

/// An answer that should not have been given.
pub fn wrong(shared: &Shared, call: &Call, what: &str) {
    let what = format!("{:?} {} of {}: {what}", call.what, call.key, call.org);
    shared.ledger.violated(Violation::new(Kind::Answer, what));
}
