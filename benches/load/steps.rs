//! What one worker does: the steps of confirmed orders, each sent to a simulated partner over HTTP and recorded.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::time::sleep;
use tokio_postgres::Client;

use crate::Failure;
use crate::process;
use crate::setup::{self, Running};

/// Orders that are confirmed before the worker starts; each has [`STEPS`].
const ORDERS: u32 = 5_000;
/// The default pipeline, in which the shipment waits for the stock.
const STEPS: [&str; 4] = ["stock_reservation", "shipment_request", "confirmation_mail", "accounting_entry"];
/// The longest that a run may take.
const LIMIT: Duration = Duration::from_mins(3);
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// What a run gave.
#[derive(Debug, Clone)]
pub struct Steps {
    /// Effects at the partners in a second.
    pub per_second: f64,
    /// Effects that are missing, and those that happened more than once.
    pub errors: u64,
    /// The most memory that the worker had, in MiB.
    pub memory: f64,
    /// The worker's CPU time for each effect, in microseconds.
    pub worker_cpu_us: f64,
}

/// Confirms orders of a new organisation, starts a worker and a simulated world, and waits until all is done.
pub async fn run(url: &str, directory: &Path, client: &Client) -> Result<Steps, Failure> {
    let journal = directory.join("world.jsonl");
    // One for each run.
    let _ = std::fs::remove_file(&journal);
    let journal = journal.to_string_lossy();
    let mut world =
        Running::start(directory, "world", url, &["sim", "--listen", "127.0.0.1:0", "--journal", &journal])?;
    let partners = world.address().await?;
    let org_id = confirm_orders(url, client, &partners).await?;
    let all = ORDERS * u32::try_from(STEPS.len())?;
    let unfinished = "SELECT count(*)::int FROM operations WHERE org_id = $1 AND state <> 'done'";

    let worker = Running::start(directory, "worker", url, &["worker"])?;
    let started = Instant::now();
    let (mut memory, mut first) = (0.0_f64, None);
    let per_second = loop {
        sleep(LOOK_EVERY).await;
        memory = memory.max(process::memory(&[worker.pid]).map_or(0.0, |memory| memory.resident));
        let left = u32::try_from(client.query_one(unfinished, &[&org_id]).await?.try_get::<_, i32>(0)?)?;
        // Counted from the first look that sees something done: before, the worker was only starting.
        if left < all {
            let (since, of) = *first.get_or_insert((Instant::now(), left));
            if left == 0 {
                break f64::from(of) / since.elapsed().as_secs_f64();
            }
        }
        if started.elapsed() > LIMIT {
            return Err(format!("{left} steps are not done after {LIMIT:?}").into());
        }
    };
    let worker_cpu_us = process::cpu(&[worker.pid]).unwrap_or_default().as_secs_f64() * 1e6 / f64::from(all);
    let errors = judge(&partners, all).await?;
    Ok(Steps { per_second, errors, memory, worker_cpu_us })
}

/// Orders as their payment leaves them, copied from one that the service made. Gives the organisation.
async fn confirm_orders(url: &str, client: &Client, partners: &str) -> Result<i64, Failure> {
    let org = setup::admin(url, &["org", "create", "--name", "steps", "--mode", "test"])?;
    let org = setup::member(&org, "org_id")?;
    for kind in STEPS {
        let partner = format!("http://{partners}/partners/{kind}");
        let words = ["step", "set", "--org", &org, "--kind", kind, "--url", &partner, "--status-url", &partner];
        setup::admin(url, &[&words[..], &["--honours-keys", "true", "--owner", "operations"]].concat())?;
    }
    let org_id: i64 = org.parse()?;
    let orders = "INSERT INTO orders
        SELECT copy.* FROM (SELECT orders FROM orders LIMIT 1) AS one, generate_series(1, $2) AS n,
            LATERAL jsonb_populate_record(one.orders, jsonb_build_object(
                'org_id', $1::bigint, 'order_id', gen_random_uuid(), 'status', 'confirmed',
                'customer_reference', 'cus_' || n)) AS copy";
    client.execute(orders, &[&org_id, &i32::try_from(ORDERS)?]).await?;
    let operations = "INSERT INTO operations (
            org_id, order_id, kind, fact, state, operation_key, attempts, next_attempt_at, deadline_at, created_at, updated_at)
        SELECT org_id, order_id, kind, '', state, 'bench-' || order_id || kind, 0,
            CASE WHEN state = 'ready' THEN now() END, now() + interval '1 hour', now(), now()
        FROM orders, unnest($2::text[]) AS kind,
            LATERAL (SELECT CASE WHEN kind = 'shipment_request' THEN 'waiting' ELSE 'ready' END AS state) AS begins
        WHERE org_id = $1";
    client.execute(operations, &[&org_id, &STEPS.map(str::to_owned).to_vec()]).await?;
    client.batch_execute("ANALYZE orders, operations").await?;
    Ok(org_id)
}

/// Compares what the partners did with what they were to do.
async fn judge(partners: &str, all: u32) -> Result<u64, Failure> {
    // Fails only when a provider is installed already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let told: Value = reqwest::get(format!("http://{partners}/effects")).await?.error_for_status()?.json().await?;
    let effects = told["effects"].as_array().ok_or("the simulated world tells no effects")?;
    let missing = u64::from(all).abs_diff(effects.len() as u64);
    Ok(missing + effects.iter().filter(|effect| effect["count"] != 1).count() as u64)
}
