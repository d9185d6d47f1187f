//! Gives money back: an operation like any other, taken under a lease, asked about before it is sent again.

use crate::app::App;
use crate::app::charge::lease::Lease;
use crate::app::error::AppError;
use crate::db::deadline::Deadline;
use crate::db::error::DbError;
use crate::db::operations::{Move, NewOperation, OperationId, OperationRow};
use crate::db::orders::LockedOrder;
use crate::db::payments::PaymentRow;
use crate::db::tx::Tx;
use crate::domain::case::NewCase;
use crate::domain::operation::{self, OperationEvent, OperationState, exhausted};
use crate::domain::question::{Question, question};
use crate::gateway::{FindRefundRequest, Gateway, Lookup, Outcome, RefundRequest};
use serde_json::json;
use std::time::Duration as StdDuration;
use time::{Duration, OffsetDateTime};
use uuid::Uuid;

/// How long a refund is tried before a person looks at it.
const REFUND_TIME: StdDuration = StdDuration::from_hours(72);

/// Asks for all that is left of an attempt's money to be given back; once, however often it is asked for.
pub(in crate::app) async fn ask_for_refund(tx: &Tx, charge: &OperationId, payment: &PaymentRow) -> Result<(), DbError> {
    let refund = OperationId { kind: "refund".to_owned(), fact: charge.fact.clone(), ..charge.clone() };
    let operation_key = format!("ichido-{}", Uuid::now_v7());
    let new = NewOperation {
        state: OperationState::Ready,
        operation_key: &operation_key,
        amount: Some(payment.amount - payment.refunded),
        idempotency_key: None,
        time: REFUND_TIME,
        lease: None,
    };
    tx.add_operation(&refund, &new).await
}

/// Takes a refund up that is due, sends it or asks about it, and records what is known. `false` when somebody else has it.
///
/// # Errors
///
/// [`AppError`]; the lease then ends, and the next one asks.
pub async fn carry_out_refund(app: &App, id: &OperationId) -> Result<bool, AppError> {
    let lease = Lease::begin();
    if !app.db.take_operation(id, lease.token, app.payments.lease, Deadline::of_request()).await? {
        return Ok(false);
    }
    let Some(taken) = load(app, id, lease).await? else {
        return Ok(false);
    };
    let found = match (&taken.reference, taken.way) {
        (_, None) => Found::of(OperationEvent::Conflict, "exhausted"),
        (None, _) => Found::of(OperationEvent::Conflict, "no_reference"),
        (Some(reference), Some(way)) => match app.gateways.of(app, id.org_id, Deadline::of_request()).await {
            Ok(Some(found)) => call(found.gateway.as_ref(), id, &taken, reference, way).await,
            Ok(None) | Err(_) => Found::of(OperationEvent::NoAnswer { asked: true, after: None }, "no_gateway"),
        },
    };
    record(app, id, lease.token, &found, taken.operation.first_sent_at.is_some()).await?;
    Ok(true)
}

struct Taken {
    payment: PaymentRow,
    operation: OperationRow,
    amount: i64,
    reference: Option<String>,
    way: Option<Question>,
    now: OffsetDateTime,
}

/// What came of a call.
struct Found {
    event: OperationEvent,
    outcome: &'static str,
    reference: Option<String>,
}

impl Found {
    fn of(event: OperationEvent, outcome: &'static str) -> Self {
        Self { event, outcome, reference: None }
    }
}

fn attempt(id: &OperationId) -> i32 {
    id.fact.parse().unwrap_or_default()
}

async fn lock(tx: &Tx, id: &OperationId) -> Result<Option<(LockedOrder, PaymentRow, OperationRow)>, DbError> {
    let order = tx.lock_order(id.org_id, id.order_id).await?;
    let payment = tx.lock_payment(id.org_id, id.order_id, attempt(id)).await?;
    let operation = tx.lock_operation(id).await?;
    Ok(match (order, payment, operation) {
        (Some(order), Some((payment, _)), Some(operation)) => Some((order, payment, operation)),
        _ => None,
    })
}

async fn load(app: &App, id: &OperationId, lease: Lease) -> Result<Option<Taken>, AppError> {
    let tx = app.db.begin(Deadline::of_request()).await?;
    let (order, payment, operation) = lock(&tx, id).await?.ok_or(AppError::Internal)?;
    let now = order.now;
    let way = question(operation.first_sent_at, now, false, lease.outlasts_a_call(&app.payments));
    let way = (!exhausted(&operation.facts, now, &app.payments.policy)).then_some(way);
    let reference = payment.reference.clone();
    let sends = way == Some(Question::SendAgain) && reference.is_some();
    if operation.lease_token != Some(lease.token) || (sends && !tx.mark_sent(id, lease.token).await?) {
        tx.rollback().await;
        return Ok(None);
    }
    tx.commit().await?;
    let amount = operation.amount.unwrap_or(payment.amount);
    Ok(Some(Taken { payment, operation, amount, reference, way, now }))
}

async fn call(gateway: &dyn Gateway, id: &OperationId, taken: &Taken, reference: &str, way: Question) -> Found {
    let asked = taken.operation.first_sent_at.is_some();
    let (key, currency) = (taken.operation.operation_key.clone(), taken.payment.currency.clone());
    if way == Question::SendAgain {
        let request = RefundRequest {
            key,
            org_id: id.org_id,
            order_id: id.order_id,
            reference: reference.to_owned(),
            amount: taken.amount,
            currency,
            sent_before: asked,
        };
        return heard(gateway.refund(request).await, asked);
    }
    let request = FindRefundRequest {
        key,
        reference: reference.to_owned(),
        amount: taken.amount,
        currency,
        last_sent_at: taken.operation.last_sent_at.unwrap_or(taken.operation.created_at),
        now: taken.now,
    };
    match gateway.find_refund(request).await {
        Lookup::Found(outcome) => heard(outcome, asked),
        Lookup::NotFound => Found::of(OperationEvent::Conflict, "not_found"),
        Lookup::Unknown { reason, retry_after } => {
            Found::of(OperationEvent::NoAnswer { asked: true, after: wait(retry_after) }, reason)
        }
    }
}

fn wait(after: Option<StdDuration>) -> Option<Duration> {
    after.and_then(|wait| Duration::try_from(wait).ok())
}

fn heard(outcome: Outcome, asked: bool) -> Found {
    match outcome {
        Outcome::Succeeded { reference, .. } => {
            Found { reference: Some(reference), ..Found::of(OperationEvent::Happened, "succeeded") }
        }
        Outcome::Processing { status, reference } => {
            Found { reference: Some(reference), ..Found::of(OperationEvent::InProgressThere { asked }, status) }
        }
        // Money that is owed and refused is for a person, not the end of the matter.
        Outcome::Declined { .. } => Found::of(OperationEvent::Conflict, "declined"),
        Outcome::Refused { .. } => Found::of(OperationEvent::Conflict, "refused"),
        Outcome::Conflict { reason, .. } => Found::of(OperationEvent::Conflict, reason),
        Outcome::NotSent { reason, retry_after } => {
            Found::of(OperationEvent::NotSent { after: wait(retry_after) }, reason)
        }
        Outcome::Unknown { reason, retry_after } => {
            Found::of(OperationEvent::NoAnswer { asked, after: wait(retry_after) }, reason)
        }
    }
}

async fn record(app: &App, id: &OperationId, token: Uuid, found: &Found, asked: bool) -> Result<(), AppError> {
    let tx = app.db.begin(Deadline::of_request()).await?;
    let (order, payment, operation) = lock(&tx, id).await?.ok_or(AppError::Internal)?;
    let step = operation::next(&operation.facts, found.event, order.now, &app.payments.policy, rand::random());
    let holds = operation.lease_token == Some(token) || found.event == OperationEvent::Happened;
    let (Ok(step), true) = (step, holds) else {
        tx.rollback().await;
        return Ok(());
    };
    let moved = Move {
        step,
        external_reference: found.reference.as_deref(),
        outcome: found.outcome,
        asked,
        never_sent: matches!(found.event, OperationEvent::NotSent { .. }) && !asked,
    };
    tx.move_operation(id, &operation, &moved).await?;
    if step.state == OperationState::Done {
        give_back(&tx, id, &payment, &operation).await?;
    }
    if step.state == OperationState::NeedsReconciliation {
        tx.open_case(id, Uuid::now_v7(), &case(found.outcome, &payment, &operation)).await?;
    }
    tx.set_order_status(id.org_id, id.order_id, &order, order.status).await?;
    let details = json!({
        "kind": id.kind, "fact": id.fact, "attempt": operation.facts.attempts, "operation_key": operation.operation_key,
        "outcome": found.outcome, "gateway_reference": found.reference,
        "from": operation.facts.state.as_str(), "to": step.state.as_str(),
    });
    let what = if asked { "operation_asked" } else { "operation_attempted" };
    tx.journal((id.org_id, id.order_id), "recovery", what, &details).await?;
    tx.commit().await?;
    app.metrics.effect("refund", found.outcome);
    Ok(())
}

/// Books what was given back, and closes the case that asked for it.
pub(in crate::app) async fn give_back(
    tx: &Tx,
    id: &OperationId,
    payment: &PaymentRow,
    operation: &OperationRow,
) -> Result<(), DbError> {
    let amount = operation.amount.unwrap_or(payment.amount);
    tx.add_refund((id.org_id, id.order_id, attempt(id)), amount).await?;
    tx.close_settled_case(id).await
}

fn case(outcome: &str, payment: &PaymentRow, operation: &OperationRow) -> NewCase {
    NewCase {
        reason: "refund_unsettled",
        suggestion: "compare the refunds at the gateway with the order",
        evidence: json!({
            "ours": {
                "attempt": payment.attempt, "amount": operation.amount, "refunded": payment.refunded,
                "currency": payment.currency, "operation_key": operation.operation_key,
                "taken_up": operation.facts.attempts,
            },
            "theirs": { "outcome": outcome, "gateway_reference": payment.reference },
        }),
    }
}
