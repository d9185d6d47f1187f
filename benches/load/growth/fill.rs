//! Fills a database with orders as if they had been placed over a long time.
//!
//! PostgreSQL makes the rows itself, as copies of one order that the service made, each under a key and an id of its own.
//! Indexes in which rows would come in no order are made afterwards.

use std::env;
use std::path::Path;

use ichido::clock::Clock;
use tokio_postgres::Client;

use crate::Failure;
use crate::keys::{EXPIRED_EVERY, KeyOrder, Loaded, PER_MILLISECOND};
use crate::requests::{CUSTOMERS, FIRST_CUSTOMER, known_key};
use crate::service::Service;
use crate::setup;
use crate::stand::Stand;

const DEFAULT_ROWS: u64 = 20_000_000;

/// Rows of one statement: seldom enough to cost nothing, often enough to see it go on.
const CHUNK: u64 = 250_000;

/// What an order takes besides its two rows: headers of both, and four entries in indexes, five for a key that expires.
const OVERHEAD_BYTES: u64 = 600;

/// Room for the write-ahead log, for what the runs add, and for sorting.
const SPARE_BYTES: u64 = 17 << 30;

/// An index that is full to this part, as one is that grew by keys in no order.
const RANDOM_FILL_PERCENT: u32 = 70;

/// How many rows the environment asks for.
pub fn rows() -> Result<u64, Failure> {
    let text = env::var("ROWS").unwrap_or_default();
    if text.is_empty() {
        return Ok(DEFAULT_ROWS);
    }
    let rows = text.replace(['_', ','], "").parse().ok().filter(|rows| *rows >= EXPIRED_EVERY);
    let rows: u64 = rows.ok_or_else(|| format!("ROWS is `{text}`, not a number from {EXPIRED_EVERY} on"))?;
    Ok(rows / EXPIRED_EVERY * EXPIRED_EVERY)
}

/// Refuses what would fill the disk.
pub async fn check_disk(service: &Service, directory: &Path, rows: u64) -> Result<(), Failure> {
    let size = "SELECT (pg_column_size(idempotency_keys.*) + pg_column_size(orders.*))::bigint
        FROM idempotency_keys JOIN orders USING (org_id, order_id)
        WHERE org_id = $1 AND idempotency_key = $2";
    let row = service.client.query_one(size, &[&service.org_id, &known_key(0)]).await?;
    let each = u64::try_from(row.try_get::<_, i64>(0)?)? + OVERHEAD_BYTES;
    let disk = rustix::fs::statvfs(directory)?;
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    let needed = rows * each + SPARE_BYTES;
    if free >= needed {
        return Ok(());
    }
    let fit = free.saturating_sub(SPARE_BYTES) / each;
    Err(format!(
        "{rows} orders need about {} GB of disk, of which {} GB are free in {}; ROWS={fit} would fit",
        needed / 1_000_000_000,
        free / 1_000_000_000,
        directory.display()
    )
    .into())
}

/// Loads the rows of one organisation.
pub async fn fill(stand: &Stand, service: &Service, rows: u64, order: KeyOrder) -> Result<Loaded, Failure> {
    // The last one was placed before the first of the bench.
    let now = u64::try_from(Clock::System.now().unix_timestamp())? * 1000;
    let loaded = Loaded { rows, order, first_millis: now - rows / PER_MILLISECOND - 3_600_000 };
    let made_later = drop_indexes(&service.client).await?;
    let second = setup::connect(&service.url).await?;
    second.batch_execute("SET synchronous_commit = off").await?;
    service.client.batch_execute("SET synchronous_commit = off").await?;
    let (keys, orders) = (keys_statement(&loaded), orders_statement(&loaded));
    for first in (0..rows).step_by(usize::try_from(CHUNK)?) {
        let last = (first + CHUNK).min(rows) - 1;
        tokio::try_join!(
            insert(&service.client, &keys, service.org_id, first, last),
            insert(&second, &orders, service.org_id, first, last),
        )?;
        eprintln!("loaded {} of {rows} orders", last + 1);
    }
    make_indexes(&service.client, &made_later, order).await?;
    service.client.batch_execute("RESET synchronous_commit").await?;
    service.client.batch_execute("VACUUM (ANALYZE) idempotency_keys, orders").await?;
    let size = "SELECT pg_size_pretty(pg_database_size(current_database()))";
    let size: String = service.client.query_one(size, &[]).await?.try_get(0)?;
    eprintln!("the database takes {size}");
    stand.client.batch_execute("CHECKPOINT").await?;
    Ok(loaded)
}

async fn insert(client: &Client, statement: &str, org_id: i64, first: u64, last: u64) -> Result<(), Failure> {
    let (first, last) = (i64::try_from(first)?, i64::try_from(last)?);
    let inserted = client.execute(statement, &[&first, &last, &org_id, &known_key(0)]).await?;
    let asked = u64::try_from(last - first + 1)?;
    if inserted == asked { Ok(()) } else { Err(format!("{inserted} of {asked} rows were inserted").into()) }
}

/// The numbers `$1` to `$2`, with `hash` in hexadecimal digits and `millis` as twelve of them, beside the order that is
/// copied.
fn numbers(loaded: &Loaded) -> String {
    format!(
        "FROM generate_series($1::bigint, $2::bigint) AS n,
            LATERAL (SELECT encode(sha256(n::text::bytea), 'hex') AS hash,
                lpad(to_hex({} + n / {PER_MILLISECOND}), 12, '0') AS millis) AS made,
            (SELECT idempotency_keys AS key, orders AS placed
             FROM idempotency_keys JOIN orders USING (org_id, order_id)
             WHERE org_id = $3 AND idempotency_key = $4) AS one",
        loaded.first_millis
    )
}

/// Grows with time, as the service's ids do.
const ORDER_ID: &str = "(millis || '7' || lpad((n % 1000)::text, 3, '0') || '8' || substr(hash, 40, 15))::uuid";

/// What [`Loaded::key`] computes.
fn key(order: KeyOrder) -> &'static str {
    match order {
        KeyOrder::Random => "left(hash, 32)::uuid::text",
        KeyOrder::TimeOrdered => "(millis || '7' || left(hash, 3) || '8' || substr(hash, 4, 15))::uuid::text",
    }
}

fn keys_statement(loaded: &Loaded) -> String {
    format!(
        "INSERT INTO idempotency_keys (
            org_id, idempotency_key, fingerprint_version, request_sha256, state, order_id, response_status,
            response_headers, response_body, created_at, completed_at, expires_at
        )
        SELECT (key).org_id, {}, (key).fingerprint_version, (key).request_sha256, 'completed', {ORDER_ID},
            (key).response_status, (key).response_headers, (key).response_body, (key).created_at, (key).completed_at,
            CASE WHEN n % {EXPIRED_EVERY} = 0 THEN now() - interval '1 hour' END
        {}",
        key(loaded.order),
        numbers(loaded)
    )
}

fn orders_statement(loaded: &Loaded) -> String {
    format!(
        "INSERT INTO orders (
            org_id, order_id, customer_reference, currency, amount, status, request, created_at, updated_at
        )
        SELECT (placed).org_id, {ORDER_ID}, ({FIRST_CUSTOMER} + n % {CUSTOMERS})::text, (placed).currency,
            (placed).amount, (placed).status, (placed).request, (placed).created_at, (placed).updated_at
        {}",
        numbers(loaded)
    )
}

/// Drops what would be slow to keep up to date; gives the statements that make it again. The orders' primary key stays:
/// other tables refer to it, and its rows come in order.
async fn drop_indexes(client: &Client) -> Result<Vec<String>, Failure> {
    let others = "SELECT indexname, indexdef FROM pg_indexes
        WHERE tablename IN ('orders', 'idempotency_keys') AND indexname NOT LIKE '%_pkey'";
    let mut made_later = Vec::new();
    for row in client.query(others, &[]).await? {
        client.batch_execute(&format!("DROP INDEX {}", row.try_get::<_, String>(0)?)).await?;
        made_later.push(row.try_get(1)?);
    }
    client.batch_execute("ALTER TABLE idempotency_keys DROP CONSTRAINT idempotency_keys_pkey").await?;
    Ok(made_later)
}

async fn make_indexes(client: &Client, statements: &[String], order: KeyOrder) -> Result<(), Failure> {
    eprintln!("making the indexes");
    client.batch_execute("SET maintenance_work_mem = '1GB'").await?;
    let full =
        if order == KeyOrder::Random { format!(" WITH (fillfactor = {RANDOM_FILL_PERCENT})") } else { String::new() };
    let constraint = "ALTER TABLE idempotency_keys ADD CONSTRAINT idempotency_keys_pkey PRIMARY KEY";
    client.batch_execute(&format!("{constraint} (org_id, idempotency_key){full}")).await?;
    for statement in statements {
        client.batch_execute(statement).await?;
    }
    client.batch_execute("RESET maintenance_work_mem").await?;
    Ok(())
}
