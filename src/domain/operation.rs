//! The one machine that every effect goes through: charge, refund, and each step.
//!
//! `tests/it/golden/operation.txt` is its table; a test compares it with this code and with the CHECK constraint.

use crate::domain::backoff;
use crate::domain::org::spelled;
use time::{Duration, OffsetDateTime};

/// Where an effect stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperationState {
    /// What it depends on is not done yet.
    Waiting,
    /// It may be taken.
    Ready,
    /// A process works on it, until its lease ends.
    Leased,
    /// It happened. Never left.
    Done,
    /// It certainly did not happen, and is tried again at a time.
    RetryAt,
    /// It may have happened: the other side is asked at a time, and nothing is sent.
    Unknown,
    /// It was refused for good.
    Failed,
    /// A person decides.
    NeedsReconciliation,
}

spelled!(OperationState {
    Waiting = "waiting",
    Ready = "ready",
    Leased = "leased",
    Done = "done",
    RetryAt = "retry_at",
    Unknown = "unknown",
    Failed = "failed",
    NeedsReconciliation = "needs_reconciliation",
});

/// What was learned about an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperationEvent {
    /// What it depends on is done.
    DependenciesDone,
    /// A process takes it.
    Taken,
    /// It happened.
    Happened,
    /// It was refused for good.
    Refused,
    /// It was certainly not sent, or the other side said "later"; `after` is what it asked for.
    NotSent {
        /// From `Retry-After`.
        after: Option<Duration>,
    },
    /// It was sent, or the other side was asked, and nobody knows.
    NoAnswer {
        /// Whether this was a question rather than a sending.
        asked: bool,
        /// From `Retry-After`.
        after: Option<Duration>,
    },
    /// The other side has it and has not decided.
    InProgressThere,
    /// The other side was asked, and says that it did not happen and will not by itself.
    DidNotHappen,
    /// What is known contradicts itself, or cannot be asked.
    Conflict,
    /// A person wants the other side asked again.
    AskAgain,
}

/// The answers of a policy that the machine needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OperationPolicy {
    /// Whether the other side returns the earlier result when it is called twice with one key.
    pub honours_keys: bool,
    /// How often an effect is taken up at most, whatever came of it. A process that dies over it each time counts.
    pub max_attempts: u32,
    /// First wait of the backoff.
    pub base: Duration,
    /// Longest wait of the backoff.
    pub cap: Duration,
    /// When the other side is asked: after a sending, then after each question that told nothing. After the last one a
    /// person decides.
    pub ask_after: [Duration; 4],
}

/// When the other side is asked unless the operator says otherwise: when the lease has ended, then later and later.
pub const ASK_AFTER: [Duration; 4] =
    [Duration::seconds(20), Duration::minutes(1), Duration::minutes(5), Duration::hours(1)];

/// The policy of charges and refunds: the gateway honours keys, so what did not happen may be sent again under the same one.
pub const CHARGE_POLICY: OperationPolicy = OperationPolicy {
    honours_keys: true,
    max_attempts: 100,
    base: Duration::seconds(1),
    cap: Duration::minutes(5),
    ask_after: ASK_AFTER,
};

/// What is known of an effect when an event comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OperationFacts {
    /// Where it stands.
    pub state: OperationState,
    /// Attempts so far.
    pub attempts: u32,
    /// How often the other side was asked.
    pub questions: u32,
    /// When its time is up.
    pub deadline_at: OffsetDateTime,
}

/// Where an effect goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OperationStep {
    /// Where it stands now.
    pub state: OperationState,
    /// When somebody looks at it again.
    pub next_attempt_at: Option<OffsetDateTime>,
}

/// An event that may not come in this state: a programming error or a lost race, never applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an operation in state {} cannot take this event", .0.as_str())]
pub struct Illegal(pub OperationState);

/// How often the other side was asked, this time included.
fn questions(facts: &OperationFacts, asked: bool) -> usize {
    facts.questions as usize + usize::from(asked)
}

/// Whether an effect that was just taken up has used up its attempts or its time, so that a person has to look at it.
#[must_use]
pub fn exhausted(facts: &OperationFacts, now: OffsetDateTime, policy: &OperationPolicy) -> bool {
    facts.attempts > policy.max_attempts || now > facts.deadline_at
}

/// Decides where an effect goes. `random` is in `0.0 .. 1.0`, for full jitter.
///
/// # Errors
///
/// [`Illegal`].
pub fn next(
    facts: &OperationFacts,
    event: OperationEvent,
    now: OffsetDateTime,
    policy: &OperationPolicy,
    random: f64,
) -> Result<OperationStep, Illegal> {
    use OperationEvent as E;
    use OperationState as S;
    let to = |state| Ok(OperationStep { state, next_attempt_at: None });
    let at = |state, wait: Duration| Ok(OperationStep { state, next_attempt_at: Some(now + wait) });
    match (facts.state, event) {
        (S::Done, E::Refused) if planted!("done_is_left", true, false) => to(S::Failed),
        (S::Done, _) => Err(Illegal(facts.state)),
        // Evidence counts whatever we thought before: a late success of what looked failed is real money.
        (_, E::Happened) => to(S::Done),
        (S::Waiting, E::DependenciesDone) => at(S::Ready, Duration::ZERO),
        (S::Ready | S::RetryAt | S::Unknown | S::Leased, E::Taken) => to(S::Leased),
        (S::Ready | S::Leased | S::RetryAt | S::Unknown | S::NeedsReconciliation, E::Refused) => to(S::Failed),
        (S::Leased, E::NotSent { after }) => {
            let jitter = backoff::full_jitter(policy.base, policy.cap, facts.attempts, random);
            let wait = after.unwrap_or_default().max(jitter);
            let exhausted = facts.attempts >= policy.max_attempts || now + wait > facts.deadline_at;
            if exhausted { to(S::NeedsReconciliation) } else { at(S::RetryAt, wait) }
        }
        (S::Leased, E::NoAnswer { asked, after }) => match policy.ask_after.get(questions(facts, asked)) {
            Some(wait) => at(S::Unknown, after.unwrap_or_default().max(*wait)),
            None => to(S::NeedsReconciliation),
        },
        // Nothing is wrong, it takes its time: the last interval repeats until the deadline.
        (S::Leased, E::InProgressThere) => {
            let [.., last] = policy.ask_after;
            let wait = policy.ask_after.get(facts.attempts.saturating_sub(1) as usize).copied().unwrap_or(last);
            if now + wait > facts.deadline_at { to(S::NeedsReconciliation) } else { at(S::Unknown, wait) }
        }
        (S::Leased, E::DidNotHappen) if policy.honours_keys => at(S::Ready, Duration::ZERO),
        (S::Leased, E::DidNotHappen) | (S::Leased | S::Unknown | S::RetryAt | S::Ready, E::Conflict) => {
            to(S::NeedsReconciliation)
        }
        (S::NeedsReconciliation, E::AskAgain) => at(S::Unknown, Duration::ZERO),
        _ => Err(Illegal(facts.state)),
    }
}

#[cfg(test)]
#[path = "operation_tests.rs"]
mod tests;
