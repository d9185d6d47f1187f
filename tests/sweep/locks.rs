//! Somebody holds what many would write together, for longer than a batch waits: each of them then goes on alone.

use crate::case::{Case, PERSISTENCE};
use crate::scenarios::{ROUNDS, completed, pays, unpaid};
use crate::support::payments::paid_body;
use crate::support::postgres;
use futures_util::future::join_all;
use std::time::{Duration, Instant};
use tokio::time::sleep;
use tokio_postgres::Client;

/// Longer than the patience of a batch (100 ms), shorter than that of a claim alone (1.5 s).
const HELD: Duration = Duration::from_millis(500);
const AT_ONCE: usize = 3;
const POLL: Duration = Duration::from_millis(10);
/// How long the gateway takes: time to find the order and hold it.
const SLOW: &str = "pm_sim_slow_600";
/// Longer than that, and shorter than the patience of who settles alone.
const HELD_BEYOND: Duration = Duration::from_millis(1_100);

/// Orders without payment, whose table is held.
pub async fn claims(case: &Case) {
    let sql = postgres::connect(&case.url).await;
    for round in 0..ROUNDS {
        let orders = join_all((0..AT_ONCE).map(|n| async move { unpaid(case, &format!("held-{round}-{n}")).await }));
        tokio::join!(orders, hold_table(&sql));
    }
}

/// Orders with payment, whose table is held.
pub async fn charges(case: &Case) {
    let sql = postgres::connect(&case.url).await;
    for round in 0..ROUNDS {
        let orders = join_all((0..AT_ONCE).map(|n| async move { completed(case, &format!("held-{round}-{n}")).await }));
        tokio::join!(orders, hold_table(&sql));
    }
}

async fn hold_table(sql: &Client) {
    sql.batch_execute("BEGIN; LOCK TABLE orders IN SHARE MODE").await.unwrap();
    sleep(HELD).await;
    sql.batch_execute("COMMIT").await.unwrap();
}

/// Orders that are held while their charge is answered, so that it is not recorded together with others.
pub async fn successes(case: &Case) {
    // On a busy machine the gateway's time is up before it answers, now and then.
    for n in 0..2 * ROUNDS {
        let key = format!("alone-{n}");
        let body = paid_body(SLOW);
        let (told, ()) = tokio::join!(pays(case, &key, &body), hold_order(case, &key));
        case.expect(&told.order_id(), "completed", (1, 0), true);
    }
}

async fn hold_order(case: &Case, key: &str) {
    let (sql, began) = (postgres::connect(&case.url).await, Instant::now());
    let text = "SELECT order_id::text FROM idempotency_keys WHERE idempotency_key = $1";
    let id: String = loop {
        if let Some(row) = sql.query_opt(text, &[&key]).await.unwrap() {
            break row.get(0);
        }
        assert!(began.elapsed() < PERSISTENCE, "{key} never comes");
        sleep(POLL).await;
    };
    sql.batch_execute(&format!("BEGIN; SELECT FROM orders WHERE order_id = '{id}' FOR UPDATE")).await.unwrap();
    sleep(HELD_BEYOND).await;
    sql.batch_execute("COMMIT").await.unwrap();
}
