//! Gives money back: an operation like any other, taken under a lease, asked about before it is sent again.

mod asking;

use crate::app::App;
use crate::app::charge::lease::Lease;
use crate::app::error::AppError;
use crate::app::inbox::{has_been_told_failed, recount};
use crate::app::persist::persist;
use crate::app::refund::asking::Asking;
use crate::db::deadline::Deadline;
use crate::db::error::DbError;
use crate::db::operations::{Move, NewOperation, OperationId, OperationRow};
use crate::db::orders::LockedOrder;
use crate::db::payments::PaymentRow;
use crate::db::tx::Tx;
use crate::domain::case::NewCase;
use crate::domain::ids::{OrderId, OrgId};
use crate::domain::operation::{self, OperationEvent, OperationState, exhausted};
use crate::domain::question::{Question, question};
use crate::gateway::outcome::reason;
use serde_json::json;
use std::time::Duration as StdDuration;
use time::OffsetDateTime;
use uuid::Uuid;

/// How long a refund is tried before a person looks at it.
pub(in crate::app) const REFUND_TIME: StdDuration = StdDuration::from_hours(72);

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

/// Asks for all that the order's attempts hold of the customer's money to be given back.
pub(in crate::app) async fn refund_all(tx: &Tx, org_id: OrgId, order_id: OrderId) -> Result<(), DbError> {
    for payment in tx.paid_payments(org_id, order_id).await? {
        ask_for_refund(tx, &OperationId::charge(org_id, order_id, payment.attempt), &payment).await?;
    }
    Ok(())
}

/// Takes a refund up that is due, sends it or asks about it, and records what is known. `false` when somebody else has it.
///
/// # Errors
///
/// [`AppError`]; the lease then ends, and the next one asks.
pub async fn carry_out_refund(app: &App, id: &OperationId) -> Result<bool, AppError> {
    // What cannot be called leaves the row as it is, for somebody who can.
    let gateway = app.gateways.of(app, id.org_id, Deadline::of_request()).await?;
    let lease = Lease::begin();
    if !app.db.take_operation(id, lease.token, app.payments.lease, Deadline::of_request()).await? {
        return Ok(false);
    }
    failpoint!("refund/taken");
    let Some(taken) = load(app, id, lease).await? else {
        return Ok(false);
    };
    failpoint!("refund/noted");
    let found = match (&taken.reference, taken.way, gateway) {
        (_, None, _) => Found::of(OperationEvent::Conflict, "exhausted"),
        (None, ..) => Found::of(OperationEvent::Conflict, "no_reference"),
        (.., None) => Found::of(OperationEvent::NoAnswer { asked: true, after: None }, "no_gateway"),
        (Some(reference), Some(way), Some(found)) => {
            Asking { app, gateway: found.gateway.as_ref(), id, taken: &taken, reference }.ask(way).await
        }
    };
    failpoint!("refund/answered");
    let asked = taken.operation.first_sent_at.is_some();
    record(app, id, lease.token, &found, (asked, "recovery")).await?;
    Ok(true)
}

struct Taken {
    lease: Lease,
    payment: PaymentRow,
    operation: OperationRow,
    amount: i64,
    reference: Option<String>,
    way: Option<Question>,
    now: OffsetDateTime,
}

/// What came of a call.
pub(in crate::app) struct Found {
    pub(in crate::app) event: OperationEvent,
    pub(in crate::app) outcome: &'static str,
    pub(in crate::app) reference: Option<String>,
}

impl Found {
    pub(in crate::app) fn of(event: OperationEvent, outcome: &'static str) -> Self {
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
    // The same call only shows again what is stored under its key: an old server error, or how the refund stood then.
    let told_all = operation.last_outcome.as_deref() == Some(reason::SERVER_ERROR_STORED)
        || operation.external_reference.is_some();
    let way = question(operation.first_sent_at, now, false, operation.look_only, !told_all);
    let way = (!exhausted(&operation.facts, now, &app.payments.policy)).then_some(way);
    let reference = payment.reference.clone();
    let sends = way == Some(Question::SendAgain) && reference.is_some();
    if operation.lease_token != Some(lease.token) || (sends && !tx.mark_sent(id, lease.token, None).await?) {
        tx.rollback().await;
        return Ok(None);
    }
    failpoint!("refund/before_commit");
    tx.commit().await?;
    let amount = operation.amount.unwrap_or(payment.amount);
    Ok(Some(Taken { lease, payment, operation, amount, reference, way, now }))
}

pub(in crate::app) async fn record(
    app: &App,
    id: &OperationId,
    token: Uuid,
    found: &Found,
    (asked, actor): (bool, &str),
) -> Result<(), AppError> {
    persist(id.order_id, || try_record(app, id, token, found, (asked, actor))).await?;
    app.metrics.effect("refund", found.outcome);
    Ok(())
}

async fn try_record(
    app: &App,
    id: &OperationId,
    token: Uuid,
    found: &Found,
    (asked, actor): (bool, &str),
) -> Result<(), DbError> {
    let tx = app.db.begin(Deadline::of_request()).await?;
    let (order, payment, operation) = lock(&tx, id).await?.ok_or(DbError::Decode { column: "fact" })?;
    let step = operation::next(&operation.facts, found.event, order.now, &app.payments.policy, rand::random());
    let holds = operation.lease_token == Some(token) || found.event == OperationEvent::Happened;
    let (Ok(step), true) = (step, holds) else {
        tx.rollback().await;
        return Ok(());
    };
    let moved = Move {
        external_reference: found.reference.as_deref(),
        asked_in_vain: matches!(found.event, OperationEvent::NoAnswer { asked: true, .. }),
        never_sent: matches!(found.event, OperationEvent::NotSent { .. }) && !asked,
        ..Move::to(step, found.outcome)
    };
    tx.move_operation(id, &operation, &moved).await?;
    let name = found.reference.as_deref().or(operation.external_reference.as_deref());
    let failed_since =
        step.state == OperationState::Done && has_been_told_failed(&tx, id.org_id, &payment, name).await?;
    if failed_since {
        // It was carried out, and has come back by now: the books know, and the customer has nothing.
        recount(&tx, (id.org_id, id.order_id), &payment).await?;
    } else if step.state == OperationState::Done {
        give_back(&tx, id, &payment).await?;
    }
    if failed_since || step.state == OperationState::NeedsReconciliation {
        tx.open_case(id, Uuid::now_v7(), &case(found.outcome, &payment, &operation)).await?;
    }
    tx.set_order_status(id.org_id, id.order_id, &order, order.status).await?;
    // What is read back under the lock is what was just written.
    let after =
        tx.lock_payment(id.org_id, id.order_id, attempt(id)).await?.map_or(payment.state, |(after, _)| after.state);
    let details = json!({
        "kind": id.kind, "fact": id.fact, "attempt": operation.facts.attempts, "operation_key": operation.operation_key,
        "amount": operation.amount, "currency": payment.currency,
        "outcome": found.outcome, "gateway_reference": found.reference,
        "from": operation.facts.state.as_str(), "to": step.state.as_str(),
        "payment": { "attempt": payment.attempt, "from": payment.state.as_str(), "to": after.as_str() },
        "order": { "from": order.status.as_str(), "to": order.status.as_str() },
    });
    let what = if asked { "operation_asked" } else { "operation_attempted" };
    tx.journal((id.org_id, id.order_id), actor, what, &details).await?;
    failpoint!("refund/record/before_commit");
    tx.commit().await?;
    failpoint!("refund/record/committed");
    Ok(())
}

/// Books what was given back, once its operation is done, and closes the case that asked for it. A notification may have told
/// of it before, so it is not simply added.
pub(in crate::app) async fn give_back(tx: &Tx, id: &OperationId, payment: &PaymentRow) -> Result<(), DbError> {
    recount(tx, (id.org_id, id.order_id), payment).await?;
    tx.close_settled_case(id).await
}

fn case(outcome: &str, payment: &PaymentRow, operation: &OperationRow) -> NewCase {
    let evidence = json!({
        "ours": {
            "attempt": payment.attempt, "amount": operation.amount, "refunded": payment.refunded,
            "currency": payment.currency, "operation_key": operation.operation_key,
            "taken_up": operation.facts.attempts,
        },
        "theirs": { "outcome": outcome, "gateway_reference": payment.reference },
    });
    NewCase::of_payments("refund_unsettled", "compare the refunds at the gateway with the order", evidence)
}
