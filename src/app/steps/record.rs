//! Records what was learned of a step, lets the next one begin, and moves the order on.

use crate::app::App;
use crate::app::error::AppError;
use crate::app::steps::begin::done_before_cancellation;
use crate::app::steps::finding::StepFinding;
use crate::app::steps::run::machine;
use crate::db::deadline::Deadline;
use crate::db::error::DbError;
use crate::db::operations::{Move, OperationId, OperationRow};
use crate::db::orders::LockedOrder;
use crate::db::step_policies::StepPolicy;
use crate::db::tx::Tx;
use crate::domain::case::NewCase;
use crate::domain::operation::{self, OperationEvent, OperationState};
use crate::domain::order::OrderStatus;
use crate::domain::step::{self, StepKind};
use serde_json::json;
use uuid::Uuid;

/// Writes a finding in one transaction, under the order's lock. Under a lease that is somebody else's by now only a success
/// counts; anything else is noted.
pub(super) async fn record(
    app: &App,
    id: &OperationId,
    token: Uuid,
    found: &StepFinding,
    policy: &StepPolicy,
    sent_before: bool,
) -> Result<(), AppError> {
    let tx = app.db.begin(Deadline::of_request()).await?;
    let order = tx.lock_order(id.org_id, id.order_id).await?.ok_or(AppError::Internal)?;
    let operation = tx.lock_operation(id).await?.ok_or(AppError::Internal)?;
    let holds = operation.lease_token == Some(token) || found.event == OperationEvent::Happened;
    let step = operation::next(&operation.facts, found.event, order.now, &machine(app, policy), rand::random());
    let step = step.ok().filter(|_| holds);
    let to = step.map_or(operation.facts.state, |step| step.state);
    let details = json!({
        "kind": id.kind, "attempt": operation.facts.attempts, "operation_key": operation.operation_key,
        "outcome": found.outcome, "reference": found.reference,
        "from": operation.facts.state.as_str(), "to": to.as_str(),
    });
    let what = if step.is_none() { "late_finding" } else { "step_attempted" };
    tx.journal((id.org_id, id.order_id), "recovery", what, &details).await?;
    if let Some(step) = step {
        let asked_in_vain = matches!(found.event, OperationEvent::NoAnswer { asked: true, .. });
        let never_sent = matches!(found.event, OperationEvent::NotSent { .. }) && !sent_before
            // What the partner says it has not done is sent as if for the first time.
            || found.event == OperationEvent::DidNotHappen;
        let external_reference = found.reference.as_deref();
        let moved = Move { external_reference, asked_in_vain, never_sent, ..Move::to(step, found.outcome) };
        tx.move_operation(id, &operation, &moved).await?;
        after(&tx, id, &order, &operation, (step.state, found.outcome), policy).await?;
    }
    tx.commit().await?;
    app.metrics.effect(policy.kind.as_str(), found.outcome);
    Ok(())
}

async fn after(
    tx: &Tx,
    id: &OperationId,
    order: &LockedOrder,
    operation: &OperationRow,
    (state, outcome): (OperationState, &'static str),
    policy: &StepPolicy,
) -> Result<(), DbError> {
    match state {
        OperationState::Done => step_done(tx, id, order, policy.kind).await,
        OperationState::NeedsReconciliation => {
            tx.open_case(id, Uuid::now_v7(), &case(outcome, operation, policy)).await?;
            tx.set_order_status(id.org_id, id.order_id, order, order.status).await
        }
        _ => tx.set_order_status(id.org_id, id.order_id, order, order.status).await,
    }
}

/// What follows from a step that is done: whoever waited for it begins, and the order moves on.
pub(in crate::app) async fn step_done(
    tx: &Tx,
    id: &OperationId,
    order: &LockedOrder,
    kind: StepKind,
) -> Result<(), DbError> {
    tx.close_settled_case(id).await?;
    if order.status == OrderStatus::Cancelled || order.cancel_requested {
        let planned = tx.step_policies(id.org_id).await?;
        let people = planned.iter().find(|step| step.kind == kind);
        tx.open_case(id, Uuid::now_v7(), &done_before_cancellation(kind.as_str(), people)).await?;
    } else if let Some(next) = kind.releases() {
        tx.release_step(id.org_id, id.order_id, next).await?;
    }
    let status = step::order_after(order.status, &tx.steps(id.org_id, id.order_id).await?);
    tx.set_order_status(id.org_id, id.order_id, order, status).await
}

fn case(outcome: &'static str, operation: &OperationRow, policy: &StepPolicy) -> NewCase {
    let (reason, suggestion) = match outcome {
        "exhausted" => ("exhausted", "ask_again: it was taken up too often, or for too long"),
        "refused" => ("step_refused", "clear it with the partner, then continue"),
        "not_done" => ("not_found", "continue: the partner says that it was not done"),
        "cannot_be_asked" => ("cannot_be_asked", "ask the partner, then mark_done or continue"),
        _ => ("outcome_unknown", "ask_again: the partner gave no definite answer"),
    };
    NewCase {
        reason,
        suggestion,
        evidence: json!({
            "ours": {
                "step": policy.kind.as_str(), "operation_key": operation.operation_key,
                "taken_up": operation.facts.attempts, "asked": operation.facts.questions,
                "honours_keys": policy.honours_keys, "can_be_asked": policy.status_url.is_some(),
            },
            "theirs": { "outcome": outcome, "reference": operation.external_reference },
        }),
        owner: policy.owner.clone(),
        corrector: policy.corrector.clone(),
    }
}
