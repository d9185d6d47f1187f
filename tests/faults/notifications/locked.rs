//! How long deliveries are answered while somebody holds their order's row.

use crate::Failure;
use crate::after_kill::Percentiles;
use crate::notifications::deliver::Provider;
use crate::notifications::orders::Orders;
use crate::notifications::story::{Delivery, SECRET, notification, now};
use crate::stack::Stack;
use futures_util::StreamExt;
use futures_util::stream;
use serde_json::json;
use std::time::{Duration, Instant};
use uuid::Uuid;

const DELIVERIES: usize = 300;
const AT_ONCE: usize = 8;

/// p50 and p99 of deliveries that are all about one locked order, each with news of its own.
pub async fn replies(stack: &Stack, provider: &Provider, orders: &Orders) -> Result<(Duration, Duration), Failure> {
    let id = orders.place().await?;
    let holder = stack.database.connect().await?;
    holder.batch_execute("BEGIN").await?;
    let lock = "SELECT FROM orders WHERE order_id = $1 FOR UPDATE";
    if holder.execute(lock, &[&Uuid::try_parse(&id)?]).await? != 1 {
        return Err("the order to lock is not there".into());
    }
    let id = id.as_str();
    let times: Vec<_> = stream::iter(0..DELIVERIES)
        .map(|n| async move {
            let intent = json!({ "id": format!("pi_locked_{n}"), "object": "payment_intent", "amount": 1,
                "currency": "jpy", "metadata": { "ichido_order_id": id } });
            let body = notification("payment_intent.processing", &intent, now()).to_string();
            let started = Instant::now();
            let status = provider.send(&Delivery { body, badly_signed: false }, SECRET).await;
            (status == Some(200)).then(|| started.elapsed())
        })
        .buffer_unordered(AT_ONCE)
        .collect()
        .await;
    holder.batch_execute("ROLLBACK").await?;
    if times.iter().any(Option::is_none) {
        return Err("a delivery about a locked order was not answered with 200".into());
    }
    let times = Percentiles::of(times.into_iter().flatten()).ok_or("no delivery")?;
    Ok((times.p50, times.p99))
}
