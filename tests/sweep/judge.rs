//! Compares what the client was told with the database and with what really happened in the simulated world.

use crate::case::{Case, Expected, PERSISTENCE, STEPS};
use crate::support::postgres;
use std::collections::HashMap;
use std::time::{Duration, Instant};
use tokio::time::sleep;
use tokio_postgres::Client;

const POLL: Duration = Duration::from_millis(100);

/// What is not finished: effects, claims, facts, transactions.
const UNFINISHED: &str = "
    SELECT what FROM (
        SELECT 'operation ' || kind || ' is ' || state AS what FROM operations
        WHERE state IN ('waiting', 'ready', 'leased', 'retry_at', 'unknown')
        UNION ALL
        SELECT 'claim ' || idempotency_key || ' is ' || state FROM idempotency_keys WHERE state <> 'completed'
        UNION ALL
        SELECT 'event ' || fact_key || ' is ' || outcome FROM events WHERE outcome IN ('pending', 'parked')
        UNION ALL
        SELECT 'a session is ' || state FROM pg_stat_activity
        WHERE datname = current_database() AND state LIKE 'idle in transaction%'
    ) AS unfinished";
/// That something has to be undone by hand for a cancelled order is as it should be.
const CASES: &str = "SELECT reason || ' of ' || kind FROM reconciliation_cases WHERE state = 'open' AND reason <> 'done_before_cancellation'";

/// Everything that is wrong once nothing is unfinished any more.
pub async fn judge(case: &Case, is_abort: bool) -> Vec<String> {
    let sql = postgres::connect(&case.url).await;
    let mut wrong = settle(&sql).await;
    wrong.extend(texts(&sql, CASES).await.into_iter().map(|open| format!("a case is open: {open}")));
    let expected = case.expected.lock().unwrap().clone();
    for one in &expected {
        wrong.extend(judge_order(case, &sql, one).await);
    }
    let charges: u64 = expected.iter().map(|one| one.charges).sum();
    let happened = case.world.charges().await;
    if happened != charges {
        wrong.push(format!("{happened} charges altogether instead of {charges}"));
    }
    wrong.extend(count(&sql, "orders", expected.len()).await);
    let told = case.told.lock().unwrap().len();
    wrong.extend(count(&sql, "idempotency_keys", told).await);
    wrong.extend(replays(case).await);
    let ended: Vec<_> = case.processes.iter().flat_map(|process| process.history().ended()).collect();
    wrong.extend(ended.into_iter().filter(|how| !is_abort || !how.contains("SIGABRT")));
    wrong
}

async fn settle(sql: &Client) -> Vec<String> {
    let began = Instant::now();
    loop {
        let unfinished = texts(sql, UNFINISHED).await;
        if unfinished.is_empty() || began.elapsed() > PERSISTENCE {
            return unfinished;
        }
        sleep(POLL).await;
    }
}

async fn judge_order(case: &Case, sql: &Client, expected: &Expected) -> Vec<String> {
    let id = &expected.order_id;
    let mut wrong = Vec::new();
    let text = "SELECT status, amount FROM orders WHERE order_id = $1::text::uuid";
    let Some(row) = sql.query_opt(text, &[id]).await.unwrap() else { return vec![format!("order {id} is not there")] };
    let (status, amount): (String, i64) = (row.get(0), row.get(1));
    if status != expected.status {
        wrong.push(format!("order {id} is {status} instead of {}", expected.status));
    }
    let mut counts: HashMap<String, u64> = HashMap::new();
    for effect in case.world.effects(id).await {
        let kind = effect["kind"].as_str().unwrap().to_owned();
        if kind != "refund" && effect["amount"] != amount {
            wrong.push(format!("{kind} of another amount: {effect}"));
        }
        *counts.entry(kind).or_default() += effect["count"].as_u64().unwrap();
    }
    let steps = STEPS.iter().map(|kind| (kind.as_str(), u64::from(expected.steps)));
    for (kind, times) in [("charge", expected.charges), ("refund", expected.refunds)].into_iter().chain(steps) {
        let happened = counts.remove(kind).unwrap_or_default();
        if happened != times {
            wrong.push(format!("{kind} of order {id} happened {happened} times instead of {times}"));
        }
    }
    wrong.extend(counts.into_iter().map(|(kind, times)| format!("{kind} of order {id} happened {times} times")));
    wrong
}

async fn count(sql: &Client, table: &str, expected: usize) -> Option<String> {
    let rows: i64 = sql.query_one(&format!("SELECT count(*) FROM {table}"), &[]).await.unwrap().get(0);
    let fits = usize::try_from(rows) == Ok(expected);
    (!fits).then(|| format!("{rows} rows in {table} instead of {expected}"))
}

/// Each command is answered again with the same bytes.
async fn replays(case: &Case) -> Vec<String> {
    let told = case.told.lock().unwrap().clone();
    let mut wrong = Vec::new();
    for first in told {
        let again = match case.send(&first.path, &first.key, &first.body).await {
            // The server may have been started again just now.
            None => {
                sleep(Duration::from_secs(1)).await;
                case.send(&first.path, &first.key, &first.body).await
            }
            some => some,
        };
        let status = if first.status == 402 { 402 } else { 200 };
        if again.as_ref() != Some(&(status, first.bytes.clone())) {
            let shown = again.map(|(status, bytes)| format!("{status} {}", String::from_utf8_lossy(&bytes)));
            wrong.push(format!("{} was {} and is now {shown:?}", first.key, first.status));
        }
    }
    wrong
}

async fn texts(sql: &Client, query: &str) -> Vec<String> {
    sql.query(query, &[]).await.unwrap().into_iter().map(|row| row.get(0)).collect()
}
