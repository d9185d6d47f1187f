//! The only code that ends a charge. A request, its recovery, a notification and a person all come here.

use crate::app::App;
use crate::app::charge::opened::{Moved, case_for, journal_entry, late_case};
use crate::app::charge::send::Heard;
use crate::app::error::AppError;
use crate::app::persist::persist;
use crate::app::refund::refund_all;
use crate::app::steps::{begin_steps, stop_steps};
use crate::db::claims::Waiting;
use crate::db::deadline::Deadline;
use crate::db::error::DbError;
use crate::db::operations::{Move, OperationId, OperationRow};
use crate::db::orders::LockedOrder;
use crate::db::payments::PaymentRow;
use crate::db::tx::Tx;
use crate::domain::operation::{self, OperationEvent, OperationPolicy, OperationState, OperationStep};
use crate::domain::order::{Order, OrderStatus};
use crate::domain::payment::{self, ChargeFact};
use crate::domain::reply::{self, StoredReply};
use crate::domain::sweep::holds_money;
use time::{Duration, OffsetDateTime};
use uuid::Uuid;

/// What is known of a charge, by whom, and how.
#[derive(Debug, Clone)]
pub struct Finding {
    /// Which charge.
    pub id: OperationId,
    /// The lease under which it was found out; `None` for evidence that needs none, such as a person's.
    pub token: Option<Uuid>,
    /// What.
    pub heard: Heard,
    /// Whether the gateway was asked about an earlier sending, rather than sent to for the first time.
    pub asked: bool,
    /// Who found out: `request`, `recovery`, or the API key of a person.
    pub actor: String,
    /// For the problem document of a refusal.
    pub request_id: Uuid,
}

/// How a charge stands after a finding.
#[derive(Debug, Clone)]
pub struct Settled {
    /// The answer that was stored for the request that waits; `None` while the charge is not settled.
    pub reply: Option<StoredReply>,
}

/// Writes a finding into operation, payment, order and claim in one transaction; the order is locked before the others. A
/// finding under a lease that is somebody else's by now changes nothing, except that a success always counts.
///
/// # Errors
///
/// [`AppError::OutcomeUnknown`] when it cannot be recorded now: the lease ends, and recovery asks the gateway again.
pub async fn settle_charge(app: &App, finding: &Finding) -> Result<Settled, AppError> {
    let settled = persist(finding.id.order_id, || try_settle(app, finding)).await?;
    app.metrics.effect("charge", finding.heard.outcome);
    Ok(settled)
}

async fn try_settle(app: &App, finding: &Finding) -> Result<Settled, DbError> {
    let tx = app.db.begin(Deadline::of_request()).await?;
    let settled = settle_in(app, &tx, finding).await?;
    failpoint!("charge/settle/before_commit");
    tx.commit().await?;
    failpoint!("charge/settle/committed");
    Ok(settled.unwrap_or(Settled { reply: None }))
}

/// As [`settle_charge`], inside a transaction that does more. `None`: the finding comes too late to count, and is only noted.
pub(in crate::app) async fn settle_in(app: &App, tx: &Tx, finding: &Finding) -> Result<Option<Settled>, DbError> {
    let id = &finding.id;
    let Some(attempt) = id.attempt() else { return Ok(None) };
    let order = tx.lock_order(id.org_id, id.order_id).await?;
    let payment = tx.lock_payment(id.org_id, id.order_id, attempt).await?;
    let operation = tx.lock_operation(id).await?;
    let (Some(order), Some((payment, _)), Some(operation)) = (order, payment, operation) else {
        return Ok(None);
    };
    let finding = &told_apart(tx, finding, attempt).await?;
    let settling = Settling { tx, finding, order: &order, payment: &payment, operation: &operation };
    match next_step(finding, &operation, &app.payments.policy, order.now) {
        Some(step) => settling.write(step).await.map(Some),
        None => settling.write_late().await.map(|()| None),
    }
}

/// The code of an attempt whose payment turned out to be another attempt's: a notification told of it that did not say which
/// one it was of.
const SAME_PAYMENT: &str = "same_payment";

/// A payment is of one attempt only. What is found under a name that another attempt has says of this one that it took nothing
/// by itself, if the order is the same; else somebody has to look.
async fn told_apart(tx: &Tx, finding: &Finding, attempt: i32) -> Result<Finding, DbError> {
    let id = &finding.id;
    let place = (id.org_id, id.order_id, attempt);
    let elsewhere = match finding.heard.fact.reference() {
        Some(reference) => tx.known_elsewhere(place, reference).await?,
        None => None,
    };
    let Some((order_id, state)) = elsewhere else { return Ok(finding.clone()) };
    let (fact, outcome) = match &finding.heard.fact {
        ChargeFact::Succeeded { .. } if order_id == id.order_id && holds_money(state) => {
            (ChargeFact::Declined { reference: None, code: SAME_PAYMENT.to_owned() }, SAME_PAYMENT)
        }
        ChargeFact::Declined { code, .. } => {
            (ChargeFact::Declined { reference: None, code: code.clone() }, finding.heard.outcome)
        }
        ChargeFact::Processing { .. } => (ChargeFact::NoAnswer, finding.heard.outcome),
        _ => (ChargeFact::Conflict { reference: None }, "payment_of_another"),
    };
    Ok(Finding { heard: Heard { fact, outcome, retry_after: finding.heard.retry_after }, ..finding.clone() })
}

/// Where the charge goes; `None` when the finding comes too late to count.
fn next_step(
    finding: &Finding,
    operation: &OperationRow,
    policy: &OperationPolicy,
    now: OffsetDateTime,
) -> Option<OperationStep> {
    let asked = finding.asked;
    let after = finding.heard.retry_after.and_then(|wait| Duration::try_from(wait).ok());
    let event = match &finding.heard.fact {
        ChargeFact::Succeeded { .. } => OperationEvent::Happened,
        ChargeFact::Declined { .. } => OperationEvent::Refused,
        ChargeFact::NotSent => OperationEvent::NotSent { after },
        ChargeFact::Processing { .. } => OperationEvent::InProgressThere,
        ChargeFact::NoAnswer => OperationEvent::NoAnswer { asked, after },
        // The key is not sent again where this is heard, so nothing will happen by itself any more.
        ChargeFact::DidNotHappen | ChargeFact::Exhausted | ChargeFact::Conflict { .. } => OperationEvent::Conflict,
    };
    let holds =
        planted!("no_lease_token", true, finding.token.is_none_or(|token| operation.lease_token == Some(token)));
    // Money that was taken was taken, whoever says so.
    if !holds && event != OperationEvent::Happened {
        return None;
    }
    operation::next(&operation.facts, event, now, policy, rand::random()).ok()
}

/// One finding being written, everything locked.
struct Settling<'a> {
    tx: &'a Tx,
    finding: &'a Finding,
    order: &'a LockedOrder,
    payment: &'a PaymentRow,
    operation: &'a OperationRow,
}

impl Settling<'_> {
    async fn write(&self, step: OperationStep) -> Result<Settled, DbError> {
        let (id, heard) = (&self.finding.id, &self.finding.heard);
        let moved = Move {
            external_reference: heard.fact.reference(),
            asked_in_vain: self.finding.asked && heard.fact == ChargeFact::NoAnswer,
            never_sent: heard.fact == ChargeFact::NotSent && !self.finding.asked,
            ..Move::to(step, heard.outcome)
        };
        self.tx.move_operation(id, self.operation, &moved).await?;
        if step.state == OperationState::Done {
            self.tx.end_other_charges(id).await?;
        }
        let ended = matches!(step.state, OperationState::Done | OperationState::Failed);
        self.write_payment(ended).await?;
        self.write_case(step, ended).await?;
        let status = payment::order_after(self.order.status, &heard.fact, self.order.cancel_requested);
        let moved = Moved {
            operation: (self.operation, step.state),
            payment: (self.payment, payment::after(&heard.fact)),
            order: (self.order.status, status),
        };
        let (what, details) = journal_entry(self.finding, &moved);
        self.tx.journal((id.org_id, id.order_id), &self.finding.actor, what, &details).await?;
        if ended && status == OrderStatus::Cancelled {
            refund_all(self.tx, id.org_id, id.order_id).await?;
            stop_steps(self.tx, id.org_id, id.order_id).await?;
        }
        if status == OrderStatus::Confirmed && self.order.status != OrderStatus::Confirmed {
            begin_steps(self.tx, id.org_id, id.order_id).await?;
        }
        self.tx.set_order_status(id.org_id, id.order_id, self.order, status).await?;
        let reply = if ended { self.complete().await? } else { None };
        Ok(Settled { reply })
    }

    /// Notes a finding that comes too late to count. Where the effect was settled without it, and the gateway may have taken
    /// or may yet take money, a person has to know.
    async fn write_late(&self) -> Result<(), DbError> {
        let (id, fact, state) = (&self.finding.id, &self.finding.heard.fact, self.operation.facts.state);
        let (payment, status) = (self.payment, self.order.status);
        let unmoved =
            Moved { operation: (self.operation, state), payment: (payment, payment.state), order: (status, status) };
        let (_, details) = journal_entry(self.finding, &unmoved);
        self.tx.journal((id.org_id, id.order_id), &self.finding.actor, "late_finding", &details).await?;
        let money = matches!(fact, ChargeFact::Processing { .. } | ChargeFact::Conflict { .. });
        let contradicts = state == OperationState::Failed && money
            || state == OperationState::Done
                && matches!(fact, ChargeFact::Declined { .. } | ChargeFact::Conflict { .. });
        if contradicts {
            let case = late_case(self.finding, self.payment, self.operation);
            self.tx.open_case(id, Uuid::now_v7(), &case).await?;
            self.tx.set_order_status(id.org_id, id.order_id, self.order, self.order.status).await?;
        }
        Ok(())
    }

    async fn write_payment(&self, ended: bool) -> Result<(), DbError> {
        let (id, fact) = (&self.finding.id, &self.finding.heard.fact);
        let code = if let ChargeFact::Declined { code, .. } = fact { Some(code.as_str()) } else { None };
        let place = (id.org_id, id.order_id, self.payment.attempt);
        self.tx.settle_payment(place, payment::after(fact), fact.reference(), code, ended).await
    }

    /// What is settled needs no person any more; money taken twice does.
    async fn write_case(&self, step: OperationStep, ended: bool) -> Result<(), DbError> {
        let id = &self.finding.id;
        if ended {
            self.tx.close_settled_case(id).await?;
        }
        let taken_twice = step.state == OperationState::Done
            && self.tx.others_paid(id.org_id, id.order_id, self.payment.attempt).await?;
        if taken_twice || step.state == OperationState::NeedsReconciliation {
            let case = case_for(self.finding, self.payment, self.operation);
            self.tx.open_case(id, Uuid::now_v7(), &case).await?;
        }
        Ok(())
    }

    /// Stores the answer of the request that waits; `None` when it has one already, which then stands.
    async fn complete(&self) -> Result<Option<StoredReply>, DbError> {
        let id = &self.finding.id;
        let order = self.tx.order(id.org_id, id.order_id).await?.ok_or(DbError::Decode { column: "order_id" })?;
        let reply = answer_of(&order, &self.finding.heard.fact, self.finding.request_id);
        let stored = match &self.operation.idempotency_key {
            Some(key) => {
                let of = Waiting { key, order_id: id.order_id, attempt: id.attempt() };
                self.tx.complete_claim(id.org_id, of, &reply).await?
            }
            None => false,
        };
        Ok(stored.then_some(reply))
    }
}

fn answer_of(order: &Order, fact: &ChargeFact, request_id: Uuid) -> StoredReply {
    match fact {
        ChargeFact::Declined { code, .. } if code == SAME_PAYMENT => reply::created(order),
        ChargeFact::Declined { code, .. } => reply::declined(order, code, request_id),
        _ => reply::created(order),
    }
}
