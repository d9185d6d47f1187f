//! What a call to a partner means for the step.

use crate::domain::operation::OperationEvent;
use crate::gateway::http_partner::PartnerOutcome;
use crate::gateway::outcome::reason;
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
    /// Whether the partner, if it was called, answered at all.
    pub answered: Option<bool>,
}

impl StepFinding {
    pub fn of(event: OperationEvent, outcome: &'static str) -> Self {
        Self { event, outcome, reference: None, answered: None }
    }
}

/// What says nothing about a partner's health: it was there and said something.
const SILENCES: [&str; 4] = [reason::NOT_CONNECTED, reason::TIMEOUT, reason::CONNECTION_LOST, reason::SERVER_ERROR];

/// An outcome in the machine's terms. `repeated`: of a question, or of a sending after an earlier one.
pub(super) fn finding(outcome: PartnerOutcome, repeated: bool) -> StepFinding {
    let mut found = match outcome {
        PartnerOutcome::Done { reference } => {
            StepFinding { reference, ..StepFinding::of(OperationEvent::Happened, "done") }
        }
        PartnerOutcome::NotDone => StepFinding::of(OperationEvent::DidNotHappen, "not_done"),
        // Work that is owed and refused is for a person, not the end of the matter. Of a repetition the refusal may be
        // somebody's on the way; the first sending may have been done.
        PartnerOutcome::Refused { .. } if repeated => {
            StepFinding::of(OperationEvent::Conflict, reason::REFUSED_ON_REPEAT)
        }
        PartnerOutcome::Refused { reason } => StepFinding::of(OperationEvent::Conflict, reason),
        PartnerOutcome::NotSent { reason, retry_after } if repeated => {
            StepFinding::of(OperationEvent::NoAnswer { asked: true, after: wait(retry_after) }, reason)
        }
        PartnerOutcome::NotSent { reason, retry_after } => {
            StepFinding::of(OperationEvent::NotSent { after: wait(retry_after) }, reason)
        }
        PartnerOutcome::Unknown { reason, retry_after } => {
            StepFinding::of(OperationEvent::NoAnswer { asked: repeated, after: wait(retry_after) }, reason)
        }
    };
    found.answered = Some(!SILENCES.contains(&found.outcome));
    found
}

fn wait(after: Option<StdDuration>) -> Option<Duration> {
    after.and_then(|wait| Duration::try_from(wait).ok())
}
