//! Asks for an order's steps, and ends those that nobody wants any more.

use crate::db::error::DbError;
use crate::db::operations::OperationId;
use crate::db::step_policies::PlannedStep;
use crate::db::steps::NewStep;
use crate::db::tx::Tx;
use crate::domain::case::NewCase;
use crate::domain::ids::{OrderId, OrgId};
use crate::domain::operation::OperationState;
use crate::domain::step;
use serde_json::json;
use uuid::Uuid;

/// Asks for every step of the organisation's policies, in the transaction that confirms the order; each once, however often it
/// is asked for.
pub(in crate::app) async fn begin_steps(tx: &Tx, org_id: OrgId, order_id: OrderId) -> Result<(), DbError> {
    let planned = tx.step_policies(org_id).await?;
    let steps: Vec<_> = steps_of(order_id, &planned).collect();
    tx.add_steps(org_id, &steps).await
}

/// The steps of one order by its organisation's policies.
pub(in crate::app) fn steps_of(order_id: OrderId, planned: &[PlannedStep]) -> impl Iterator<Item = NewStep> {
    let kinds: Vec<_> = planned.iter().map(|step| step.kind).collect();
    planned.iter().zip(step::begin(&kinds)).map(move |(PlannedStep { kind, time, .. }, (_, state))| {
        let operation_key = format!("ichido-{}", Uuid::now_v7());
        NewStep { order_id, kind: *kind, state, operation_key, time: *time }
    })
}

/// Ends the steps of an order that is cancelled: those that nobody has begun. What is done already is for whoever corrects it.
pub(in crate::app) async fn stop_steps(tx: &Tx, org_id: OrgId, order_id: OrderId) -> Result<(), DbError> {
    tx.stop_steps(org_id, order_id).await?;
    let done: Vec<_> = tx.steps(org_id, order_id).await?;
    let done = done.into_iter().filter(|(_, state)| *state == OperationState::Done);
    let planned = tx.step_policies(org_id).await?;
    for (kind, _) in done {
        let people = planned.iter().find(|step| step.kind == kind);
        let case = done_before_cancellation(kind.as_str(), people);
        tx.open_case(&OperationId::step(org_id, order_id, kind), Uuid::now_v7(), &case).await?;
    }
    Ok(())
}

/// The case about a step that was done for an order that is cancelled.
pub(super) fn done_before_cancellation(kind: &str, people: Option<&PlannedStep>) -> NewCase {
    let name =
        |of: fn(&PlannedStep) -> &String| people.map_or_else(|| "operations".to_owned(), |step| of(step).clone());
    NewCase {
        reason: "done_before_cancellation",
        suggestion: "undo it with whoever did it, then dismiss",
        evidence: json!({ "ours": { "step": kind, "state": "done" }, "theirs": {} }),
        owner: name(|step| &step.owner),
        corrector: name(|step| &step.corrector),
    }
}
