//! The questions about steps that go to people, each with a way that leads on.

use crate::app::steps::finding::StepFinding;
use crate::db::operations::OperationRow;
use crate::db::step_policies::StepPolicy;
use crate::domain::case::{NewCase, SECOND_SUCCESS};
use crate::domain::operation::{OperationEvent, OperationState};
use crate::domain::reply::timestamp;
use crate::gateway::outcome::reason;
use serde_json::{Value, json};

/// The case that a finding opens.
pub(super) fn case(found: &StepFinding, operation: &OperationRow, policy: &StepPolicy) -> NewCase {
    let can_ask = policy.status_url.is_some();
    let (reason, suggestion) = match (found.outcome, found.event) {
        ("refused", _) => ("step_refused", "clear it with the partner, then continue"),
        ("not_done", _) => ("not_found", "continue: the partner says that it was not done"),
        ("cannot_be_asked", _) => ("cannot_be_asked", "ask the partner, then mark_done or start_new"),
        ("other_partner", _) => ("other_partner", "ask the partner it was sent to, then mark_done or start_new"),
        (_, OperationEvent::NotSent { .. }) => ("partner_unreachable", "continue: nothing was sent yet"),
        ("exhausted", _) if operation.first_sent_at.is_none() => ("exhausted", "continue: nothing was sent yet"),
        (outcome, _) => {
            let name = if outcome == "exhausted" { "exhausted" } else { "outcome_unknown" };
            (
                name,
                if can_ask {
                    "ask_again: it may have been done"
                } else {
                    "ask the partner, then mark_done or start_new"
                },
            )
        }
    };
    about(reason, suggestion, found, operation, policy)
}

/// The case about a finding that comes too late to count and contradicts what was recorded, if it does.
pub(super) fn contradiction(found: &StepFinding, operation: &OperationRow, policy: &StepPolicy) -> Option<NewCase> {
    let other = found.reference.is_some() && found.reference != operation.external_reference;
    match (operation.facts.state, found.event) {
        (OperationState::Done, OperationEvent::Happened) if other => {
            Some(about(SECOND_SUCCESS, "undo one of the two with the partner, then dismiss", found, operation, policy))
        }
        (OperationState::Failed, OperationEvent::NoAnswer { .. }) if found.outcome != reason::NOT_CONNECTED => {
            Some(about("late_finding", "ask the partner whether it was done, then dismiss", found, operation, policy))
        }
        _ => None,
    }
}

fn about(
    reason: &'static str,
    suggestion: &'static str,
    found: &StepFinding,
    operation: &OperationRow,
    policy: &StepPolicy,
) -> NewCase {
    let evidence = json!({
        "ours": {
            "step": policy.kind.as_str(), "operation_key": operation.operation_key,
            "first_sent_at": operation.first_sent_at.map(timestamp),
            "last_sent_at": operation.last_sent_at.map(timestamp),
            "taken_up": operation.facts.attempts, "asked": operation.facts.questions,
            "honours_keys": policy.honours_keys, "can_be_asked": policy.status_url.is_some(),
            "reference": operation.external_reference,
        },
        "theirs": theirs(found),
    });
    let (owner, corrector) = (policy.owner.clone(), policy.corrector.clone());
    NewCase { reason, suggestion, evidence, owner, corrector }
}

fn theirs(found: &StepFinding) -> Value {
    json!({ "outcome": found.outcome, "reference": found.reference })
}
