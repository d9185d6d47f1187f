//! Carries a step out: taken under a lease, sent once, and asked about before it is sent again to a partner who does not honour
//! keys.

use crate::app::App;
use crate::app::charge::lease::Lease;
use crate::app::error::AppError;
use crate::app::steps::calling::{Calling, call};
use crate::app::steps::partners::{partner, target_sha256};
use crate::app::steps::record::record;
use crate::db::deadline::Deadline;
use crate::db::operations::{OperationId, OperationRow};
use crate::db::step_policies::StepPolicy;
use crate::domain::operation::{OperationPolicy, exhausted};
use crate::domain::order::{Order, OrderStatus};
use crate::domain::step::{StepKind, StepWay, way};
use crate::gateway::http_partner::HttpPartner;
use time::OffsetDateTime;

/// Takes a step up that is due, sends it or asks about it, and records what is known. `Some`: whether the partner, who was
/// called, gave an answer.
///
/// # Errors
///
/// [`AppError`]; the lease then ends, and the next one goes on.
pub async fn run_step(app: &App, id: &OperationId) -> Result<Option<bool>, AppError> {
    let kind = StepKind::parse(&id.kind).ok_or(AppError::Internal)?;
    let policies = app.db.step_policies_of(id.org_id, Deadline::of_request()).await?;
    let (policy, mode) = policies.into_iter().find(|(policy, _)| policy.kind == kind).ok_or(AppError::Internal)?;
    // What cannot be called leaves the row as it is, for somebody who can.
    let partner = partner(app, id.org_id, &policy, mode)?;
    let lease = Lease::begin();
    if !app.db.take_operation(id, lease.token, app.payments.lease, Deadline::of_request()).await? {
        return Ok(None);
    }
    failpoint!("steps/run/taken");
    run_taken(app, id, &policy, &partner, lease).await
}

/// What is left of [`run_step`] once the step is under our lease.
pub(super) async fn run_taken(
    app: &App,
    id: &OperationId,
    policy: &StepPolicy,
    partner: &HttpPartner,
    lease: Lease,
) -> Result<Option<bool>, AppError> {
    let Some(taken) = load(app, id, policy, lease).await? else {
        return Ok(None);
    };
    failpoint!("steps/run/noted");
    let found = call(&Calling { app, id, partner, policy, taken: &taken }).await?;
    failpoint!("steps/run/answered");
    record(app, id, lease.token, &found, policy, &taken.operation).await?;
    Ok(found.answered)
}

/// What the machine needs to know of a policy.
pub(super) fn machine(app: &App, policy: &StepPolicy) -> OperationPolicy {
    OperationPolicy { honours_keys: policy.honours_keys, max_attempts: policy.max_attempts, ..app.payments.policy }
}

/// A step under our lease.
pub(super) struct Taken {
    pub lease: Lease,
    pub order: Order,
    pub operation: OperationRow,
    pub way: Way,
    /// Whether the order is cancelled, or is to be.
    pub unwanted: bool,
    pub now: OffsetDateTime,
}

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    By(StepWay),
    /// Its attempts or its time are used up.
    Exhausted,
    /// The order is cancelled, and it was never sent.
    Unwanted,
    /// It was sent to somebody else, or on other terms, than the policy has now.
    OtherPartner,
}

/// Reads it in one short transaction, which also notes a sending before it is sent.
async fn load(app: &App, id: &OperationId, policy: &StepPolicy, lease: Lease) -> Result<Option<Taken>, AppError> {
    let tx = app.db.begin(Deadline::of_request()).await?;
    let locked = tx.lock_order(id.org_id, id.order_id).await?.ok_or(AppError::Internal)?;
    let operation = tx.lock_operation(id).await?.ok_or(AppError::Internal)?;
    let order = tx.order(id.org_id, id.order_id).await?.ok_or(AppError::Internal)?;
    let unwanted = locked.cancel_requested || locked.status == OrderStatus::Cancelled;
    let way = if exhausted(&operation.facts, locked.now, &machine(app, policy)) {
        Way::Exhausted
    } else {
        way_of(policy, &operation, unwanted)
    };
    let sends = way == Way::By(StepWay::Send);
    let ours = operation.lease_token == Some(lease.token);
    let target = target_sha256(policy);
    if !ours || (sends && !tx.mark_sent(id, lease.token, Some(&target)).await?) {
        tx.rollback().await;
        return Ok(None);
    }
    failpoint!("steps/run/before_commit");
    tx.commit().await?;
    Ok(Some(Taken { lease, order, operation, way, unwanted, now: locked.now }))
}

fn way_of(policy: &StepPolicy, operation: &OperationRow, unwanted: bool) -> Way {
    let sent = operation.first_sent_at.is_some();
    if unwanted && !sent {
        return Way::Unwanted;
    }
    if sent && operation.target_sha256.as_ref() != Some(&target_sha256(policy)) {
        return Way::OtherPartner;
    }
    // Nothing that may still be undone is sent again for an order that is cancelled.
    let honours_keys = planted!("step_sent_again", true, policy.honours_keys && !unwanted);
    Way::By(way(operation.first_sent_at, honours_keys, policy.status_url.is_some(), operation.look_only))
}
