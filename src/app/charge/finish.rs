//! Records first charges that succeeded, all of an organisation that wait at a moment in one transaction.
//!
//! This is the straight way and nothing else: the order is as it was placed, the charge is still under the lease that it was sent
//! with, the payment is known of nowhere else. What does not fit is settled alone ([`settle_charge`]), so that one payment's
//! trouble is never its neighbours'; that function alone decides what anything else means.
//!
//! [`settle_charge`]: super::settle::settle_charge

use crate::app::App;
use crate::app::charge::opened::{Told, told_as_details};
use crate::app::steps::steps_of;
use crate::app::together::Together;
use crate::db::claims::Waiting;
use crate::db::deadline::Deadline;
use crate::db::error::DbError;
use crate::db::first_charges::{EndedCharge, FirstPaid};
use crate::db::orders::LockedOrder;
use crate::db::steps::NewStep;
use crate::db::tx::Tx;
use crate::domain::ids::{OrderId, OrgId};
use crate::domain::operation::OperationState;
use crate::domain::order::OrderStatus;
use crate::domain::payment::PaymentState;
use crate::domain::reply::{self, StoredReply};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

/// What became of a first charge that succeeded: `None` is to be settled alone; else the answer that was stored for the request
/// that waits, if there was none yet.
type Finished = Option<Option<StoredReply>>;

/// Of one thread, so many at most are settled alone at the same time after all, since each of them needs a connection for itself;
/// and so many of one organisation, so that its trouble is not another's.
const ALONE: usize = 4;
const ALONE_OF_ONE: usize = 2;

/// First charges that wait to be recorded, by organisation.
pub struct Finishing {
    by_org: Mutex<HashMap<OrgId, Arc<OfOrg>>>,
    alone: Semaphore,
}

struct OfOrg {
    together: Together<FirstPaid, Finished>,
    alone: Arc<Semaphore>,
}

/// A turn to settle alone; the next one comes when it is dropped.
pub(super) struct Turn<'a> {
    _of_org: Option<OwnedSemaphorePermit>,
    _of_all: Option<SemaphorePermit<'a>>,
}

impl Default for Finishing {
    fn default() -> Self {
        Self { by_org: Mutex::default(), alone: Semaphore::new(ALONE) }
    }
}

impl Default for OfOrg {
    fn default() -> Self {
        Self { together: Together::default(), alone: Arc::new(Semaphore::new(ALONE_OF_ONE)) }
    }
}

impl Finishing {
    /// Waits for a turn to settle one alone that could not be recorded with others.
    pub(super) async fn turn_alone(&self, org_id: OrgId) -> Turn<'_> {
        // They are never closed.
        let of_org = Arc::clone(&self.of(org_id).alone).acquire_owned().await.ok();
        Turn { _of_org: of_org, _of_all: self.alone.acquire().await.ok() }
    }

    /// Records a success together with whoever else asks now.
    pub(super) async fn finish(&self, app: &App, org_id: OrgId, paid: FirstPaid) -> Finished {
        let work = |all| {
            let app = app.clone();
            async move { write(&app, org_id, all).await }
        };
        self.of(org_id).together.ask(&app.work, paid, work).await.flatten()
    }

    fn of(&self, org_id: OrgId) -> Arc<OfOrg> {
        let mut by_org = self.by_org.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(by_org.entry(org_id).or_default())
    }
}

async fn write(app: &App, org_id: OrgId, paid: Vec<FirstPaid>) -> Vec<Finished> {
    let mut written = try_write(app, org_id, &paid).await.unwrap_or_else(|error| {
        tracing::warn!(%error, org_id = org_id.0, charges = paid.len(), "charges that succeeded are recorded one by one");
        HashMap::new()
    });
    (0..written.len()).for_each(|_| app.metrics.effect("charge", SUCCEEDED));
    paid.iter().map(|each| written.remove(&each.order_id)).collect()
}

const SUCCEEDED: &str = "succeeded";

async fn try_write(
    app: &App,
    org_id: OrgId,
    paid: &[FirstPaid],
) -> Result<HashMap<OrderId, Option<StoredReply>>, DbError> {
    let tx = app.db.begin(Deadline::of_request()).await?;
    let order_ids: Vec<_> = paid.iter().map(|each| each.order_id.0).collect();
    let mut orders = tx.lock_free_orders(org_id, &order_ids).await?;
    orders.retain(|_, order| order.status == OrderStatus::Received && !order.cancel_requested);
    let fitting: Vec<_> = paid.iter().filter(|each| orders.contains_key(&each.order_id)).collect();
    let ended = tx.finish_first_charges(org_id, &fitting).await?;
    if ended.is_empty() {
        tx.rollback().await;
        return Ok(HashMap::new());
    }
    begin_steps(&tx, org_id, &ended).await?;
    confirm(&tx, org_id, &orders, &ended).await?;
    let answers = answer(&tx, org_id, &ended).await?;
    failpoint!("charge/finish/before_commit");
    tx.commit().await?;
    failpoint!("charge/finish/committed");
    Ok(answers)
}

async fn begin_steps(tx: &Tx, org_id: OrgId, ended: &[EndedCharge]) -> Result<(), DbError> {
    let planned = tx.step_policies(org_id).await?;
    let steps: Vec<NewStep> = ended.iter().flat_map(|each| steps_of(each.order_id, &planned)).collect();
    tx.add_steps(org_id, &steps).await
}

/// Moves the orders on, and tells their stories.
async fn confirm(
    tx: &Tx,
    org_id: OrgId,
    orders: &HashMap<OrderId, LockedOrder>,
    ended: &[EndedCharge],
) -> Result<(), DbError> {
    let moved = |each: &EndedCharge| {
        orders.get(&each.order_id).map(|order| (each.order_id, order.version, OrderStatus::Confirmed))
    };
    let moved: Vec<_> = ended.iter().filter_map(moved).collect();
    tx.set_order_statuses(org_id, &moved).await?;
    let details: Vec<_> = ended.iter().map(|each| (each.order_id, told_as_details(&told(each)))).collect();
    let entries: Vec<_> = details.iter().map(|(order_id, details)| (*order_id, details)).collect();
    tx.journal_all(org_id, "request", "operation_attempted", &entries).await
}

fn told(ended: &EndedCharge) -> Told<'_> {
    Told {
        kind: "charge",
        fact: "1",
        attempt: 1,
        operation_key: &ended.operation_key,
        amount: ended.amount,
        currency: &ended.currency,
        outcome: SUCCEEDED,
        code: None,
        reference: Some(&ended.reference),
        operation: (OperationState::Leased, OperationState::Done),
        payment: (1, PaymentState::Processing, PaymentState::Succeeded),
        order: (OrderStatus::Received, OrderStatus::Confirmed),
    }
}

/// Stores the answers of the requests that wait. One that has an answer already keeps it.
async fn answer(
    tx: &Tx,
    org_id: OrgId,
    ended: &[EndedCharge],
) -> Result<HashMap<OrderId, Option<StoredReply>>, DbError> {
    let order_ids: Vec<_> = ended.iter().map(|each| each.order_id.0).collect();
    let mut orders: HashMap<_, _> =
        tx.orders(org_id, &order_ids).await?.into_iter().map(|order| (order.order_id, order)).collect();
    let replies: Vec<_> = ended
        .iter()
        .map(|each| {
            let order = orders.remove(&each.order_id).ok_or(DbError::Decode { column: "order_id" })?;
            Ok((each, reply::created(&order)))
        })
        .collect::<Result<_, DbError>>()?;
    let waiting: Vec<_> = replies.iter().filter_map(|(each, reply)| Some((waiting_for(each)?, reply))).collect();
    let stored: HashSet<String> = tx.complete_claims(org_id, &waiting).await?.into_iter().collect();
    let is_stored = |each: &EndedCharge| each.idempotency_key.as_ref().is_some_and(|key| stored.contains(key));
    Ok(replies.into_iter().map(|(each, reply)| (each.order_id, is_stored(each).then_some(reply))).collect())
}

/// The request that waits for a first charge.
fn waiting_for(ended: &EndedCharge) -> Option<Waiting<'_>> {
    let key = ended.idempotency_key.as_deref()?;
    Some(Waiting { key, order_id: ended.order_id, attempt: Some(1) })
}
