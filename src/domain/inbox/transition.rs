//! What a fact may change, given how its attempt stands: an allow-list, not a rank. What is not allowed goes to a person.
//!
//! `tests/it/golden/inbox.txt` is its table. The state of an attempt is not that of its order, and a first attempt that failed
//! says nothing about a second one.

use crate::domain::inbox::fact::What;
use crate::domain::org::spelled;
use crate::domain::payment::PaymentState;

/// What is to be done about a fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It ends, or reopens, the attempt's charge: through the one function that does.
    Settle,
    /// It is the order's next attempt.
    NewAttempt,
    /// The books of what was given back, or is disputed, are made up anew.
    Recount,
    /// It is what is known.
    Same,
    /// Something newer is known.
    Stale,
    /// It depends on what is not known yet.
    Wait,
    /// It contradicts what is known: a person decides.
    Conflict,
    /// Nothing of ours can change by it.
    Ignore,
}

spelled!(Verdict {
    Settle = "settle",
    NewAttempt = "new_attempt",
    Recount = "recount",
    Same = "same",
    Stale = "stale",
    Wait = "wait",
    Conflict = "conflict",
    Ignore = "ignore",
});

/// What else decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Circumstances {
    /// Whether amount and currency are the attempt's.
    pub fits: bool,
    /// Whether it was told that this very payment has taken money, and if so, whether that was before this fact.
    pub success: Success,
}

/// What was told of the success of the very payment that a failure is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Success {
    /// Nothing.
    Untold,
    /// It was told, not certainly before.
    Told,
    /// It was told, and before.
    ToldBefore,
}

/// Decides. `attempt` is `None` when the order has none that the fact could be about.
#[must_use]
pub fn decide(what: What, attempt: Option<PaymentState>, about: Circumstances) -> Verdict {
    match what {
        What::Succeeded => of_success(attempt, about.fits),
        What::Failed | What::Canceled => of_failure(attempt, about.success),
        What::Processing => of_progress(attempt),
        What::Refund | What::RefundedTotal | What::Dispute => of_way_back(attempt),
    }
}

fn of_success(attempt: Option<PaymentState>, fits: bool) -> Verdict {
    use PaymentState as P;
    match attempt {
        None => Verdict::NewAttempt,
        Some(P::Processing | P::Unknown | P::Declined) => Verdict::Settle,
        Some(P::Succeeded | P::PartiallyRefunded | P::Refunded | P::Disputed) if fits => Verdict::Same,
        // Two amounts for one payment, or money that could not be taken and was.
        Some(_) => Verdict::Conflict,
    }
}

fn of_failure(attempt: Option<PaymentState>, success: Success) -> Verdict {
    use PaymentState as P;
    match (attempt, success) {
        (None, _) => Verdict::Ignore,
        (Some(P::Declined), _) => Verdict::Same,
        (Some(P::Processing | P::Unknown), Success::Untold) => Verdict::Settle,
        // Money that was taken fails afterwards: real, and nothing that a machine may undo by itself.
        (Some(_), Success::ToldBefore) => Verdict::Conflict,
        // It failed first and was paid then: what we know of that payment is newer, even if a person has to look at it.
        (Some(_), Success::Untold | Success::Told) => Verdict::Stale,
    }
}

fn of_progress(attempt: Option<PaymentState>) -> Verdict {
    match attempt {
        None => Verdict::Ignore,
        Some(PaymentState::Processing | PaymentState::Unknown) => Verdict::Same,
        Some(_) => Verdict::Stale,
    }
}

fn of_way_back(attempt: Option<PaymentState>) -> Verdict {
    use PaymentState as P;
    match attempt {
        // Nothing can be given back, or objected to, before it was taken: that will be told yet.
        None | Some(P::Processing | P::Unknown | P::Declined) => Verdict::Wait,
        Some(P::CaptureFailed) => Verdict::Conflict,
        Some(P::Succeeded | P::PartiallyRefunded | P::Refunded | P::Disputed) => Verdict::Recount,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use PaymentState as P;
    use Verdict as V;

    const MONEY_TAKEN: [P; 4] = [P::Succeeded, P::PartiallyRefunded, P::Refunded, P::Disputed];

    fn decided(what: What, attempt: Option<P>, success: Success) -> V {
        decide(what, attempt, Circumstances { fits: true, success })
    }

    #[test]
    fn money_that_was_taken_settles_or_is_known_or_contradicts() {
        let of = |attempt, fits| decide(What::Succeeded, attempt, Circumstances { fits, success: Success::Untold });
        for fits in [true, false] {
            assert_eq!(of(None, fits), V::NewAttempt);
            for open in [P::Processing, P::Unknown, P::Declined] {
                assert_eq!(of(Some(open), fits), V::Settle, "{open:?}");
            }
            assert_eq!(of(Some(P::CaptureFailed), fits), V::Conflict);
        }
        for paid in MONEY_TAKEN {
            assert_eq!((of(Some(paid), true), of(Some(paid), false)), (V::Same, V::Conflict), "{paid:?}");
        }
    }

    #[test]
    fn a_failure_undoes_no_success() {
        use Success as S;
        for what in [What::Failed, What::Canceled] {
            for success in [S::Untold, S::Told, S::ToldBefore] {
                assert_eq!(decided(what, None, success), V::Ignore);
                assert_eq!(decided(what, Some(P::Declined), success), V::Same);
            }
            for open in [P::Processing, P::Unknown] {
                let verdicts = [S::Untold, S::Told, S::ToldBefore].map(|success| decided(what, Some(open), success));
                assert_eq!(verdicts, [V::Settle, V::Stale, V::Conflict], "{open:?}");
            }
            for paid in MONEY_TAKEN.into_iter().chain([P::CaptureFailed]) {
                let verdicts = [S::Untold, S::Told, S::ToldBefore].map(|success| decided(what, Some(paid), success));
                assert_eq!(verdicts, [V::Stale, V::Stale, V::Conflict], "{paid:?}");
            }
        }
    }

    #[test]
    fn progress_changes_nothing() {
        let of = |attempt| decided(What::Processing, attempt, Success::Untold);
        assert_eq!([None, Some(P::Processing), Some(P::Unknown)].map(of), [V::Ignore, V::Same, V::Same]);
        for newer in MONEY_TAKEN.into_iter().chain([P::Declined, P::CaptureFailed]) {
            assert_eq!(of(Some(newer)), V::Stale, "{newer:?}");
        }
    }

    #[test]
    fn nothing_is_given_back_before_it_was_taken() {
        for what in [What::Refund, What::RefundedTotal, What::Dispute] {
            let of = |attempt| decided(what, attempt, Success::Untold);
            for early in [None, Some(P::Processing), Some(P::Unknown), Some(P::Declined)] {
                assert_eq!(of(early), V::Wait, "{early:?}");
            }
            assert_eq!(of(Some(P::CaptureFailed)), V::Conflict);
            assert_eq!(MONEY_TAKEN.map(|paid| of(Some(paid))), [V::Recount; 4]);
        }
    }
}
