//! What a person's decision does to the effect it is about, and to the order.

use crate::app::App;
use crate::app::charge::send::Heard;
use crate::app::charge::settle::{Finding, settle_in};
use crate::app::command::Keyed;
use crate::app::refund::{ask_for_refund, give_back};
use crate::db::error::DbError;
use crate::db::operations::{Move, OperationId, OperationRow};
use crate::db::orders::LockedOrder;
use crate::db::tx::Tx;
use crate::domain::case::Decision;
use crate::domain::operation::{self, OperationState};
use crate::domain::payment::ChargeFact;
use crate::domain::validate::AskedDecision;

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
        return settle_in(app, tx, &finding(keyed, id.clone(), asked)).await.map(|_| ());
    }
    if asked.decision == Decision::StartNew {
        tx.never_send(id).await?;
    }
    let settled = operation.facts.state == OperationState::Done;
    if settled && asked.decision == Decision::Continue {
        give_second_success_back(tx, id).await?;
    } else if let Some(event) = asked.decision.event() {
        let policy = &app.payments.policy;
        if let Ok(step) = operation::next(&operation.facts, event, order.now, policy, rand::random()) {
            let outcome = asked.decision.as_str();
            let moved = Move { step, external_reference: None, outcome, asked: false, never_sent: false };
            tx.move_operation(id, operation, &moved).await?;
            if step.state == OperationState::Done {
                book_refund(tx, id, operation).await?;
            }
        }
    }
    tx.set_order_status(id.org_id, id.order_id, order, order.status).await
}

/// Money was taken twice: this attempt's goes back.
async fn give_second_success_back(tx: &Tx, id: &OperationId) -> Result<(), DbError> {
    let Some(attempt) = id.attempt() else { return Ok(()) };
    match tx.lock_payment(id.org_id, id.order_id, attempt).await? {
        Some((payment, _)) => ask_for_refund(tx, id, &payment).await,
        None => Ok(()),
    }
}

async fn book_refund(tx: &Tx, id: &OperationId, operation: &OperationRow) -> Result<(), DbError> {
    let attempt = id.fact.parse().unwrap_or_default();
    match tx.lock_payment(id.org_id, id.order_id, attempt).await? {
        Some((payment, _)) => give_back(tx, id, &payment, operation).await,
        None => Ok(()),
    }
}

/// A person's word about a charge, as evidence that needs no lease.
fn finding(keyed: &Keyed, id: OperationId, asked: &AskedDecision) -> Finding {
    let (fact, outcome) = match asked.decision {
        Decision::MarkDone => {
            // The proof is for people; only where it is a reference of the gateway can a refund go by it.
            let reference = asked.proof.clone().filter(|proof| is_payment_intent(proof));
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

fn is_payment_intent(proof: &str) -> bool {
    let rest = proof.strip_prefix("pi_");
    rest.is_some_and(|rest| {
        !rest.is_empty() && rest.len() <= 252 && rest.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    })
}
