//! Payments: what the gateway took, beside what we think it took.

use crate::app::charge::send::{Heard, looked_up};
use crate::app::charge::settle::{Finding, settle_charge};
use crate::app::error::AppError;
use crate::app::inbox::{SeenFact, tell};
use crate::app::sweep::Sweep;
use crate::app::sweep::raise::raise;
use crate::app::sweep::report::{Found, Line};
use crate::db::deadline::Deadline;
use crate::db::operations::OperationId;
use crate::db::sweep::{Attempt, Taken, TakenFilter};
use crate::domain::case::NewCase;
use crate::domain::ids::OrderId;
use crate::domain::inbox::EventOutcome;
use crate::domain::inbox::fact::Fact;
use crate::domain::operation::OperationState;
use crate::domain::payment::ChargeFact;
use crate::domain::sweep::{TheirPayment, Verdict, holds_money, judge};
use crate::gateway::RetrieveRequest;
use crate::gateway::recent::{Owner, SeenPayment};
use crate::gateway::stripe::CLOCK_MARGIN;
use serde_json::{Value, json};
use std::collections::HashSet;
use uuid::Uuid;

/// Our attempts that are read at once.
const BATCH: i64 = 500;
/// Attempts that the gateway did not list, asked for one by one.
const MAX_QUESTIONS: usize = 500;

const COMPARE: &str = "compare the payment at the gateway with the order";

impl Sweep<'_> {
    /// Compares the payments that the gateway lists. Gives their names, if that was all of them.
    pub(super) async fn payments(&mut self) -> Result<Option<HashSet<String>>, AppError> {
        let seen = self.pages(|gateway, request| gateway.gateway.recent_payments(request)).await;
        let complete = self.report.stopped_by.is_none();
        self.report.payments = seen.len();
        let mut names = HashSet::new();
        for payment in seen {
            if self.is_over() {
                return Ok(None);
            }
            self.payment(&payment).await?;
            names.insert(payment.reference);
        }
        Ok(complete.then_some(names))
    }

    async fn payment(&mut self, seen: &SeenPayment) -> Result<(), AppError> {
        let (named, attempt) = match seen.owner {
            Owner::Ours { order_id, attempt } => (order_id, attempt),
            Owner::Nobody | Owner::Other => (None, None),
        };
        let mut line = Line::of("payment", &seen.reference, named);
        let ours = self.attempt_of(seen, named.zip(attempt)).await?;
        line.order_id = ours.as_ref().map(|ours| ours.order_id).or(named);
        let found = match ours {
            Some(ours) => self.compare(seen, &ours).await,
            None => self.unattached(seen, named, &line).await,
        };
        self.note(line, found)
    }

    /// The attempt that it pays: by its name, which only one can have, or by what its metadata says.
    async fn attempt_of(&self, seen: &SeenPayment, named: Option<(OrderId, i32)>) -> Result<Option<Attempt>, AppError> {
        let (db, provider) = (&self.app.db, self.gateway.provider.as_str());
        let deadline = Deadline::of_request();
        let known = db.attempt_of_reference(self.org_id, provider, &seen.reference, deadline).await?;
        match (known, named) {
            (None, Some((order_id, attempt))) => Ok(db.attempt(self.org_id, order_id, attempt, deadline).await?),
            (known, _) => Ok(known),
        }
    }

    async fn compare(&self, seen: &SeenPayment, ours: &Attempt) -> Result<Found, AppError> {
        let theirs = TheirPayment {
            reference: &seen.reference,
            taken: seen.taken,
            amount: seen.amount,
            currency: &seen.currency,
        };
        match judge(&ours.payment, &theirs) {
            Verdict::Agrees => Ok(Found::Agreed),
            Verdict::Later => Ok(Found::Later),
            Verdict::Ask => self.ask(ours, &seen.reference).await,
            Verdict::Unknown => self.tell(ours.order_id, None, seen).await,
        }
    }

    /// Money of no attempt: a fact like one that a notification tells where there is an order, else for whoever reads the
    /// report.
    async fn unattached(&self, seen: &SeenPayment, named: Option<OrderId>, line: &Line) -> Result<Found, AppError> {
        let ours = matches!(seen.owner, Owner::Ours { .. });
        match named {
            _ if !ours => Ok(Found::Others),
            // Nothing was taken, so that nothing is missing.
            _ if !seen.taken => Ok(Found::Agreed),
            Some(order_id) if self.has(order_id).await? => {
                let attempt = if let Owner::Ours { attempt, .. } = seen.owner { attempt } else { None };
                self.tell(order_id, attempt, seen).await
            }
            _ => Ok(self.stranger(line)),
        }
    }

    async fn waits_for_a_person(&self, order_id: OrderId) -> Result<bool, AppError> {
        let order = self.app.db.get_order(self.org_id, order_id, Deadline::of_request()).await?;
        Ok(order.is_some_and(|order| order.needs_reconciliation))
    }

    pub(super) async fn has(&self, order_id: OrderId) -> Result<bool, AppError> {
        Ok(self.app.db.get_order(self.org_id, order_id, Deadline::of_request()).await?.is_some())
    }

    /// Files what was seen as the fact that a notification of it would tell, and applies it: whichever comes first, it counts
    /// once.
    async fn tell(&self, order_id: OrderId, attempt: Option<i32>, seen: &SeenPayment) -> Result<Found, AppError> {
        let reference = seen.reference.clone();
        let fact = Fact {
            currency: Some(seen.currency.clone()),
            order_id: Some(order_id),
            attempt,
            ..Fact::succeeded(reference)
        };
        let seen = SeenFact { fact, amount: seen.amount, order_id };
        Ok(match tell(self.app, self.org_id, &self.gateway.provider, &seen).await? {
            // Money taken twice is recorded, and for a person.
            (EventOutcome::Applied, _) if self.waits_for_a_person(order_id).await? => Found::CaseOpened,
            (EventOutcome::Applied, _) => Found::Settled,
            (EventOutcome::Conflict, true) => Found::CaseOpened,
            (EventOutcome::Conflict, false) => Found::CaseKnown,
            (EventOutcome::Pending | EventOutcome::Parked, _) => Found::Later,
            (EventOutcome::SameFact | EventOutcome::Stale | EventOutcome::Ignored, _) => Found::Agreed,
        })
    }

    /// Asks for a payment by its name. A list may be old; this answer is what counts.
    async fn ask(&self, ours: &Attempt, reference: &str) -> Result<Found, AppError> {
        let payment = &ours.payment;
        let request = RetrieveRequest {
            reference: reference.to_owned(),
            amount: payment.amount,
            currency: payment.currency.clone(),
        };
        let heard = looked_up(self.gateway.gateway.retrieve(request).await);
        let id = OperationId::charge(self.org_id, ours.order_id, ours.attempt);
        match (&heard.fact, payment.charge) {
            // Not known; or a person has it.
            (ChargeFact::NoAnswer, _) | (ChargeFact::Conflict { .. }, OperationState::NeedsReconciliation) => {
                Ok(Found::Later)
            }
            (ChargeFact::Succeeded { .. }, OperationState::Done) => Ok(Found::Agreed),
            (ChargeFact::Succeeded { .. }, _) => self.settle(id, heard).await.map(|()| Found::Settled),
            (ChargeFact::Conflict { .. }, OperationState::Done | OperationState::Failed) => {
                raise(self.app, &id, &disagrees("amount_conflict", ours, &heard, reference)).await
            }
            (ChargeFact::Conflict { .. }, _) => self.settle(id, heard).await.map(|()| Found::CaseOpened),
            (_, OperationState::Done) if holds_money(payment.state) => {
                raise(self.app, &id, &disagrees("gateway_disagrees", ours, &heard, reference)).await
            }
            _ => Ok(Found::Agreed),
        }
    }

    async fn settle(&self, id: OperationId, heard: Heard) -> Result<(), AppError> {
        let (actor, request_id) = ("sweep".to_owned(), Uuid::now_v7());
        let finding = Finding { id, token: None, heard, asked: true, actor, request_id };
        settle_charge(self.app, &finding).await.map(|_| ())
    }

    /// The reverse: attempts of which we think that they took money, and that a complete list does not hold.
    pub(super) async fn unseen_payments(&mut self, seen: &HashSet<String>) -> Result<(), AppError> {
        let sha256 = self.gateway.sha256.clone();
        // What was made while the list was read may be missing from it.
        let filter = TakenFilter { until: self.now - CLOCK_MARGIN, gateway_sha256: &sha256, limit: BATCH };
        let (mut after, mut questions) = (Taken::before(self.since), 0);
        loop {
            let batch = self.app.db.taken(self.org_id, &after, &filter, Deadline::of_request()).await?;
            let Some(last) = batch.last().cloned() else { return Ok(()) };
            for taken in batch.iter().filter(|taken| !seen.contains(&taken.reference)) {
                questions += 1;
                if questions > MAX_QUESTIONS {
                    self.report.stop("too_many_to_ask");
                }
                if questions > MAX_QUESTIONS || self.is_over() {
                    return Ok(());
                }
                let line = Line::of("payment", &taken.reference, Some(taken.order_id));
                let found = self.unseen(taken).await;
                self.note(line, found)?;
            }
            after = last;
        }
    }

    async fn unseen(&self, taken: &Taken) -> Result<Found, AppError> {
        let (org_id, deadline) = (self.org_id, Deadline::of_request());
        match self.app.db.attempt(org_id, taken.order_id, taken.attempt, deadline).await? {
            Some(ours) => self.ask(&ours, &taken.reference).await,
            None => Ok(Found::Agreed),
        }
    }
}

fn disagrees(reason: &'static str, ours: &Attempt, heard: &Heard, reference: &str) -> NewCase {
    let payment = &ours.payment;
    let evidence: Value = json!({
        "ours": {
            "attempt": ours.attempt, "amount": payment.amount, "currency": payment.currency,
            "state": payment.state.as_str(), "gateway_reference": payment.reference,
        },
        "theirs": { "gateway_reference": reference, "outcome": heard.outcome },
    });
    NewCase::of_payments(reason, COMPARE, evidence)
}
