//! What a call to a partner means for the step.

use crate::domain::operation::OperationEvent;
use crate::gateway::http_partner::PartnerOutcome;
use std::time::Duration as StdDuration;
use time::Duration;

/// What was learned of a step.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct StepFinding {
    pub event: OperationEvent,
    /// A short code for the record.
    pub outcome: &'static str,
    /// The partner's own name for the work.
    pub reference: Option<String>,
}

impl StepFinding {
    pub fn of(event: OperationEvent, outcome: &'static str) -> Self {
        Self { event, outcome, reference: None }
    }
}

/// An outcome in the machine's terms. `asked`: of a question, or of a sending that repeats an earlier one.
pub(super) fn finding(outcome: PartnerOutcome, asked: bool) -> StepFinding {
    match outcome {
        PartnerOutcome::Done { reference } => {
            StepFinding { reference, ..StepFinding::of(OperationEvent::Happened, "done") }
        }
        PartnerOutcome::NotDone => StepFinding::of(OperationEvent::DidNotHappen, "not_done"),
        // Work that is owed and refused is for a person, not the end of the matter.
        PartnerOutcome::Refused { reason } => StepFinding::of(OperationEvent::Conflict, reason),
        PartnerOutcome::NotSent { reason, retry_after } => {
            StepFinding::of(OperationEvent::NotSent { after: wait(retry_after) }, reason)
        }
        PartnerOutcome::Unknown { reason, retry_after } => {
            StepFinding::of(OperationEvent::NoAnswer { asked, after: wait(retry_after) }, reason)
        }
    }
}

fn wait(after: Option<StdDuration>) -> Option<Duration> {
    after.and_then(|wait| Duration::try_from(wait).ok())
}
