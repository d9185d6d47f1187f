//! Carries a step out: taken under a lease, sent once, and asked about before it is sent again to a partner who does not honour
//! keys.

use crate::app::App;
use crate::app::charge::lease::Lease;
use crate::app::error::AppError;
use crate::app::steps::finding::{StepFinding, finding};
use crate::app::steps::partners::partner;
use crate::app::steps::record::record;
use crate::db::deadline::Deadline;
use crate::db::operations::{OperationId, OperationRow};
use crate::db::step_policies::StepPolicy;
use crate::domain::operation::{OperationEvent, OperationPolicy, exhausted};
use crate::domain::order::{Order, OrderStatus};
use crate::domain::step::{StepKind, StepWay, way};
use crate::gateway::http_partner::{HttpPartner, PartnerOutcome, PartnerRequest};
use time::OffsetDateTime;

/// Takes a step up that is due, sends it or asks about it, and records what is known. `None` when somebody else has it;
/// otherwise whether the partner gave an answer.
///
/// # Errors
///
/// [`AppError`]; the lease then ends, and the next one goes on.
pub async fn run_step(app: &App, id: &OperationId) -> Result<Option<bool>, AppError> {
    let kind = StepKind::parse(&id.kind).ok_or(AppError::Internal)?;
    let found = app.db.find_step_policy(id.org_id, kind, Deadline::of_request()).await?;
    let (policy, mode) = found.ok_or(AppError::Internal)?;
    // What cannot be called leaves the row as it is, for somebody who can.
    let partner = partner(app, id.org_id, &policy, mode)?;
    let lease = Lease::begin();
    if !app.db.take_operation(id, lease.token, app.payments.lease, Deadline::of_request()).await? {
        return Ok(None);
    }
    let Some(taken) = load(app, id, &policy, lease).await? else {
        return Ok(None);
    };
    let found = call(&partner, kind, &taken).await;
    record(app, id, lease.token, &found, &policy, taken.operation.first_sent_at.is_some()).await?;
    let silent = matches!(found.event, OperationEvent::NotSent { .. } | OperationEvent::NoAnswer { .. });
    Ok(Some(!silent))
}

/// What the machine needs to know of a policy.
pub(super) fn machine(app: &App, policy: &StepPolicy) -> OperationPolicy {
    OperationPolicy { honours_keys: policy.honours_keys, max_attempts: policy.max_attempts, ..app.payments.policy }
}

struct Taken {
    order: Order,
    operation: OperationRow,
    way: Way,
    now: OffsetDateTime,
    honours_keys: bool,
}

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    By(StepWay),
    /// Its attempts or its time are used up.
    Exhausted,
    /// The order is cancelled, and it was never sent.
    Unwanted,
    /// The lease would not outlast a call.
    TooLate,
}

/// Reads it in one short transaction, which also notes a sending before it is sent.
async fn load(app: &App, id: &OperationId, policy: &StepPolicy, lease: Lease) -> Result<Option<Taken>, AppError> {
    let tx = app.db.begin(Deadline::of_request()).await?;
    let locked = tx.lock_order(id.org_id, id.order_id).await?.ok_or(AppError::Internal)?;
    let operation = tx.lock_operation(id).await?.ok_or(AppError::Internal)?;
    let order = tx.order(id.org_id, id.order_id).await?.ok_or(AppError::Internal)?;
    let now = locked.now;
    let unwanted = locked.cancel_requested || locked.status == OrderStatus::Cancelled;
    let can_ask = policy.status_url.is_some();
    let way = if unwanted && operation.first_sent_at.is_none() {
        Way::Unwanted
    } else if exhausted(&operation.facts, now, &machine(app, policy)) {
        Way::Exhausted
    } else {
        // Nothing that may still be undone is sent again for an order that is cancelled.
        let honours_keys = policy.honours_keys && !unwanted;
        Way::By(way(operation.first_sent_at, honours_keys, can_ask, operation.look_only))
    };
    let way = if way == Way::By(StepWay::Send) && !lease.outlasts_a_call(&app.payments) { Way::TooLate } else { way };
    let sends = way == Way::By(StepWay::Send);
    let ours = operation.lease_token == Some(lease.token);
    if !ours || (sends && !tx.mark_sent(id, lease.token).await?) {
        tx.rollback().await;
        return Ok(None);
    }
    tx.commit().await?;
    Ok(Some(Taken { order, operation, way, now, honours_keys: policy.honours_keys }))
}

async fn call(partner: &HttpPartner, kind: StepKind, taken: &Taken) -> StepFinding {
    let sent_before = taken.operation.first_sent_at.is_some();
    let now = taken.now.unix_timestamp();
    let key = &taken.operation.operation_key;
    match taken.way {
        Way::Exhausted => StepFinding::of(OperationEvent::Conflict, "exhausted"),
        Way::Unwanted => StepFinding::of(OperationEvent::Refused, "cancelled"),
        Way::TooLate if sent_before => {
            StepFinding::of(OperationEvent::NoAnswer { asked: false, after: None }, "too_late_to_send")
        }
        Way::TooLate => StepFinding::of(OperationEvent::NotSent { after: None }, "too_late_to_send"),
        Way::By(StepWay::Person) => StepFinding::of(OperationEvent::Conflict, "cannot_be_asked"),
        Way::By(StepWay::Ask) => finding(partner.ask(key, now).await, true),
        Way::By(StepWay::Send) => {
            let request = request(key, kind, &taken.order);
            // Who honours keys speaks of every earlier call, too.
            let outcome = partner.perform(&request, sent_before && !taken.honours_keys, now).await;
            let not_reached = matches!(outcome, PartnerOutcome::NotSent { .. });
            let found = finding(outcome, sent_before);
            if not_reached && sent_before { unknown_still(&found) } else { found }
        }
    }
}

/// That a repetition was not sent says nothing about the first sending.
fn unknown_still(found: &StepFinding) -> StepFinding {
    let after = if let OperationEvent::NotSent { after } = found.event { after } else { None };
    StepFinding::of(OperationEvent::NoAnswer { asked: true, after }, found.outcome)
}

fn request(key: &str, kind: StepKind, order: &Order) -> PartnerRequest {
    PartnerRequest {
        operation_key: key.to_owned(),
        kind: kind.as_str(),
        order_id: order.order_id,
        amount: order.amount,
        currency: order.request.currency.clone(),
        metadata: order.request.metadata.clone().unwrap_or_default(),
    }
}
