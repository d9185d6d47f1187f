//! What was given back of a payment and what is disputed, made up from everything that was told and from what we did ourselves.
//! Made up anew each time, so that the order of arrival makes no difference.

use crate::app::App;
use crate::app::inbox::PROVIDER;
use crate::app::inbox::apply::{Applying, Outcome, waits};
use crate::app::inbox::evidence::{case, evidence};
use crate::app::refund::refund_all;
use crate::db::error::DbError;
use crate::db::inbox::events::EventRow;
use crate::db::operations::{Move, OperationId, OperationRow};
use crate::db::payments::PaymentRow;
use crate::db::tx::Tx;
use crate::domain::case::NewCase;
use crate::domain::ids::{OrderId, OrgId};
use crate::domain::inbox::EventOutcome;
use crate::domain::inbox::dispute::{Standing, standing};
use crate::domain::inbox::fact::What;
use crate::domain::inbox::refunded::{Told, Total, has_failed, refunded};
use crate::domain::operation::{self, OperationEvent, OperationState};
use crate::domain::order::OrderStatus;
use crate::domain::payment::PaymentState;
use std::collections::BTreeSet;
use uuid::Uuid;

/// Makes up an attempt's books; `true` when they say something else than before. The attempt is locked, and was paid. What
/// contradicts an earlier word on the same thing is left out: a person decides about it.
pub(in crate::app) async fn recount(
    tx: &Tx,
    (org_id, order_id): (OrgId, OrderId),
    payment: &PaymentRow,
) -> Result<bool, DbError> {
    let place = (org_id, order_id, payment.attempt);
    let told = told(tx, org_id, payment).await?;
    let back = back_by(tx, (org_id, order_id), payment, &told).await?.clamp(0, i128::from(payment.amount));
    let back = i64::try_from(back).unwrap_or(payment.amount);
    let state = if is_disputed(&told) {
        PaymentState::Disputed
    } else if back == 0 {
        PaymentState::Succeeded
    } else if back < payment.amount {
        PaymentState::PartiallyRefunded
    } else {
        PaymentState::Refunded
    };
    let changed = (back, state) != (payment.refunded, payment.state);
    if changed {
        tx.recount_payment(place, back, state).await?;
    }
    Ok(changed)
}

/// What was told of a payment, but for what contradicts an earlier word.
async fn told(tx: &Tx, org_id: OrgId, payment: &PaymentRow) -> Result<Vec<EventRow>, DbError> {
    let told = match &payment.reference {
        Some(reference) => tx.events_of_payment(org_id, PROVIDER, reference).await?,
        None => Vec::new(),
    };
    Ok(told.into_iter().filter(|event| !event.fact.is_another_word()).collect())
}

/// How much was given back by all that is known, be it more than there was.
async fn back_by(
    tx: &Tx,
    (org_id, order_id): (OrgId, OrderId),
    payment: &PaymentRow,
    told: &[EventRow],
) -> Result<i128, DbError> {
    let own = tx.own_refunds((org_id, order_id, payment.attempt)).await?;
    // Of another currency nothing can be added up; such a fact is a case.
    let ours: Vec<_> = told.iter().filter(|it| it.fact.currency.as_ref() == Some(&payment.currency)).collect();
    let refunds: Vec<_> = ours.iter().filter_map(|event| refund(event)).collect();
    let totals: Vec<_> = ours.iter().filter_map(|event| total(event)).collect();
    Ok(refunded(&own, &refunds, &totals))
}

fn refund(event: &EventRow) -> Option<Told> {
    let fact = &event.fact;
    let told = Told {
        id: fact.object.clone()?,
        key: fact.refund_key.clone(),
        status: fact.status.clone()?,
        amount: event.amount?,
        made_at: fact.made_at,
        told_at: fact.told_at,
    };
    (fact.what == What::Refund).then_some(told)
}

fn total(event: &EventRow) -> Option<Total> {
    let total = Total { amount: event.amount?, told_at: event.fact.told_at };
    (event.fact.what == What::RefundedTotal).then_some(total)
}

fn is_disputed(told: &[EventRow]) -> bool {
    let disputes = || told.iter().filter(|event| event.fact.what == What::Dispute);
    let names: BTreeSet<_> = disputes().filter_map(|event| event.fact.object.as_deref()).collect();
    names.into_iter().any(|name| standing_of(told, name).is_disputed())
}

fn standing_of(told: &[EventRow], dispute: &str) -> Standing {
    let of = told.iter().filter(|it| it.fact.what == What::Dispute && it.fact.object.as_deref() == Some(dispute));
    standing(&of.filter_map(|event| event.fact.status.as_deref()).collect::<Vec<_>>())
}

/// Applies what was told about money that goes back.
pub(super) async fn apply(applying: &Applying<'_>, payment: &PaymentRow) -> Result<Outcome, DbError> {
    let (tx, fact) = (applying.tx, &applying.event.fact);
    let of_refund = matches!(fact.what, What::Refund | What::RefundedTotal);
    if of_refund && fact.currency.as_ref() != Some(&payment.currency) {
        return applying.conflict("currency_differs", Some(payment)).await;
    }
    if of_refund && applying.event.amount.is_none() {
        return applying.conflict("amount_conflict", Some(payment)).await;
    }
    if fact.is_another_word() && fact.what == What::Refund {
        return applying.conflict("amount_conflict", Some(payment)).await;
    }
    let own = match own_refund(applying).await? {
        None => false,
        Some((id, operation)) if is_as_asked(applying, payment, &id, &operation) => {
            settle_own(applying, payment, &id, &operation).await?
        }
        Some(_) => return applying.conflict("refund_conflict", Some(payment)).await,
    };
    let changed = recount(tx, (applying.id.org_id, applying.order_id), payment).await?;
    let case = if fact.what == What::Dispute { dispute_case(applying, payment).await? } else { false };
    if changed && applying.order.status == OrderStatus::Cancelled {
        give_back_the_rest(applying).await?;
    }
    if of_refund && told_of_more_than_was_paid(applying, payment).await? {
        return applying.conflict("amount_conflict", Some(payment)).await;
    }
    if !own && !changed && !case {
        return Ok(Outcome::plain(EventOutcome::SameFact));
    }
    applying.show().await?;
    Ok(Outcome::plain(EventOutcome::Applied))
}

/// Money that is ours again, of an order that nobody wants any more: it goes on to the customer. Where our refund was made before
/// already, and not of this money, a person finds a way.
async fn give_back_the_rest(applying: &Applying<'_>) -> Result<(), DbError> {
    let (tx, org_id, order_id) = (applying.tx, applying.id.org_id, applying.order_id);
    refund_all(tx, org_id, order_id).await?;
    for payment in tx.paid_payments(org_id, order_id).await? {
        let id = OperationId { kind: "refund".to_owned(), ..OperationId::charge(org_id, order_id, payment.attempt) };
        let state = tx.lock_operation(&id).await?.map(|operation| operation.facts.state);
        if matches!(state, Some(OperationState::Done | OperationState::Failed)) {
            open(applying, &id, "refund_unsettled", "give the rest of the money back in another way", &payment).await?;
        }
    }
    Ok(())
}

/// Whether all that was told of adds up to more than there was. The books say "all of it" then, and a person looks.
async fn told_of_more_than_was_paid(applying: &Applying<'_>, payment: &PaymentRow) -> Result<bool, DbError> {
    let (tx, place) = (applying.tx, (applying.id.org_id, applying.order_id));
    let told = told(tx, place.0, payment).await?;
    Ok(back_by(tx, place, payment, &told).await? > i128::from(payment.amount))
}

/// Whether a refund was told to have failed, whenever that was.
pub(in crate::app) async fn has_been_told_failed(
    tx: &Tx,
    org_id: OrgId,
    payment: &PaymentRow,
    name: Option<&str>,
) -> Result<bool, DbError> {
    let of_refund = |event: &EventRow| event.fact.what == What::Refund && event.fact.object.as_deref() == name;
    let failed = |event: &EventRow| event.fact.status.as_deref().is_some_and(has_failed);
    Ok(name.is_some() && told(tx, org_id, payment).await?.iter().any(|event| of_refund(event) && failed(event)))
}

/// Our own refund, if the fact is about one of ours: it carries the key that we asked with, or the name that we were told.
async fn own_refund(applying: &Applying<'_>) -> Result<Option<(OperationId, OperationRow)>, DbError> {
    let (tx, fact) = (applying.tx, &applying.event.fact);
    if fact.what != What::Refund {
        return Ok(None);
    }
    let (key, name) = (fact.refund_key.as_deref(), fact.object.as_deref());
    let Some(id) = tx.own_refund(applying.id.org_id, applying.order_id, key, name).await? else {
        return Ok(None);
    };
    Ok(tx.lock_operation(&id).await?.map(|operation| (id, operation)))
}

/// Whether a refund under our key is the one that we asked for: of this attempt, this amount, and under the name that we know
/// it by, if we know one.
fn is_as_asked(applying: &Applying<'_>, payment: &PaymentRow, id: &OperationId, operation: &OperationRow) -> bool {
    let reference = &operation.external_reference;
    id.fact == payment.attempt.to_string()
        && operation.amount == applying.event.amount
        && (reference.is_none() || *reference == applying.event.fact.object)
}

/// Ends our own refund. One that is done is never left; that it failed afterwards is for a person.
async fn settle_own(
    applying: &Applying<'_>,
    payment: &PaymentRow,
    id: &OperationId,
    operation: &OperationRow,
) -> Result<bool, DbError> {
    let (tx, fact) = (applying.tx, &applying.event.fact);
    let Some(status) = &fact.status else { return Ok(false) };
    let failed = has_failed(status);
    // Older news does not make good what has failed since.
    if !failed && has_been_told_failed(tx, applying.id.org_id, payment, fact.object.as_deref()).await? {
        return Ok(false);
    }
    let event = match status.as_str() {
        "succeeded" => OperationEvent::Happened,
        _ if failed => OperationEvent::Conflict,
        _ => return Ok(false),
    };
    if let Ok(step) = operation::next(&operation.facts, event, applying.order.now, policy(applying.app), rand::random())
    {
        let outcome = if failed { "notified_failed" } else { "notified_succeeded" };
        let moved = Move { external_reference: fact.object.as_deref(), ..Move::to(step, outcome) };
        tx.move_operation(id, operation, &moved).await?;
        if step.state == OperationState::Done {
            tx.close_settled_case(id).await?;
        }
    } else if !failed {
        return Ok(false);
    }
    if failed {
        open(applying, id, "refund_unsettled", "give the money back in another way", payment).await?;
    }
    Ok(true)
}

fn policy(app: &App) -> &operation::OperationPolicy {
    &app.payments.policy
}

/// Opens a case when the money of this dispute is at stake, or lost, that was not before this fact; closes it when the money
/// stays.
async fn dispute_case(applying: &Applying<'_>, payment: &PaymentRow) -> Result<bool, DbError> {
    let fact = &applying.event.fact;
    let (Some(dispute), Some(reference)) = (&fact.object, &fact.reference) else { return Ok(false) };
    let told = applying.tx.events_of_payment(applying.id.org_id, &applying.id.provider, reference).await?;
    let (ours, others): (Vec<_>, Vec<_>) = told
        .into_iter()
        .filter(|event| event.fact.object.as_ref() == Some(dispute))
        // What waits too is news of its own, in its turn.
        .filter(|event| !waits(event.outcome) || event.fact.key == fact.key)
        .partition(|event| event.fact.key == fact.key);
    let before = (!others.is_empty()).then(|| standing_of(&others, dispute));
    let now = standing_of(&[others, ours].concat(), dispute);
    if before == Some(now) {
        return Ok(false);
    }
    let (org_id, order_id) = (applying.id.org_id, applying.order_id);
    let id = OperationId { org_id, order_id, kind: "dispute".to_owned(), fact: dispute.clone() };
    match now {
        Standing::Lost => {
            open(applying, &id, "dispute", "the money is lost: decide what becomes of the order", payment).await?;
        }
        Standing::Open => open(applying, &id, "dispute", "answer the dispute at the gateway", payment).await?,
        Standing::Won => applying.tx.close_settled_case(&id).await?,
        Standing::Inquiry => return Ok(false),
    }
    Ok(true)
}

async fn open(
    applying: &Applying<'_>,
    id: &OperationId,
    reason: &'static str,
    suggestion: &'static str,
    payment: &PaymentRow,
) -> Result<(), DbError> {
    let evidence = evidence(&applying.event, Some(&applying.order), Some(payment));
    let new = NewCase { evidence, ..case(reason, suggestion) };
    applying.tx.open_case(id, Uuid::now_v7(), &new).await
}
