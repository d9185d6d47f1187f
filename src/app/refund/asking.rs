//! The calls to a gateway about a refund, and what they mean.

use crate::app::App;
use crate::app::charge::send::TOO_LATE;
use crate::app::refund::{Found, Taken};
use crate::db::operations::OperationId;
use crate::domain::operation::OperationEvent;
use crate::domain::question::Question;
use crate::gateway::{FindRefundRequest, Gateway, Lookup, Outcome, RefundRequest};
use std::time::Duration as StdDuration;
use time::Duration;

/// A refund under our lease, and whom to ask.
pub(super) struct Asking<'a> {
    pub app: &'a App,
    pub gateway: &'a dyn Gateway,
    pub id: &'a OperationId,
    pub taken: &'a Taken,
    pub reference: &'a str,
}

impl Asking<'_> {
    /// Sends it, or asks about it.
    pub async fn ask(&self, way: Question) -> Found {
        if way != Question::SendAgain {
            return self.look_up().await;
        }
        let sent_before = self.taken.operation.first_sent_at.is_some();
        // Looked at as late as can be: a process may have been stopped since the sending was noted.
        if !self.taken.lease.outlasts_a_call(&self.app.payments) {
            let event = if sent_before {
                OperationEvent::NoAnswer { asked: false, after: None }
            } else {
                OperationEvent::NotSent { after: None }
            };
            return Found::of(event, TOO_LATE.outcome);
        }
        let request = RefundRequest {
            key: planted!(
                "refund_without_key",
                uuid::Uuid::now_v7().to_string(),
                self.taken.operation.operation_key.clone()
            ),
            org_id: self.id.org_id,
            order_id: self.id.order_id,
            reference: self.reference.to_owned(),
            amount: self.taken.amount,
            currency: self.taken.payment.currency.clone(),
            sent_before,
        };
        let found = heard(self.gateway.refund(request).await, sent_before);
        // The key cannot tell more (it is in use, or a server error is stored under it); the refund itself may.
        let told_nothing = matches!(found.event, OperationEvent::NoAnswer { .. });
        if told_nothing && sent_before && self.taken.lease.outlasts_a_call(&self.app.payments) {
            let looked = self.look_up().await;
            let knows_more = matches!(looked.event, OperationEvent::Happened | OperationEvent::InProgressThere);
            return if knows_more { looked } else { found };
        }
        found
    }

    async fn look_up(&self) -> Found {
        let operation = &self.taken.operation;
        let request = FindRefundRequest {
            key: operation.operation_key.clone(),
            reference: self.reference.to_owned(),
            amount: self.taken.amount,
            currency: self.taken.payment.currency.clone(),
            // A sending is noted before it is made, and made while the lease lasts.
            last_sent_at: operation.last_sent_at.unwrap_or(operation.created_at) + self.app.payments.lease,
            now: self.taken.now,
        };
        match self.gateway.find_refund(request).await {
            Lookup::Found(outcome) => heard(outcome, true),
            Lookup::NotFound => Found::of(OperationEvent::Conflict, "not_found"),
            Lookup::Unknown { reason, retry_after } => {
                Found::of(OperationEvent::NoAnswer { asked: true, after: wait(retry_after) }, reason)
            }
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
            Found { reference: Some(reference), ..Found::of(OperationEvent::InProgressThere, status) }
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
