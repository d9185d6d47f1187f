//! What a person's decision does to the effect it is about, and to the order.

use crate::app::App;
use crate::app::charge::CHARGE_TIME;
use crate::app::charge::send::Heard;
use crate::app::charge::settle::{Finding, settle_in};
use crate::app::command::Keyed;
use crate::app::refund::{REFUND_TIME, ask_for_refund, give_back};
use crate::app::steps::step_done;
use crate::db::error::DbError;
use crate::db::operations::{Move, OperationId, OperationRow};
use crate::db::orders::LockedOrder;
use crate::db::tx::Tx;
use crate::domain::case::Decision;
use crate::domain::operation::{self, OperationState};
use crate::domain::payment::ChargeFact;
use crate::domain::step::StepKind;
use crate::domain::validate::AskedDecision;
use serde_json::json;
use std::time::Duration;

/// Carries a decision out, inside its transaction: order and effect are locked, the case is resolved, and the decision is
/// one of those that are possible.
pub(super) async fn carry_out(
    app: &App,
    tx: &Tx,
    keyed: &Keyed,
    id: &OperationId,
    (order, operation): (&LockedOrder, &OperationRow),
    asked: &AskedDecision,
) -> Result<(), DbError> {
    let ends = matches!(asked.decision, Decision::MarkDone | Decision::MarkNotDone);
    if ends && id.attempt().is_some() {
        // Moves the order on by itself.
        let settled = settle_in(app, tx, &finding(keyed, id.clone(), asked)).await?;
        return if settled.is_some() { Ok(()) } else { Err(DbError::LostRace) };
    }
    let settled = operation.facts.state == OperationState::Done;
    if settled && asked.decision == Decision::Continue {
        give_second_success_back(tx, id).await?;
    } else if let Some(event) = asked.decision.event() {
        let policy = &app.payments.policy;
        let step = operation::next(&operation.facts, event, order.now, policy, rand::random());
        let step = step.map_err(|_| DbError::LostRace)?;
        let kind = StepKind::parse(&id.kind);
        let time = time_of(tx, id, kind).await?;
        // A person lets a step be done anew, as if it had never been sent.
        let never_sent = kind.is_some() && asked.decision == Decision::StartNew;
        // So that whoever meets it at the gateway knows which one it is.
        let external_reference = asked.refund_reference().filter(|_| step.state == OperationState::Done);
        let fresh_start = Some(time);
        let moved = Move { external_reference, never_sent, fresh_start, ..Move::to(step, asked.decision.as_str()) };
        tx.move_operation(id, operation, &moved).await?;
        let details = json!({
            "kind": id.kind, "fact": id.fact, "operation_key": operation.operation_key,
            "outcome": asked.decision.as_str(), "from": operation.facts.state.as_str(), "to": step.state.as_str(),
            "order": { "from": order.status.as_str(), "to": order.status.as_str() },
        });
        let by = &keyed.command.asked_by;
        tx.journal((id.org_id, id.order_id), by, "operation_moved", &details).await?;
        match (step.state, kind) {
            (OperationState::Done, Some(kind)) => return step_done(tx, id, order, kind).await.map(|_| ()),
            (OperationState::Failed, Some(kind)) => {
                // What waits for a step that is given up will never have its turn.
                if let Some(next) = kind.releases() {
                    tx.give_up_step(id.org_id, id.order_id, next).await?;
                }
            }
            (OperationState::Done, None) => book_refund(tx, id).await?,
            _ => {
                let give_up = kind.is_none() && asked.decision == Decision::StartNew;
                tx.restrict(id, give_up, asked.decision == Decision::AskAgain).await?;
            }
        }
    }
    tx.set_order_status(id.org_id, id.order_id, order, order.status).await
}

/// How long an effect is tried anew.
async fn time_of(tx: &Tx, id: &OperationId, kind: Option<StepKind>) -> Result<Duration, DbError> {
    if id.attempt().is_some() {
        return Ok(CHARGE_TIME);
    }
    let planned = tx.step_policies(id.org_id).await?;
    Ok(planned.iter().find(|step| Some(step.kind) == kind).map_or(REFUND_TIME, |step| step.time))
}

/// Money was taken twice: one of the two goes back, this attempt's if it is still there.
async fn give_second_success_back(tx: &Tx, id: &OperationId) -> Result<(), DbError> {
    let paid = tx.paid_payments(id.org_id, id.order_id).await?;
    let this = paid.iter().find(|payment| Some(payment.attempt) == id.attempt());
    match this {
        Some(payment) if paid.len() > 1 => ask_for_refund(tx, id, payment).await,
        _ => Ok(()),
    }
}

async fn book_refund(tx: &Tx, id: &OperationId) -> Result<(), DbError> {
    let attempt = id.fact.parse().unwrap_or_default();
    match tx.lock_payment(id.org_id, id.order_id, attempt).await? {
        Some((payment, _)) => give_back(tx, id, &payment).await,
        None => Ok(()),
    }
}

/// A person's word about a charge, as evidence that needs no lease.
fn finding(keyed: &Keyed, id: OperationId, asked: &AskedDecision) -> Finding {
    let (fact, outcome) = match asked.decision {
        Decision::MarkDone => {
            // The proof is for people; only where it is a reference of the gateway can a refund go by it.
            let reference = asked.reference().map(str::to_owned);
            (ChargeFact::Succeeded { reference }, "marked_done")
        }
        _ => (ChargeFact::Declined { reference: None, code: "marked_not_done".to_owned() }, "marked_not_done"),
    };
    Finding {
        id,
        token: None,
        heard: Heard { fact, outcome, retry_after: None },
        asked: false,
        actor: keyed.command.asked_by.clone(),
        request_id: keyed.command.request_id,
    }
}
