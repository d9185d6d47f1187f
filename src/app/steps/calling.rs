//! The calls to a partner, and what may be concluded from them.

use crate::app::App;
use crate::app::error::AppError;
use crate::app::steps::finding::{StepFinding, finding};
use crate::app::steps::partners::target_sha256;
use crate::app::steps::run::{Taken, Way};
use crate::db::deadline::Deadline;
use crate::db::operations::OperationId;
use crate::db::step_policies::StepPolicy;
use crate::domain::case::Decision;
use crate::domain::operation::OperationEvent;
use crate::domain::step::StepWay;
use crate::gateway::http_partner::{HttpPartner, PartnerOutcome, PartnerRequest};

/// A step under our lease, and whom to call.
pub(super) struct Calling<'a> {
    pub app: &'a App,
    pub id: &'a OperationId,
    pub partner: &'a HttpPartner,
    pub policy: &'a StepPolicy,
    pub taken: &'a Taken,
}

/// Does what is to be done.
///
/// # Errors
///
/// [`AppError`] when a second sending could not be noted; nothing was sent then.
pub(super) async fn call(calling: &Calling<'_>) -> Result<StepFinding, AppError> {
    Ok(match calling.taken.way {
        Way::Exhausted => StepFinding::of(OperationEvent::Conflict, "exhausted"),
        Way::OtherPartner => StepFinding::of(OperationEvent::Conflict, "other_partner"),
        Way::Unwanted => StepFinding::of(OperationEvent::Refused, "cancelled"),
        Way::By(StepWay::Person) => StepFinding::of(OperationEvent::Conflict, "cannot_be_asked"),
        Way::By(StepWay::Ask) => calling.ask().await?,
        Way::By(StepWay::Send) => calling.send(calling.taken.operation.first_sent_at.is_some()).await,
    })
}

impl Calling<'_> {
    async fn send(&self, sent_before: bool) -> StepFinding {
        // Looked at as late as can be: a process may have been stopped since the sending was noted.
        if !self.taken.lease.outlasts_a_call(&self.app.payments) {
            let event = if sent_before {
                OperationEvent::NoAnswer { asked: false, after: None }
            } else {
                OperationEvent::NotSent { after: None }
            };
            return StepFinding::of(event, "too_late_to_send");
        }
        let order = &self.taken.order;
        let request = PartnerRequest {
            operation_key: self.taken.operation.operation_key.clone(),
            kind: self.policy.kind.as_str(),
            order_id: order.order_id,
            amount: order.amount,
            currency: order.request.currency.clone(),
            metadata: order.request.metadata.clone().unwrap_or_default(),
        };
        let outcome = self.partner.perform(&request, self.taken.now.unix_timestamp()).await;
        finding(outcome, sent_before)
    }

    /// Asks. That it was not done is believed only when nothing of ours can be on its way any more.
    async fn ask(&self) -> Result<StepFinding, AppError> {
        let operation = &self.taken.operation;
        let outcome = self.partner.ask(&operation.operation_key, self.taken.now.unix_timestamp()).await;
        if outcome != PartnerOutcome::NotDone {
            return Ok(finding(outcome, true));
        }
        let settled_at = operation.last_sent_at.map(|sent| sent + self.app.payments.lease);
        if let Some(settled_at) = settled_at.filter(|at| *at > self.taken.now) {
            let after = Some(settled_at - self.taken.now);
            let event = OperationEvent::NoAnswer { asked: false, after };
            return Ok(StepFinding { answered: Some(true), ..StepFinding::of(event, "too_soon_to_tell") });
        }
        if self.taken.unwanted {
            return Ok(StepFinding::of(OperationEvent::Refused, "cancelled"));
        }
        let told_to_go_on = operation.last_outcome.as_deref() == Some(Decision::Continue.as_str());
        if !told_to_go_on || operation.look_only {
            // A person who only wanted to know is told; a machine's question may be followed by a sending where keys are
            // honoured.
            let event = if operation.look_only { OperationEvent::Conflict } else { OperationEvent::DidNotHappen };
            return Ok(StepFinding { answered: Some(true), ..StepFinding::of(event, "not_done") });
        }
        // A person said "continue", and the partner says, now, that it was not done.
        if self.note_sending().await? {
            return Ok(self.send(true).await);
        }
        Ok(StepFinding::of(OperationEvent::NoAnswer { asked: false, after: None }, "too_late_to_send"))
    }

    async fn note_sending(&self) -> Result<bool, AppError> {
        let tx = self.app.db.begin(Deadline::of_request()).await?;
        let noted = tx.mark_sent(self.id, self.taken.lease.token, Some(&target_sha256(self.policy))).await?;
        failpoint!("steps/note/before_commit");
        tx.commit().await?;
        failpoint!("steps/note/committed");
        Ok(noted)
    }
}
