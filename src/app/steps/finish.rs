//! Records steps that were done at their first sending, all that wait at a moment in one transaction.
//!
//! What does not fit (an order that somebody has locked or cancelled, a lease that is somebody else's by now, a transaction that
//! failed) is recorded alone by whoever asked, so that one step's trouble is never its neighbours'.

use crate::app::App;
use crate::app::together::Together;
use crate::db::deadline::Deadline;
use crate::db::error::DbError;
use crate::db::first_sendings::FirstDone;
use crate::db::orders::LockedOrder;
use crate::db::tx::Tx;
use crate::domain::ids::{OrderId, OrgId};
use crate::domain::operation::OperationState;
use crate::domain::order::OrderStatus;
use crate::domain::step::{self, StepKind};
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};

/// One organisation's steps that wait to be recorded as done.
#[derive(Default)]
pub struct Finisher(Together<FirstDone, bool>);

impl Finisher {
    /// Records a step as done together with whoever else asks now; `false`: it is to be recorded alone.
    pub async fn finish(&self, app: &App, org_id: OrgId, done: FirstDone) -> bool {
        let work = |all| {
            let app = app.clone();
            async move { write(&app, org_id, all).await }
        };
        self.0.ask(&app.work, done, work).await.unwrap_or(false)
    }
}

async fn write(app: &App, org_id: OrgId, done: Vec<FirstDone>) -> Vec<bool> {
    let recorded = try_write(app, org_id, &done).await.unwrap_or_else(|error| {
        tracing::warn!(%error, org_id = org_id.0, steps = done.len(), "steps that are done are recorded one by one");
        HashSet::new()
    });
    let is_recorded = |each: &FirstDone| {
        let is_recorded = recorded.contains(&(each.order_id, each.kind));
        if is_recorded {
            app.metrics.effect(each.kind.as_str(), "done");
        }
        is_recorded
    };
    done.iter().map(is_recorded).collect()
}

async fn try_write(app: &App, org_id: OrgId, done: &[FirstDone]) -> Result<HashSet<(OrderId, StepKind)>, DbError> {
    let tx = app.db.begin(Deadline::of_request()).await?;
    let order_ids: Vec<_> = done.iter().map(|each| each.order_id.0).collect();
    let mut orders = tx.lock_free_orders(org_id, &order_ids).await?;
    // What is done for an order that is cancelled is a question for people.
    orders.retain(|_, order| order.status != OrderStatus::Cancelled && !order.cancel_requested);
    let fitting: Vec<_> = done.iter().filter(|each| orders.contains_key(&each.order_id)).collect();
    let finished: HashSet<_> = tx.finish_first_sendings(org_id, &fitting).await?.into_iter().collect();
    orders.retain(|order_id, _| finished.iter().any(|(finished, _)| finished == order_id));
    if orders.is_empty() {
        tx.rollback().await;
        return Ok(HashSet::new());
    }
    release(&tx, org_id, &finished).await?;
    let statuses = statuses(&tx, org_id, &orders).await?;
    let finished_here = fitting.into_iter().filter(|each| finished.contains(&(each.order_id, each.kind)));
    let entries = entries(finished_here, &orders, &statuses);
    let entries: Vec<_> = entries.iter().map(|(order_id, details)| (*order_id, details)).collect();
    tx.journal_all(org_id, "recovery", "operation_attempted", &entries).await?;
    let moved: Vec<_> = orders
        .iter()
        .map(|(order_id, order)| (*order_id, order.version, statuses.get(order_id).copied().unwrap_or(order.status)))
        .collect();
    tx.set_order_statuses(org_id, &moved).await?;
    failpoint!("steps/finish/before_commit");
    tx.commit().await?;
    failpoint!("steps/finish/committed");
    Ok(finished)
}

/// Whoever waited for one of these begins.
async fn release(tx: &Tx, org_id: OrgId, finished: &HashSet<(OrderId, StepKind)>) -> Result<(), DbError> {
    let next: Vec<_> =
        finished.iter().filter_map(|(order_id, kind)| kind.releases().map(|next| (*order_id, next))).collect();
    if next.is_empty() {
        return Ok(());
    }
    let planned = tx.step_policies(org_id).await?;
    let time_of = |kind| planned.iter().find(|step| step.kind == kind).map(|step| step.time);
    // A step without a policy was never asked for.
    let next: Vec<_> =
        next.into_iter().filter_map(|(order_id, kind)| time_of(kind).map(|time| (order_id, kind, time))).collect();
    tx.release_steps(org_id, &next).await
}

/// Where each order stands now.
async fn statuses(
    tx: &Tx,
    org_id: OrgId,
    orders: &HashMap<OrderId, LockedOrder>,
) -> Result<HashMap<OrderId, OrderStatus>, DbError> {
    let order_ids: Vec<_> = orders.keys().map(|order_id| order_id.0).collect();
    let mut steps: HashMap<OrderId, Vec<(StepKind, OperationState)>> = HashMap::new();
    for (order_id, kind, state) in tx.steps_of(org_id, &order_ids).await? {
        steps.entry(order_id).or_default().push((kind, state));
    }
    let after = |(order_id, order): (&OrderId, &LockedOrder)| {
        let steps = steps.get(order_id).map(Vec::as_slice).unwrap_or_default();
        (*order_id, step::order_after(order.status, steps))
    };
    Ok(orders.iter().map(after).collect())
}

/// The entries of the orders' stories. Of several steps of one order the last one tells where it moved the order.
fn entries<'a>(
    finished: impl DoubleEndedIterator<Item = &'a FirstDone>,
    orders: &HashMap<OrderId, LockedOrder>,
    statuses: &HashMap<OrderId, OrderStatus>,
) -> Vec<(OrderId, Value)> {
    let mut told = HashSet::new();
    let mut entries: Vec<_> = finished
        .rev()
        .filter_map(|each| {
            let from = orders.get(&each.order_id)?.status;
            let is_last = told.insert(each.order_id);
            let to = if is_last { statuses.get(&each.order_id).copied()? } else { from };
            let details = json!({
                "kind": each.kind.as_str(), "fact": "", "attempt": 1,
                "operation_key": each.operation_key, "outcome": "done", "gateway_reference": each.reference,
                "from": OperationState::Leased.as_str(), "to": OperationState::Done.as_str(),
                "order": { "from": from.as_str(), "to": to.as_str() },
            });
            Some((each.order_id, details))
        })
        .collect();
    entries.reverse();
    entries
}
