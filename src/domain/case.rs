//! What a person has to decide, and what they may decide.

use crate::domain::ids::OrderId;
use crate::domain::operation::{OperationEvent, OperationState};
use crate::domain::org::spelled;
use serde_json::Value;
use time::OffsetDateTime;
use uuid::Uuid;

/// A person's decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Ask the other side once more.
    AskAgain,
    /// Go on as far as the evidence allows: ask, and send again only where that is safe.
    Continue,
    /// It did happen; here is the proof.
    MarkDone,
    /// It did not happen and is not wanted any more.
    MarkNotDone,
    /// What was tried is looked up and cancelled, and never sent again; the order can then be paid anew.
    StartNew,
    /// Nothing is to be done.
    Dismiss,
}

spelled!(Decision {
    AskAgain = "ask_again",
    Continue = "continue",
    MarkDone = "mark_done",
    MarkNotDone = "mark_not_done",
    StartNew = "start_new",
    Dismiss = "dismiss",
});

impl Decision {
    /// What the decision does to the effect; `None` leaves it as it is.
    #[must_use]
    pub fn event(self) -> Option<OperationEvent> {
        match self {
            Self::AskAgain | Self::Continue | Self::StartNew => Some(OperationEvent::AskAgain),
            Self::MarkDone => Some(OperationEvent::Happened),
            Self::MarkNotDone => Some(OperationEvent::Refused),
            Self::Dismiss => None,
        }
    }
}

/// Where a case stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaseState {
    /// Waits for a person.
    Open,
    /// Decided.
    Resolved,
}

spelled!(CaseState { Open = "open", Resolved = "resolved" });

/// One case, as it is kept and shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// Its id, a UUID v7.
    pub case_id: Uuid,
    /// The order it is about.
    pub order_id: OrderId,
    /// The kind of effect.
    pub kind: String,
    /// Which one of its kind.
    pub fact: String,
    /// Why a person is needed; a code.
    pub reason: String,
    /// Where it stands.
    pub state: CaseState,
    /// Who decides.
    pub owner: String,
    /// Who carries out a correction.
    pub corrector: String,
    /// What we would do.
    pub suggestion: String,
    /// What either side says.
    pub evidence: Value,
    /// When it was opened.
    pub opened_at: OffsetDateTime,
    /// By when it should be decided.
    pub deadline: OffsetDateTime,
    /// What was decided.
    pub decision: Option<String>,
    /// By whom: the id of the API key, or `evidence`.
    pub decided_by: Option<String>,
    /// Why, in that person's words.
    pub reason_given: Option<String>,
    /// What they saw.
    pub proof: Option<String>,
    /// When.
    pub resolved_at: Option<OffsetDateTime>,
}

/// A case to be opened for an effect.
#[derive(Debug, Clone, PartialEq)]
pub struct NewCase {
    /// Why a person is needed; a code.
    pub reason: &'static str,
    /// What we would do.
    pub suggestion: &'static str,
    /// What either side says.
    pub evidence: Value,
    /// Who decides.
    pub owner: String,
    /// Who carries out a correction.
    pub corrector: String,
}

impl NewCase {
    /// A case about money.
    #[must_use]
    pub fn of_payments(reason: &'static str, suggestion: &'static str, evidence: Value) -> Self {
        Self { reason, suggestion, evidence, owner: OWNER.to_owned(), corrector: OWNER.to_owned() }
    }
}

/// Whether a decision fits a case whose effect stands like this.
///
/// Of what is settled only the consequences can be decided, of what is being worked on nothing but that it happened: a
/// person's word that it did not could cross with a sending.
#[must_use]
pub fn possible(decision: Decision, case: &Case, state: OperationState) -> bool {
    use Decision as D;
    match state {
        OperationState::Done => decision == D::Dismiss || (decision == D::Continue && case.reason == SECOND_SUCCESS),
        OperationState::Failed => decision == D::Dismiss,
        // A refund has no other way to be given than under its own key.
        OperationState::NeedsReconciliation => {
            decision != D::Dismiss && (decision != D::StartNew || case.kind != "refund")
        }
        _ => decision == D::MarkDone,
    }
}

/// The reason of a case about money that was taken twice.
pub const SECOND_SUCCESS: &str = "second_success";

/// Who decides about money, and carries a correction out.
const OWNER: &str = "payments";
/// Hours by which a case should be decided.
pub const DECIDE_WITHIN_HOURS: i32 = 24;

#[cfg(test)]
mod tests {
    use super::*;
    use OperationState as S;

    fn case(kind: &str, reason: &str) -> Case {
        Case {
            case_id: Uuid::from_u128(1),
            order_id: OrderId(Uuid::from_u128(2)),
            kind: kind.to_owned(),
            fact: "1".to_owned(),
            reason: reason.to_owned(),
            state: CaseState::Open,
            owner: String::new(),
            corrector: String::new(),
            suggestion: String::new(),
            evidence: Value::Null,
            opened_at: OffsetDateTime::UNIX_EPOCH,
            deadline: OffsetDateTime::UNIX_EPOCH,
            decision: None,
            decided_by: None,
            reason_given: None,
            proof: None,
            resolved_at: None,
        }
    }

    fn possible_in(kind: &str, reason: &str, state: S) -> Vec<&'static str> {
        let fits = |decision: &Decision| possible(*decision, &case(kind, reason), state);
        Decision::ALL.iter().filter_map(|text| Decision::parse(text)).filter(fits).map(Decision::as_str).collect()
    }

    #[test]
    fn what_may_be_decided_depends_on_where_the_effect_stands() {
        let person = S::NeedsReconciliation;
        for (kind, reason, state, expected) in [
            ("charge", "conflict", person, &["ask_again", "continue", "mark_done", "mark_not_done", "start_new"][..]),
            ("refund", "conflict", person, &["ask_again", "continue", "mark_done", "mark_not_done"]),
            ("charge", "conflict", S::Done, &["dismiss"]),
            ("charge", SECOND_SUCCESS, S::Done, &["continue", "dismiss"]),
            ("charge", SECOND_SUCCESS, S::Failed, &["dismiss"]),
            ("refund", "conflict", S::Failed, &["dismiss"]),
        ] {
            assert_eq!(possible_in(kind, reason, state), expected, "{kind} {reason} {state:?}");
        }
        for state in [S::Waiting, S::Ready, S::Leased, S::RetryAt, S::Unknown] {
            assert_eq!(possible_in("charge", SECOND_SUCCESS, state), ["mark_done"], "{state:?}");
        }
    }

    #[test]
    fn a_decision_says_whether_it_happened_or_asks() {
        use OperationEvent as E;
        for (decision, event) in [
            (Decision::AskAgain, Some(E::AskAgain)),
            (Decision::Continue, Some(E::AskAgain)),
            (Decision::StartNew, Some(E::AskAgain)),
            (Decision::MarkDone, Some(E::Happened)),
            (Decision::MarkNotDone, Some(E::Refused)),
            (Decision::Dismiss, None),
        ] {
            assert_eq!(decision.event(), event, "{decision:?}");
        }
    }

    #[test]
    fn a_case_about_money_belongs_to_payments() {
        let case = NewCase::of_payments("conflict", "look", Value::from(1));
        assert_eq!((case.owner.as_str(), case.corrector.as_str()), ("payments", "payments"));
        assert_eq!((case.reason, case.suggestion, case.evidence), ("conflict", "look", Value::from(1)));
    }
}
