//! Refunds: what the gateway gave back, beside what we booked.

use crate::app::book_refund::{Booked, OutsideRefund, book_refund, refund_happened};
use crate::app::error::AppError;
use crate::app::sweep::Sweep;
use crate::app::sweep::raise::raise;
use crate::app::sweep::report::{Found, Line};
use crate::db::deadline::Deadline;
use crate::db::operations::OperationId;
use crate::db::sweep::{Attempt, RefundRow};
use crate::domain::case::NewCase;
use crate::domain::ids::OrderId;
use crate::domain::operation::OperationState;
use crate::gateway::recent::{Owner, RecentRequest, RefundState, SeenRefund};
use serde_json::json;
use time::OffsetDateTime;

/// Pages of one payment's refunds that are read at most.
const MAX_PAGES_OF_ONE: usize = 4;

impl Sweep<'_> {
    /// Compares the refunds that the gateway lists.
    pub(super) async fn refunds(&mut self) -> Result<(), AppError> {
        let seen = self.pages(|gateway, request| gateway.gateway.recent_refunds(request)).await;
        self.report.refunds = seen.len();
        for refund in seen {
            if self.is_over() {
                return Ok(());
            }
            self.refund(&refund).await?;
        }
        Ok(())
    }

    async fn refund(&mut self, seen: &SeenRefund) -> Result<(), AppError> {
        let named = if let Owner::Ours { order_id, .. } = seen.owner { order_id } else { None };
        let mut line = Line::of("refund", &seen.reference, named);
        let (provider, deadline) = (self.gateway.provider.as_str(), Deadline::of_request());
        let attempt = match &seen.payment {
            Some(payment) => self.app.db.attempt_of_reference(self.org_id, provider, payment, deadline).await?,
            None => None,
        };
        let found = match &attempt {
            Some(attempt) => {
                line.order_id = Some(attempt.order_id);
                self.compare_refund(seen, attempt).await
            }
            None if !matches!(seen.owner, Owner::Ours { .. }) => Ok(Found::Others),
            None if seen.state != RefundState::Given => Ok(Found::Agreed),
            // Of a payment that is no attempt's.
            None => match named {
                Some(order_id) if self.has(order_id).await? => self.unattached_refund(order_id, seen).await,
                _ => Ok(self.stranger(&line)),
            },
        };
        self.note(line, found)
    }

    async fn compare_refund(&self, seen: &SeenRefund, attempt: &Attempt) -> Result<Found, AppError> {
        let ours = self.refund_row(seen, attempt.order_id).await?;
        match (seen.state, ours) {
            (RefundState::Open, _) | (RefundState::Failed, None) => Ok(Found::Agreed),
            (RefundState::Failed, Some(ours)) => self.failed(seen, &ours).await,
            (RefundState::Given, Some(ours)) => self.given(seen, attempt, &ours).await,
            (RefundState::Given, None) => self.made_there(seen, attempt).await,
        }
    }

    /// Our row for it: by the key it was asked for with, or by its name.
    async fn refund_row(&self, seen: &SeenRefund, order_id: OrderId) -> Result<Option<RefundRow>, AppError> {
        let (db, deadline) = (&self.app.db, Deadline::of_request());
        let by_key = match &seen.key {
            Some(key) => db.refund_of_key(self.org_id, key, deadline).await?,
            None => None,
        };
        // Whoever copies our key onto a refund of another order means something else.
        match by_key.filter(|row| row.order_id == order_id) {
            Some(row) => Ok(Some(row)),
            None => Ok(db.refund_of_reference(self.org_id, order_id, &seen.reference, deadline).await?),
        }
    }

    async fn failed(&self, seen: &SeenRefund, ours: &RefundRow) -> Result<Found, AppError> {
        let this_one = ours.reference.as_deref() == Some(seen.reference.as_str());
        if ours.state != OperationState::Done || !this_one {
            return Ok(Found::Agreed);
        }
        self.raise_refund(ours.order_id, &ours.fact, "gateway_disagrees", seen, "failed").await
    }

    async fn given(&self, seen: &SeenRefund, attempt: &Attempt, ours: &RefundRow) -> Result<Found, AppError> {
        let same =
            ours.amount.is_none_or(|amount| seen.amount == Some(amount)) && seen.currency == attempt.payment.currency;
        let other = ours.reference.as_deref().is_some_and(|reference| reference != seen.reference);
        match ours.state {
            // Given twice under one key.
            OperationState::Done if other => self.made_there(seen, attempt).await,
            OperationState::Done if same => Ok(Found::Agreed),
            _ if ours.at_work => Ok(Found::Later),
            _ if same => {
                let (kind, fact) = ("refund".to_owned(), ours.fact.clone());
                let id = OperationId { org_id: self.org_id, order_id: ours.order_id, kind, fact };
                refund_happened(self.app, &id, &seen.reference, "sweep").await.map(|()| Found::Settled)
            }
            _ => self.raise_refund(ours.order_id, &ours.fact, "amount_conflict", seen, "succeeded").await,
        }
    }

    async fn made_there(&self, seen: &SeenRefund, attempt: &Attempt) -> Result<Found, AppError> {
        let Some(total) = self.given_back(seen).await else { return Ok(Found::Later) };
        let refund = OutsideRefund {
            org_id: self.org_id,
            order_id: attempt.order_id,
            attempt: attempt.attempt,
            reference: &seen.reference,
            // Without an amount that can be said it fits nothing.
            amount: seen.amount.unwrap_or_default(),
            currency: &seen.currency,
            total,
            actor: "sweep",
        };
        match book_refund(self.app, &refund).await? {
            Booked::Now => Ok(Found::Booked),
            Booked::Before => Ok(Found::Agreed),
            Booked::Contradicts => self.unattached_refund(attempt.order_id, seen).await,
        }
    }

    /// All that was given back of a refund's payment; `None` when the gateway could not tell.
    async fn given_back(&self, seen: &SeenRefund) -> Option<i64> {
        let (mut total, mut after) = (0_i64, None);
        for _ in 0..MAX_PAGES_OF_ONE {
            let (org_id, payment) = (self.org_id, Some(seen.payment.clone()?));
            let request = RecentRequest { org_id, since: OffsetDateTime::UNIX_EPOCH, payment, after };
            let page = self.gateway.gateway.recent_refunds(request).await.ok()?;
            let given = page.items.iter().filter(|each| each.state == RefundState::Given);
            total += given.filter_map(|each| each.amount).sum::<i64>();
            after = page.next;
            if after.is_none() {
                return Some(total);
            }
        }
        None
    }

    async fn unattached_refund(&self, order_id: OrderId, seen: &SeenRefund) -> Result<Found, AppError> {
        self.raise_refund(order_id, &seen.reference, "amount_conflict", seen, "succeeded").await
    }

    async fn raise_refund(
        &self,
        order_id: OrderId,
        fact: &str,
        reason: &'static str,
        seen: &SeenRefund,
        outcome: &str,
    ) -> Result<Found, AppError> {
        let id = OperationId { org_id: self.org_id, order_id, kind: "refund".to_owned(), fact: fact.to_owned() };
        let theirs = json!({
            "gateway_reference": seen.reference, "payment": seen.payment, "outcome": outcome,
            "amount": seen.amount, "currency": seen.currency,
        });
        let evidence = json!({ "ours": { "refund": fact }, "theirs": theirs });
        let case = NewCase::of_payments(reason, "compare the refunds at the gateway with the order", evidence);
        raise(self.app, &id, &case).await
    }
}
