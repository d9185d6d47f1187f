//! Records what was learned of a step, lets the next one begin, and moves the order on.

use crate::app::App;
use crate::app::error::AppError;
use crate::app::persist::persist;
use crate::app::steps::begin::done_before_cancellation;
use crate::app::steps::cases::{case, contradiction};
use crate::app::steps::finding::StepFinding;
use crate::app::steps::run::machine;
use crate::db::deadline::Deadline;
use crate::db::error::DbError;
use crate::db::operations::{Move, OperationId, OperationRow};
use crate::db::orders::LockedOrder;
use crate::db::step_policies::StepPolicy;
use crate::db::tx::Tx;
use crate::domain::operation::{self, OperationEvent, OperationState, OperationStep};
use crate::domain::order::OrderStatus;
use crate::domain::step::{self, StepKind};
use serde_json::json;
use uuid::Uuid;

/// Writes a finding in one transaction, under the order's lock. Under a lease that is somebody else's by now only a success
/// counts; anything else is noted, and shown to a person where it contradicts what was recorded.
pub(super) async fn record(
    app: &App,
    id: &OperationId,
    token: Uuid,
    found: &StepFinding,
    policy: &StepPolicy,
    before: &OperationRow,
) -> Result<(), AppError> {
    let recording = Recording { app, id, token, found, policy, sent_before: before.first_sent_at.is_some() };
    persist(id.order_id, || recording.try_record()).await?;
    app.metrics.effect(policy.kind.as_str(), found.outcome);
    Ok(())
}

struct Recording<'a> {
    app: &'a App,
    id: &'a OperationId,
    token: Uuid,
    found: &'a StepFinding,
    policy: &'a StepPolicy,
    sent_before: bool,
}

impl Recording<'_> {
    async fn try_record(&self) -> Result<(), DbError> {
        let (id, found) = (self.id, self.found);
        let tx = self.app.db.begin(Deadline::of_request()).await?;
        let order = tx.lock_order(id.org_id, id.order_id).await?.ok_or(DbError::Decode { column: "order_id" })?;
        let operation = tx.lock_operation(id).await?.ok_or(DbError::Decode { column: "kind" })?;
        let holds = operation.lease_token == Some(self.token) || found.event == OperationEvent::Happened;
        let policy = machine(self.app, self.policy);
        let step = operation::next(&operation.facts, found.event, order.now, &policy, rand::random());
        let step = step.ok().filter(|_| holds);
        let status = match step {
            Some(step) => self.write(&tx, &order, &operation, step).await?,
            None => self.write_late(&tx, &order, &operation).await?,
        };
        let (what, to) = match step {
            None => ("late_finding", operation.facts.state),
            Some(step) if self.sent_before => ("operation_asked", step.state),
            Some(step) => ("operation_attempted", step.state),
        };
        let details = json!({
            "kind": id.kind, "fact": id.fact, "attempt": operation.facts.attempts,
            "operation_key": operation.operation_key, "outcome": found.outcome, "gateway_reference": found.reference,
            "from": operation.facts.state.as_str(), "to": to.as_str(),
            "order": { "from": order.status.as_str(), "to": status.as_str() },
        });
        tx.journal((id.org_id, id.order_id), "recovery", what, &details).await?;
        failpoint!("steps/record/before_commit");
        tx.commit().await?;
        failpoint!("steps/record/committed");
        Ok(())
    }

    async fn write(
        &self,
        tx: &Tx,
        order: &LockedOrder,
        operation: &OperationRow,
        step: OperationStep,
    ) -> Result<OrderStatus, DbError> {
        let (id, found) = (self.id, self.found);
        let certainly_not = matches!(found.event, OperationEvent::NotSent { .. }) || found.outcome == "refused";
        let moved = Move {
            external_reference: found.reference.as_deref(),
            asked_in_vain: matches!(found.event, OperationEvent::NoAnswer { asked: true, .. }),
            // What was not sent, or was refused at once, may be sent as if for the first time.
            never_sent: certainly_not && !self.sent_before,
            ..Move::to(step, found.outcome)
        };
        tx.move_operation(id, operation, &moved).await?;
        if step.state == OperationState::Done {
            return step_done(tx, id, order, self.policy.kind).await;
        }
        if step.state == OperationState::NeedsReconciliation {
            tx.open_case(id, Uuid::now_v7(), &case(found, operation, self.policy)).await?;
        }
        tx.set_order_status(id.org_id, id.order_id, order, order.status).await?;
        Ok(order.status)
    }

    /// A second success, or what may have been done after all of what was given up, is for a person.
    async fn write_late(&self, tx: &Tx, order: &LockedOrder, operation: &OperationRow) -> Result<OrderStatus, DbError> {
        let id = self.id;
        if let Some(case) = contradiction(self.found, operation, self.policy) {
            tx.open_case(id, Uuid::now_v7(), &case).await?;
            tx.set_order_status(id.org_id, id.order_id, order, order.status).await?;
        }
        Ok(order.status)
    }
}

/// What follows from a step that is done: whoever waited for it begins, and the order moves on. Gives the order's status.
pub(in crate::app) async fn step_done(
    tx: &Tx,
    id: &OperationId,
    order: &LockedOrder,
    kind: StepKind,
) -> Result<OrderStatus, DbError> {
    tx.close_settled_case(id).await?;
    let planned = tx.step_policies(id.org_id).await?;
    let plan = |kind| planned.iter().find(|step| step.kind == kind);
    if order.status == OrderStatus::Cancelled || order.cancel_requested {
        tx.open_case(id, Uuid::now_v7(), &done_before_cancellation(kind.as_str(), plan(kind))).await?;
    } else if let Some(next) = kind.releases() {
        let time = plan(next).map_or(std::time::Duration::from_hours(2), |step| step.time);
        tx.release_steps(id.org_id, &[(id.order_id, next, time)]).await?;
    }
    let status = step::order_after(order.status, &tx.steps(id.org_id, id.order_id).await?);
    tx.set_order_status(id.org_id, id.order_id, order, status).await?;
    Ok(status)
}
