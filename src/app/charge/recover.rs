//! Goes on with a charge whose holder is gone, or whose next look is due: a client's retry, the worker and a person's
//! decision all come here. It asks first, and sends only what the same key makes harmless.

use crate::app::App;
use crate::app::charge::lease::Lease;
use crate::app::charge::send::{Call, Heard, TOO_LATE, cancelled, looked_up, send};
use crate::app::charge::settle::{Finding, Settled, settle_charge};
use crate::app::error::AppError;
use crate::app::gateways::{FoundGateway, method_purpose};
use crate::db::deadline::Deadline;
use crate::db::operations::{OperationId, OperationRow};
use crate::db::payments::PaymentRow;
use crate::domain::operation::exhausted;
use crate::domain::payment::ChargeFact;
use crate::domain::question::{Question, question};
use crate::domain::sealed::{Place, open};
use crate::gateway::outcome::reason;
use crate::gateway::{FindRequest, Gateway, RetrieveRequest};
use secrecy::SecretString;
use time::OffsetDateTime;
use uuid::Uuid;

/// Takes the charge up, asks, and records what is known now. `None` when somebody else has it, or it is settled.
///
/// # Errors
///
/// As [`settle_charge`]; [`AppError::Unavailable`] when it could not be taken up.
pub async fn recover_charge(
    app: &App,
    id: &OperationId,
    actor: &'static str,
    request_id: Uuid,
) -> Result<Option<Settled>, AppError> {
    // What cannot be called leaves the row as it is, for somebody who can.
    let gateway = app.gateways.of(app, id.org_id, Deadline::of_request()).await?;
    let lease = Lease::begin();
    if !app.db.take_operation(id, lease.token, app.payments.lease, Deadline::of_request()).await? {
        return Ok(None);
    }
    failpoint!("charge/recover/taken");
    let Some(taken) = load(app, id, lease, gateway.as_ref()).await? else {
        return Ok(None);
    };
    failpoint!("charge/recover/noted");
    let heard = match (taken.way, gateway) {
        (None, _) => Heard { fact: ChargeFact::Exhausted, outcome: "exhausted", retry_after: None },
        (Some(_), None) => Heard::no_answer("no_gateway"),
        (Some(way), Some(found)) => Asking { app, gateway: found.gateway.as_ref(), id, taken: &taken }.ask(way).await,
    };
    failpoint!("charge/recover/answered");
    // An outcome of a first sending is no question that told nothing, and neither is one that was not asked in time.
    let asked = taken.operation.first_sent_at.is_some() && heard.outcome != TOO_LATE.outcome;
    let finding =
        Finding { id: id.clone(), token: Some(lease.token), heard, asked, actor: actor.to_owned(), request_id };
    settle_charge(app, &finding).await.map(Some)
}

/// A charge under our lease, with what asking needs to know.
struct Taken {
    lease: Lease,
    payment: PaymentRow,
    operation: OperationRow,
    method: Option<SecretString>,
    /// Whether the organisation's gateway now is the one that it was sent to.
    same_gateway: bool,
    /// `None`: nobody is to be asked any more.
    way: Option<Question>,
    now: OffsetDateTime,
}

/// Reads it in one short transaction, which also notes a sending before it is sent.
async fn load(
    app: &App,
    id: &OperationId,
    lease: Lease,
    gateway: Option<&FoundGateway>,
) -> Result<Option<Taken>, AppError> {
    let attempt = id.attempt().ok_or(AppError::Internal)?;
    let tx = app.db.begin(Deadline::of_request()).await?;
    let order = tx.lock_order(id.org_id, id.order_id).await?;
    let payment = tx.lock_payment(id.org_id, id.order_id, attempt).await?;
    let operation = tx.lock_operation(id).await?;
    let (Some(order), Some((payment, sent)), Some(operation)) = (order, payment, operation) else {
        return Err(AppError::Internal);
    };
    let now = order.now;
    let method = sent.method_sealed.and_then(|sealed| {
        let place = Place { org_id: id.org_id, purpose: &method_purpose(&operation.operation_key) };
        open(app.payments.sealing_key.as_deref()?, place, &sealed).ok()
    });
    // The same call only shows again what is stored under its key: an old server error, or how a payment stood then.
    let told_all = operation.last_outcome.as_deref() == Some(reason::SERVER_ERROR_STORED)
        || payment.reference.is_some()
        || operation.external_reference.is_some();
    // What was sent to another gateway is not sent to this one: the key means nothing here.
    let same_gateway = operation.first_sent_at.is_none() || sent.gateway_sha256 == gateway.map(|it| it.sha256.clone());
    let can_send = method.is_some() && !told_all && same_gateway;
    let unwanted = order.cancel_requested || operation.never_send;
    let way = question(operation.first_sent_at, now, unwanted, operation.look_only, can_send);
    let way = (!exhausted(&operation.facts, now, &app.payments.policy)).then_some(way);
    let ours = operation.lease_token == Some(lease.token);
    if !ours || (way == Some(Question::SendAgain) && !tx.mark_sent(id, lease.token, None).await?) {
        tx.rollback().await;
        return Ok(None);
    }
    failpoint!("charge/recover/before_commit");
    tx.commit().await?;
    Ok(Some(Taken { lease, payment, operation, method, same_gateway, way, now }))
}

struct Asking<'a> {
    app: &'a App,
    gateway: &'a dyn Gateway,
    id: &'a OperationId,
    taken: &'a Taken,
}

impl Asking<'_> {
    async fn ask(&self, way: Question) -> Heard {
        match (way, &self.taken.method) {
            (Question::SendAgain, Some(method)) => self.send_again(method.clone()).await,
            (Question::LookUpAndCancel, _) => self.look_up_and_cancel().await,
            _ => self.look_up().await,
        }
    }

    async fn send_again(&self, method: SecretString) -> Heard {
        let sent_before = self.taken.operation.first_sent_at.is_some();
        if !self.taken.lease.outlasts_a_call(&self.app.payments) {
            return if sent_before { Heard::no_answer(TOO_LATE.outcome) } else { TOO_LATE };
        }
        let call = Call {
            id: self.id.clone(),
            operation_key: planted!(
                "new_gateway_key",
                Uuid::now_v7().to_string(),
                self.taken.operation.operation_key.clone()
            ),
            amount: self.taken.payment.amount,
            currency: self.taken.payment.currency.clone(),
            method,
            sent_before,
        };
        let heard = send(self.gateway, call).await;
        // The key cannot tell more (it is in use, or a server error is stored under it); the payment itself may.
        let more_time = self.taken.lease.outlasts_a_call(&self.app.payments);
        if heard.fact == ChargeFact::NoAnswer && sent_before && more_time {
            let looked = self.look_up().await;
            // What is not found may still come from the call just made.
            return if matches!(looked.fact, ChargeFact::DidNotHappen | ChargeFact::NoAnswer) { heard } else { looked };
        }
        heard
    }

    async fn look_up(&self) -> Heard {
        let heard = self.found().await;
        // That another gateway, or another account, knows nothing of it says nothing.
        if heard.fact == ChargeFact::DidNotHappen && !self.taken.same_gateway {
            return Heard::no_answer("other_gateway");
        }
        heard
    }

    async fn found(&self) -> Heard {
        let (payment, operation) = (&self.taken.payment, &self.taken.operation);
        if let Some(reference) = self.reference() {
            return looked_up(self.gateway.retrieve(self.retrieve(reference)).await);
        }
        let first_sent_at = operation.first_sent_at.unwrap_or(operation.created_at);
        let request = FindRequest {
            org_id: self.id.org_id,
            order_id: self.id.order_id,
            attempt: payment.attempt,
            amount: payment.amount,
            currency: payment.currency.clone(),
            first_sent_at,
            // A sending is noted before it is made, and made while the lease lasts.
            last_sent_at: operation.last_sent_at.unwrap_or(first_sent_at) + self.app.payments.lease,
            now: self.taken.now,
        };
        looked_up(self.gateway.find(request).await)
    }

    /// Ends what has taken no money. What was never sent, or is not there and will not appear, has ended already.
    async fn look_up_and_cancel(&self) -> Heard {
        if self.taken.operation.first_sent_at.is_none() {
            return Heard::ended();
        }
        let heard = self.look_up().await;
        match &heard.fact {
            // A payment that the gateway once knew does not end by being unknown: perhaps another account was asked.
            ChargeFact::DidNotHappen if self.reference().is_none() => Heard::ended(),
            ChargeFact::Processing { reference } => {
                // A key of its own for each try: under a used one the gateway repeats its old answer.
                let (key, tries) = (&self.taken.operation.operation_key, self.taken.operation.facts.attempts);
                cancelled(self.gateway.cancel(self.retrieve(reference), format!("{key}-cancel-{tries}")).await)
            }
            _ => heard,
        }
    }

    fn reference(&self) -> Option<&str> {
        self.taken.payment.reference.as_deref().or(self.taken.operation.external_reference.as_deref())
    }

    fn retrieve(&self, reference: &str) -> RetrieveRequest {
        let payment = &self.taken.payment;
        let (amount, currency) = (payment.amount, payment.currency.clone());
        RetrieveRequest { reference: reference.to_owned(), amount, currency }
    }
}
