//! How much longer a new order takes when a thousand old ones are used up and due.

use crate::Failure;
use crate::notifications::deliver::Provider;
use crate::notifications::orders::Orders;
use crate::notifications::story::{AMOUNT, Delivery, SECRET, notification, now};
use crate::stack::Stack;
use serde_json::json;
use std::time::{Duration, Instant};
use tokio::time::sleep;
use uuid::Uuid;

/// How often it is measured alone; the middle counts.
const ALONE: usize = 5;
const LIMIT: Duration = Duration::from_mins(1);

/// Steps whose attempts are used up, all due now, and as many facts that wait for an order which never comes.
const EXHAUST: &str = "
    INSERT INTO operations (org_id, order_id, kind, fact, state, operation_key, attempts, next_attempt_at, deadline_at,
        first_sent_at, last_sent_at, created_at, updated_at)
    SELECT org_id, order_id, 'confirmation_mail', 'again-' || n, 'unknown', 'used-up-' || order_id || n, 1000, now(),
        now() + interval '1 hour', now(), now(), now(), now()
    FROM orders, generate_series(1, 10) n WHERE org_id = $1 ORDER BY order_id LIMIT 1000";
const STRANGERS: &str = "
    INSERT INTO events (org_id, provider, fact_key, event_id, what, reference, fact, outcome, deadline, next_attempt_at,
        created_at, updated_at)
    SELECT $1, 'stripe', 'pi:stranger_' || n || ':succeeded', gen_random_uuid(), 'succeeded', 'stranger_' || n, '{}', 'parked',
        now() + interval '1 hour', now(), now(), now()
    FROM generate_series(1, 1000) n";

/// From a new order's notification to its last step, alone and behind a thousand of each.
pub async fn delay(stack: &Stack, provider: &Provider, orders: &Orders) -> Result<(Duration, Duration), Failure> {
    let mut alone = Vec::new();
    for _ in 0..ALONE {
        alone.push(time_to_done(provider, orders).await?);
    }
    alone.sort_unstable();
    let org = stack.api.org(0).id;
    if orders.sql().execute(EXHAUST, &[&org]).await? < 1_000 {
        return Err("there are too few orders to use up".into());
    }
    orders.sql().execute(STRANGERS, &[&org]).await?;
    let behind = time_to_done(provider, orders).await?;
    Ok((alone[ALONE / 2], behind))
}

async fn time_to_done(provider: &Provider, orders: &Orders) -> Result<Duration, Failure> {
    let id = orders.place().await?;
    let intent = json!({ "id": format!("pi_{}", Uuid::now_v7().simple()), "object": "payment_intent", "amount": AMOUNT,
        "amount_received": AMOUNT, "currency": "jpy", "metadata": { "ichido_order_id": id } });
    let body = notification("payment_intent.succeeded", &intent, now()).to_string();
    let (id, started) = (Uuid::try_parse(&id)?, Instant::now());
    if provider.send(&Delivery { body, badly_signed: false }, SECRET).await != Some(200) {
        return Err("a delivery was not accepted".into());
    }
    let status = "SELECT status FROM orders WHERE order_id = $1";
    while started.elapsed() < LIMIT {
        if orders.sql().query_one(status, &[&id]).await?.get::<_, &str>(0) == "completed" {
            return Ok(started.elapsed());
        }
        sleep(Duration::from_millis(10)).await;
    }
    Err("a new order was not done in time".into())
}
