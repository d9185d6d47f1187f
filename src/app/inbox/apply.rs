//! Applies a fact, once, under the lock of its order: what it may change is decided by
//! [`crate::domain::inbox::transition`].

use crate::app::App;
use crate::app::charge::settle::Finding;
use crate::app::error::AppError;
use crate::app::inbox::evidence::{case, evidence};
use crate::app::inbox::{ACTOR, books, money};
use crate::db::deadline::Deadline;
use crate::db::error::DbError;
use crate::db::inbox::events::{EventId, EventRow, OrderOf};
use crate::db::operations::OperationId;
use crate::db::orders::LockedOrder;
use crate::db::payments::PaymentRow;
use crate::db::tx::Tx;
use crate::domain::case::NewCase;
use crate::domain::ids::OrderId;
use crate::domain::inbox::EventOutcome;
use crate::domain::inbox::fact::What;
use crate::domain::inbox::transition::{Circumstances, Success, Verdict, decide};
use serde_json::json;
use std::time::Duration;
use tokio::time::sleep;
use uuid::Uuid;

/// How long after each look at an order that is locked comes the next one: most work on an order is over in a moment.
const LOOKS: [Duration; 3] = [Duration::from_millis(10), Duration::from_millis(30), Duration::ZERO];

/// What came of a fact, and why.
pub(super) struct Outcome {
    pub outcome: EventOutcome,
    pub reason: Option<&'static str>,
}

impl Outcome {
    pub fn of(outcome: EventOutcome, reason: &'static str) -> Self {
        Self { outcome, reason: Some(reason) }
    }

    pub fn plain(outcome: EventOutcome) -> Self {
        Self { outcome, reason: None }
    }
}

/// A fact under its lock and its order's.
pub(super) struct Applying<'a> {
    pub app: &'a App,
    pub tx: &'a Tx,
    pub id: &'a EventId,
    pub event: EventRow,
    pub order_id: OrderId,
    pub order: LockedOrder,
    pub payments: Vec<PaymentRow>,
}

/// Applies a fact that waits, and then those of the same payment that waited for it. Nothing happens to one that is settled.
///
/// # Errors
///
/// [`AppError`]; the fact then still waits, and the worker comes back to it.
pub async fn apply_event(app: &App, id: &EventId) -> Result<(), AppError> {
    for follower in apply_one(app, id).await? {
        apply_one(app, &follower).await?;
    }
    Ok(())
}

/// As [`apply_event`], for one; gives those that waited for it. While somebody else works on its order it is left for later, so
/// that one order never holds up another one's news.
async fn apply_one(app: &App, id: &EventId) -> Result<Vec<EventId>, AppError> {
    failpoint!("inbox/apply/begin");
    for wait in LOOKS {
        if let Some(followers) = try_apply(app, id).await? {
            return Ok(followers);
        }
        sleep(wait).await;
    }
    Ok(Vec::new())
}

/// As [`apply_one`]; `None` while the order is locked.
async fn try_apply(app: &App, id: &EventId) -> Result<Option<Vec<EventId>>, AppError> {
    let tx = app.db.begin(Deadline::of_request()).await?;
    let known = tx.find_event(id).await?.filter(|known| waits(known.outcome));
    let Some(known) = known else {
        tx.rollback().await;
        return Ok(Some(Vec::new()));
    };
    let belongs = tx.order_of(id.org_id, &id.provider, known.named_order_id, known.reference.as_deref()).await?;
    let Some(order_id) = belongs.order() else {
        unmatched(&tx, id).await?;
        failpoint!("inbox/unmatched/before_commit");
        tx.commit().await?;
        failpoint!("inbox/unmatched/committed");
        return Ok(Some(Vec::new()));
    };
    let Some(order) = tx.lock_free_orders(id.org_id, &[order_id.0]).await?.remove(&order_id) else {
        tx.rollback().await;
        return Ok(None);
    };
    let payments = tx.payments_of_order(id.org_id, order_id).await?;
    let event = tx.lock_event(id).await?.filter(|event| waits(event.outcome));
    let Some(event) = event else {
        tx.rollback().await;
        return Ok(Some(Vec::new()));
    };
    let applying = Applying { app, tx: &tx, id, event, order_id, order, payments };
    let (followers, effect) = applying.apply(belongs).await?;
    failpoint!("inbox/apply/before_commit");
    tx.commit().await?;
    failpoint!("inbox/apply/committed");
    if let Some(outcome) = effect {
        app.metrics.effect("charge", outcome);
    }
    Ok(Some(followers))
}

pub(super) fn waits(outcome: EventOutcome) -> bool {
    matches!(outcome, EventOutcome::Pending | EventOutcome::Parked)
}

/// There is no order for it, yet. Once it is overdue, one that names an order of ours and moved money is for a person; the
/// others are somebody else's.
async fn unmatched(tx: &Tx, id: &EventId) -> Result<(), DbError> {
    let Some(event) = tx.lock_event(id).await?.filter(|event| waits(event.outcome)) else {
        return Ok(());
    };
    let (outcome, reason) = match event.fact.order_id {
        _ if !event.overdue => (EventOutcome::Parked, "no_order_yet"),
        Some(order_id) if event.fact.what.is_about_money() => {
            let about = case_id(id, order_id);
            let new = case("order_missing", "find out what was paid for: the order that it names is not here");
            let new = NewCase { evidence: evidence(&event, None, None), ..new };
            tx.open_case(&about, Uuid::now_v7(), &new).await?;
            (EventOutcome::Conflict, "order_missing")
        }
        _ => (EventOutcome::Ignored, "not_ours"),
    };
    tx.settle_event(id, outcome, Some(reason), None).await
}

/// A case about a fact itself.
pub(super) fn case_id(id: &EventId, order_id: OrderId) -> OperationId {
    OperationId { org_id: id.org_id, order_id, kind: "notification".to_owned(), fact: id.fact_key.clone() }
}

impl Applying<'_> {
    async fn apply(&self, belongs: OrderOf) -> Result<(Vec<EventId>, Option<&'static str>), DbError> {
        let attempt = self.attempt();
        let verdict =
            decide(self.event.fact.what, attempt.map(|payment| payment.state), self.circumstances(attempt).await?);
        let mut effect = None;
        let outcome = if belongs.contradicts() {
            self.conflict("another_order", attempt).await?
        } else {
            match verdict {
                Verdict::Settle | Verdict::NewAttempt => {
                    let finding = self.finding(verdict, attempt).await?;
                    effect = Some(finding.heard.outcome);
                    self.settle(&finding).await?
                }
                Verdict::Recount => match attempt {
                    Some(payment) => books::apply(self, payment).await?,
                    None => Outcome::plain(EventOutcome::Ignored),
                },
                Verdict::Same => self.same(attempt).await?,
                Verdict::Stale => Outcome::plain(EventOutcome::Stale),
                Verdict::Ignore => Outcome::of(EventOutcome::Ignored, "no_payment"),
                Verdict::Wait if !self.event.overdue => Outcome::of(EventOutcome::Parked, "not_paid_yet"),
                Verdict::Wait => self.conflict("never_paid", attempt).await?,
                Verdict::Conflict => self.conflict("contradicts_payment", attempt).await?,
            }
        };
        self.tx.settle_event(self.id, outcome.outcome, outcome.reason, Some(self.order_id)).await?;
        if !waits(outcome.outcome) {
            self.note(&outcome, attempt).await?;
        }
        let followers = if effect.is_some() || outcome.reason == Some("reference_learnt") {
            self.followers().await?
        } else {
            Vec::new()
        };
        Ok((followers, effect))
    }

    /// Nothing new, but perhaps the payment's name: what goes back of it is told by that.
    async fn same(&self, attempt: Option<&PaymentRow>) -> Result<Outcome, DbError> {
        let reference = self.event.fact.reference.as_deref();
        match attempt {
            Some(payment) if payment.reference.is_none() && self.event.fact.what == What::Succeeded => {
                let place = (self.id.org_id, self.order_id, payment.attempt);
                self.tx.settle_payment(place, payment.state, reference, None, true).await?;
                self.show().await?;
                Ok(Outcome::of(EventOutcome::Applied, "reference_learnt"))
            }
            _ => Ok(Outcome::plain(EventOutcome::SameFact)),
        }
    }

    /// The attempt that the fact is about: by the payment's name, else by the number that we wrote into its metadata, as long
    /// as that attempt has no name yet.
    fn attempt(&self) -> Option<&PaymentRow> {
        let fact = &self.event.fact;
        let by_name = self.payments.iter().find(|it| it.reference.is_some() && it.reference == fact.reference);
        by_name.or_else(|| self.payments.iter().find(|it| it.reference.is_none() && Some(it.attempt) == fact.attempt))
    }

    /// Amount and currency of what is paid.
    pub fn fits(&self, attempt: Option<&PaymentRow>) -> bool {
        let (amount, currency) = match attempt {
            Some(payment) => (payment.amount, &payment.currency),
            None => (self.order.amount, &self.order.currency),
        };
        self.event.amount == Some(amount) && self.event.fact.currency.as_ref() == Some(currency)
    }

    async fn circumstances(&self, attempt: Option<&PaymentRow>) -> Result<Circumstances, DbError> {
        let fact = &self.event.fact;
        let fails = matches!(fact.what, What::Failed | What::Canceled);
        let success = match &fact.reference {
            Some(reference) if fails => {
                let told = self.tx.events_of_payment(self.id.org_id, &self.id.provider, reference).await?;
                let mut successes = told.iter().filter(|event| event.fact.what == What::Succeeded).peekable();
                let told_at_all = successes.peek().is_some();
                let before = |event: &EventRow| event.fact.told_at.zip(fact.told_at).is_some_and(|(it, our)| it < our);
                if successes.any(before) {
                    Success::ToldBefore
                } else if told_at_all {
                    Success::Told
                } else {
                    Success::Untold
                }
            }
            _ => Success::Untold,
        };
        Ok(Circumstances { fits: self.fits(attempt), success })
    }

    async fn finding(&self, verdict: Verdict, attempt: Option<&PaymentRow>) -> Result<Finding, DbError> {
        match attempt {
            Some(payment) if verdict == Verdict::Settle => Ok(money::finding(self, payment.attempt, attempt)),
            _ => money::new_attempt(self).await,
        }
    }

    /// Neither applied nor thrown away: a person decides, with what both sides say.
    pub async fn conflict(&self, reason: &'static str, attempt: Option<&PaymentRow>) -> Result<Outcome, DbError> {
        let new = case("notification_conflict", "compare the payment at the gateway with the order");
        let new = NewCase { evidence: evidence(&self.event, Some(&self.order), attempt), ..new };
        self.tx.open_case(&case_id(self.id, self.order_id), Uuid::now_v7(), &new).await?;
        self.show().await?;
        Ok(Outcome::of(EventOutcome::Conflict, reason))
    }

    /// The order's next version, with what its payments and cases add up to now. Its status is as it was last written.
    pub async fn show(&self) -> Result<(), DbError> {
        let order = self.tx.lock_order(self.id.org_id, self.order_id).await?;
        let order = order.ok_or(DbError::Decode { column: "order_id" })?;
        self.tx.set_order_status(self.id.org_id, self.order_id, &order, order.status).await
    }

    async fn note(&self, outcome: &Outcome, attempt: Option<&PaymentRow>) -> Result<(), DbError> {
        let fact = &self.event.fact;
        let order = self.tx.lock_order(self.id.org_id, self.order_id).await?;
        let payments = self.tx.payments_of_order(self.id.org_id, self.order_id).await?;
        let number = attempt.map(|it| it.attempt).or_else(|| {
            payments.iter().find(|it| it.reference.is_some() && it.reference == fact.reference).map(|it| it.attempt)
        });
        let after = payments.iter().find(|it| Some(it.attempt) == number).map(|it| it.state.as_str());
        let details = json!({
            "payment": number.map(|number| json!({
                "attempt": number, "from": attempt.map(|it| it.state.as_str()), "to": after,
            })),
            "order": { "from": self.order.status.as_str(), "to": order.map(|order| order.status.as_str()) },
            "fact_key": fact.key, "what": fact.what.as_str(), "gateway_reference": fact.reference,
            "amount": self.event.amount, "currency": fact.currency,
            "outcome": outcome.outcome.as_str(), "reason": outcome.reason,
        });
        self.tx.journal((self.id.org_id, self.order_id), ACTOR, "notification_applied", &details).await
    }

    /// Facts of the same payment that wait.
    async fn followers(&self) -> Result<Vec<EventId>, DbError> {
        let Some(reference) = &self.event.fact.reference else { return Ok(Vec::new()) };
        let told = self.tx.events_of_payment(self.id.org_id, &self.id.provider, reference).await?;
        let waiting = told.into_iter().filter(|event| waits(event.outcome) && event.fact.key != self.id.fact_key);
        Ok(waiting.map(|event| EventId { fact_key: event.fact.key, ..self.id.clone() }).collect())
    }
}
