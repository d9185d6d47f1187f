//! A transaction of the test's own that holds what the service needs, so that a race goes the way the test wants.

use crate::support::app::TestApp;
use std::time::Duration;
use tokio_postgres::Client;

/// Polls until `done` is true; panics after five seconds.
pub async fn eventually(what: &str, mut done: impl AsyncFnMut() -> bool) {
    for _ in 0..1_000 {
        if done().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("never happened: {what}");
}

/// Begins a transaction in which `sql` has run.
pub async fn begin(app: &TestApp, sql: &str) -> Client {
    let client = app.sql().await;
    client.batch_execute(&format!("BEGIN; {sql}")).await.unwrap();
    client
}

/// Waits until so many statements wait for a lock, the service's and the test's own.
pub async fn blocked(app: &TestApp, statements: i64) {
    let client = app.sql().await;
    eventually("statements wait for a lock", async || {
        let sql = "SELECT count(*) FROM pg_stat_activity \
                   WHERE datname = current_database() AND wait_event_type = 'Lock'";
        client.query_one(sql, &[]).await.unwrap().get::<_, i64>(0) >= statements
    })
    .await;
}

/// SQL that gives a key of the database's first organisation the row that key `from` has.
pub fn copy_of_key(from: &str, to: &str) -> String {
    let rest = "fingerprint_version, request_sha256, state, order_id, response_status, response_headers, \
                response_body, created_at, completed_at, expires_at";
    format!(
        "INSERT INTO idempotency_keys (org_id, idempotency_key, {rest}) \
         SELECT org_id, '{to}', {rest} FROM idempotency_keys WHERE idempotency_key = '{from}';"
    )
}

/// SQL that places an order with the reference `PO-1` in the first organisation.
pub const PLACE_PO_1: &str = "INSERT INTO orders (org_id, order_id, order_reference, customer_reference, currency, \
    amount, status, request, created_at, updated_at) SELECT org_id, '01890000-0000-7000-8000-000000000001', 'PO-1', \
    'c', 'JPY', 1, 'received', '{}', now(), now() FROM orgs LIMIT 1;";

/// Makes a finished key look like one whose work is still running.
pub async fn unfinish(app: &TestApp, key: &str) {
    let sql = "UPDATE idempotency_keys SET state = 'in_progress', response_status = NULL, response_headers = NULL, \
               response_body = NULL, completed_at = NULL WHERE idempotency_key = $1";
    assert_eq!(app.sql().await.execute(sql, &[&key]).await.unwrap(), 1);
}

/// Gives a stored key another fingerprint.
pub async fn set_fingerprint(app: &TestApp, key: &str, method: &str, path: &str, body: &[u8]) {
    use ichido::domain::masked::{IN_ORDER, mask};
    use ichido::domain::{canonical::canonical, fingerprint::fingerprint, json};
    let mut body = json::parse(body).unwrap();
    mask(&mut body, IN_ORDER);
    let print = fingerprint(method, path, None, &canonical(&body));
    let sql = "UPDATE idempotency_keys SET request_sha256 = $2 WHERE idempotency_key = $1";
    assert_eq!(app.sql().await.execute(sql, &[&key, &print.as_bytes().as_slice()]).await.unwrap(), 1);
}
