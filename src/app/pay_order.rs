//! The next attempt to pay an order whose last one certainly failed, or the first one of an order without payment.

use crate::app::App;
use crate::app::answer::Answer;
use crate::app::charge::CHARGE_TIME;
use crate::app::claiming::{Claimed, Claiming, Tried};
use crate::app::command::{Command, Keyed};
use crate::app::error::AppError;
use crate::app::payment::{Method, Payment};
use crate::app::place::charged;
use crate::db::deadline::Deadline;
use crate::db::error::DbError;
use crate::db::operations::{NewOperation, OperationId};
use crate::db::orders::LockedOrder;
use crate::db::payments::NewPayment;
use crate::db::tx::Tx;
use crate::domain::claim::Mine;
use crate::domain::ids::{OrderId, OrgId};
use crate::domain::masked::IN_PAYMENT;
use crate::domain::operation::OperationState;
use crate::domain::order::OrderStatus;
use crate::domain::payment::PaymentState;
use crate::domain::validate::validate_payment;
use serde_json::json;
use std::sync::Arc;
use time::OffsetDateTime;

/// Pays an order by another attempt, once for each key.
///
/// # Errors
///
/// [`AppError::PaymentNotPossible`] while an attempt is unsettled, after one has succeeded, and for an order that is
/// cancelled, is to be, or costs nothing; [`AppError::NotFound`]; and those of a keyed command.
pub async fn pay_order(
    app: &App,
    command: &Arc<Command>,
    order_id: OrderId,
    deadline: Deadline,
) -> Result<Answer, AppError> {
    let body = command.json()?;
    let validated = validate_payment(&body);
    let keyed = command.keyed(body, IN_PAYMENT);
    let method = match validated {
        Ok(method) => method,
        Err(errors) => return keyed.despite(app, AppError::Invalid(errors), deadline).await,
    };
    if let Some(found) = keyed.find(app, deadline).await? {
        return keyed.answer(app, found, Mine::default()).await;
    }
    let org_id = command.org.org_id;
    let order = app.db.get_order(org_id, order_id, deadline).await?.ok_or(AppError::NotFound)?;
    let method = Method { text: &method, pointer: "/method" };
    let payment = Payment::prepare(app, org_id, method, deadline).await?;
    let minted = Mine { order_id: None, lease_token: Some(payment.lease.token) };
    let claiming = Claiming { app, keyed: &keyed, minted, reference: None, deadline };
    let claimed = claiming.run(async || begin(app, &keyed, order_id, &payment, deadline).await).await?;
    let (attempt, expires_at) = match claimed {
        Claimed::Won(begun) => (begun.attempt, begun.expires_at),
        Claimed::Own(found) => (found.work.ok_or(AppError::Internal)?.attempt, found.expires_at),
        Claimed::Answered(answer) => return Ok(answer),
    };
    // Neither amount nor currency of an order ever changes.
    let charge = payment.into_charge(&keyed, (order_id, attempt), order.amount, order.request.currency);
    charged(app, &keyed, charge, expires_at).await
}

struct Begun {
    attempt: i32,
    expires_at: Option<OffsetDateTime>,
}

/// Claim, attempt and leased charge, in one short transaction under the order's lock.
async fn begin(
    app: &App,
    keyed: &Keyed,
    order_id: OrderId,
    payment: &Payment,
    deadline: Deadline,
) -> Result<Tried<Begun>, DbError> {
    let org_id = keyed.command.org.org_id;
    let tx = app.db.begin(deadline).await?;
    let Some(order) = tx.lock_order(org_id, order_id).await? else {
        tx.rollback().await;
        return Ok(Tried::Refused(AppError::NotFound));
    };
    let attempt = next_attempt(&tx, org_id, order_id, &order).await?;
    let Some(won) = tx.claim(org_id, order_id, attempt, &keyed.claim()).await? else {
        tx.rollback().await;
        return Ok(Tried::Taken);
    };
    let Some(attempt) = attempt else {
        tx.rollback().await;
        return Ok(Tried::Refused(AppError::PaymentNotPossible));
    };
    let new = NewPayment {
        attempt,
        provider: &payment.provider,
        gateway_sha256: &payment.gateway_sha256,
        method_sealed: &payment.method_sealed,
        amount: order.amount,
        currency: &order.currency,
    };
    tx.add_payment(org_id, order_id, &new).await?;
    let operation = NewOperation {
        state: OperationState::Leased,
        operation_key: &payment.operation_key,
        amount: Some(order.amount),
        idempotency_key: Some(keyed.command.key.as_str()),
        time: CHARGE_TIME,
        lease: Some((payment.lease.token, app.payments.lease)),
    };
    tx.add_operation(&OperationId::charge(org_id, order_id, attempt), &operation).await?;
    let details = json!({
        "kind": "charge", "fact": attempt.to_string(), "attempt": attempt, "operation_key": payment.operation_key,
        "amount": order.amount, "currency": order.currency, "gateway": payment.provider,
        "order": { "from": order.status.as_str(), "to": order.status.as_str() },
    });
    tx.journal((org_id, order_id), &keyed.command.asked_by, "payment_attempt_begun", &details).await?;
    tx.set_order_status(org_id, order_id, &order, order.status).await?;
    failpoint!("pay/begin/before_commit");
    tx.commit().await?;
    failpoint!("pay/begin/committed");
    Ok(Tried::Won(Begun { attempt, expires_at: won.expires_at }))
}

/// The number of the next attempt; `None` when there may be none.
async fn next_attempt(tx: &Tx, org_id: OrgId, order_id: OrderId, order: &LockedOrder) -> Result<Option<i32>, DbError> {
    let payable = matches!(order.status, OrderStatus::Received | OrderStatus::PaymentFailed);
    if !payable || order.cancel_requested || order.amount == 0 || tx.has_open_charge(org_id, order_id).await? {
        return Ok(None);
    }
    Ok(match tx.newest_payment(org_id, order_id).await? {
        None => Some(1),
        Some(last) if last.state == PaymentState::Declined => Some(last.attempt + 1),
        Some(_) => None,
    })
}
