//! Books refunds that the gateway tells of: those that were made there, past us, and those of ours whose answer was lost.
//! A sweep comes here, and whoever else learns of a refund.

use crate::app::App;
use crate::app::error::AppError;
use crate::app::inbox::recount;
use crate::app::refund::{Found, REFUND_TIME, record};
use crate::db::deadline::Deadline;
use crate::db::error::DbError;
use crate::db::operations::{Move, NewOperation, OperationId};
use crate::db::tx::Tx;
use crate::domain::ids::{OrderId, OrgId};
use crate::domain::operation::{self, OperationEvent, OperationState};
use serde_json::json;
use uuid::Uuid;

/// A refund that was made at the gateway and that nobody here asked for.
#[derive(Debug, Clone)]
pub struct OutsideRefund<'a> {
    /// The tenant.
    pub org_id: OrgId,
    /// The order.
    pub order_id: OrderId,
    /// The attempt whose money it gives back.
    pub attempt: i32,
    /// The gateway's name for it; also its fact, since nothing else tells it from another.
    pub reference: &'a str,
    /// In the currency's minor unit.
    pub amount: i64,
    /// ISO 4217.
    pub currency: &'a str,
    /// All that the gateway has given back of this payment, this one included: what is booked already, under whatever name, is
    /// not booked again.
    pub total: i64,
    /// Who tells of it.
    pub actor: &'a str,
}

/// What became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Booked {
    /// It is booked now.
    Now,
    /// It was before.
    Before,
    /// It cannot be: more than was taken, another currency, or of an attempt that took nothing. Nothing was changed.
    Contradicts,
}

/// Books one, in a transaction of its own.
///
/// # Errors
///
/// [`AppError`].
pub async fn book_refund(app: &App, refund: &OutsideRefund<'_>) -> Result<Booked, AppError> {
    let tx = app.db.begin(Deadline::of_request()).await?;
    let booked = book_refund_in(app, &tx, refund).await?;
    failpoint!("book_refund/before_commit");
    tx.commit().await?;
    failpoint!("book_refund/committed");
    if booked == Booked::Now {
        app.metrics.effect("refund", "made_there");
    }
    Ok(booked)
}

/// Records that a refund of ours happened, by evidence that needs no lease. Nothing when that is recorded already.
///
/// # Errors
///
/// [`AppError`].
pub async fn refund_happened(app: &App, id: &OperationId, reference: &str, actor: &str) -> Result<(), AppError> {
    let found = Found { reference: Some(reference.to_owned()), ..Found::of(OperationEvent::Happened, "succeeded") };
    record(app, id, Uuid::new_v4(), &found, (true, actor)).await
}

/// As [`book_refund`], inside a transaction that does more. Order, attempt and operation are locked in this order.
pub(in crate::app) async fn book_refund_in(app: &App, tx: &Tx, refund: &OutsideRefund<'_>) -> Result<Booked, DbError> {
    let (org_id, order_id) = (refund.org_id, refund.order_id);
    let Some(order) = tx.lock_order(org_id, order_id).await? else { return Ok(Booked::Contradicts) };
    if tx.refund_of_reference(org_id, order_id, refund.reference).await?.is_some() {
        return Ok(Booked::Before);
    }
    let payment = tx.lock_payment(org_id, order_id, refund.attempt).await?.map(|(payment, _)| payment);
    let payment = payment.filter(|payment| payment.currency == refund.currency && refund.amount > 0);
    let Some(payment) = payment else { return Ok(Booked::Contradicts) };
    if refund.amount > payment.amount || refund.total > payment.amount {
        return Ok(Booked::Contradicts);
    }
    let id = OperationId { org_id, order_id, kind: "refund".to_owned(), fact: refund.reference.to_owned() };
    // Never sent: it names the row, as every row has to be named.
    let operation_key = format!("made-there-{}-{}", refund.attempt, refund.reference);
    let new = NewOperation {
        state: OperationState::Ready,
        operation_key: &operation_key,
        amount: Some(refund.amount),
        idempotency_key: None,
        time: REFUND_TIME,
        lease: None,
    };
    tx.add_operation(&id, &new).await?;
    let asked = tx.lock_operation(&id).await?.ok_or(DbError::Decode { column: "fact" })?;
    let step = operation::next(&asked.facts, OperationEvent::Happened, order.now, &app.payments.policy, 0.0);
    // It was booked before, with another name at the gateway.
    let Ok(step) = step else { return Ok(Booked::Before) };
    let moved = Move { external_reference: Some(refund.reference), ..Move::to(step, "made_there") };
    tx.move_operation(&id, &asked, &moved).await?;
    // By name, so that it is known the next time; whether it was in some sum before, the recount tells.
    let changed = recount(tx, (org_id, order_id), &payment).await?;
    tx.close_settled_case(&id).await?;
    tx.set_order_status(org_id, order_id, &order, order.status).await?;
    let after =
        tx.lock_payment(org_id, order_id, refund.attempt).await?.map_or(payment.state, |(after, _)| after.state);
    let details = json!({
        "kind": id.kind, "fact": id.fact, "amount": refund.amount, "changed": changed, "currency": refund.currency,
        "outcome": "made_there", "gateway_reference": refund.reference,
        "from": null, "to": step.state.as_str(),
        "payment": { "attempt": refund.attempt, "from": payment.state.as_str(), "to": after.as_str() },
        "order": { "from": order.status.as_str(), "to": order.status.as_str() },
    });
    tx.journal((org_id, order_id), refund.actor, "refund_made_there", &details).await?;
    Ok(if changed { Booked::Now } else { Booked::Before })
}
