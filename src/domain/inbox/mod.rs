//! What providers tell us: who really said it, what it means, and what it may change.
//!
//! A delivery is an envelope, a fact is what happened. Facts are known by their key, never by the notification's id alone, and
//! amounts decide, never status words.

pub mod dispute;
pub mod fact;
pub mod refunded;
pub mod signature;
pub mod stripe;
pub mod transition;
pub mod view;

use crate::domain::org::spelled;

/// What became of a delivery, as it is answered and kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Classification {
    /// It tells of a fact that nobody told of before.
    New,
    /// The fact is known and all that follows from it is done.
    AlreadyDone,
    /// The fact is known and not all that follows from it is done: that goes on.
    Resumable,
    /// The fact is known and waits for a person.
    NeedsReconciliation,
    /// There is no order for it yet.
    Parked,
    /// It means nothing to us.
    Ignored,
}

spelled!(Classification {
    New = "new",
    AlreadyDone = "already_done",
    Resumable = "resumable",
    NeedsReconciliation = "needs_reconciliation",
    Parked = "parked",
    Ignored = "ignored",
});

/// What became of a fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventOutcome {
    /// It is not applied yet.
    Pending,
    /// It changed something.
    Applied,
    /// It told what was known.
    SameFact,
    /// Something newer is known.
    Stale,
    /// It waits for its order, or for what it depends on.
    Parked,
    /// It is not allowed from where things stand: a person decides.
    Conflict,
    /// It is nobody's here.
    Ignored,
}

spelled!(EventOutcome {
    Pending = "pending",
    Applied = "applied",
    SameFact = "same_fact",
    Stale = "stale",
    Parked = "parked",
    Conflict = "conflict",
    Ignored = "ignored",
});

/// What is left of an order's work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// Nothing: all of it is at its end.
    Nothing,
    /// Something that goes on by itself.
    Work,
    /// Something that a person has to decide.
    Person,
}

impl Left {
    /// Of so many effects that go on, and so many that wait for a person.
    #[must_use]
    pub fn of(unfinished: i64, for_people: i64) -> Self {
        match (unfinished, for_people) {
            (0, 0) => Self::Nothing,
            (_, 0) => Self::Work,
            _ => Self::Person,
        }
    }
}

/// The class of a delivery whose fact is known already.
#[must_use]
pub fn classify_again(outcome: EventOutcome, left: Left) -> Classification {
    match outcome {
        EventOutcome::Pending => Classification::Resumable,
        EventOutcome::Applied | EventOutcome::SameFact if left == Left::Work => Classification::Resumable,
        EventOutcome::Applied | EventOutcome::SameFact if left == Left::Person => Classification::NeedsReconciliation,
        EventOutcome::Applied | EventOutcome::SameFact | EventOutcome::Stale => Classification::AlreadyDone,
        EventOutcome::Parked => Classification::Parked,
        EventOutcome::Conflict => Classification::NeedsReconciliation,
        EventOutcome::Ignored => Classification::Ignored,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Classification as C;
    use EventOutcome as E;

    #[test]
    fn what_waits_for_a_person_outweighs_what_goes_on_by_itself() {
        for (unfinished, for_people, expected) in
            [(0, 0, Left::Nothing), (1, 0, Left::Work), (7, 0, Left::Work), (0, 1, Left::Person), (7, 1, Left::Person)]
        {
            assert_eq!(Left::of(unfinished, for_people), expected, "{unfinished} {for_people}");
        }
    }

    #[test]
    fn a_known_fact_is_done_only_with_all_that_follows_from_it() {
        for (outcome, nothing_left, work_left, person_left) in [
            (E::Pending, C::Resumable, C::Resumable, C::Resumable),
            (E::Applied, C::AlreadyDone, C::Resumable, C::NeedsReconciliation),
            (E::SameFact, C::AlreadyDone, C::Resumable, C::NeedsReconciliation),
            (E::Stale, C::AlreadyDone, C::AlreadyDone, C::AlreadyDone),
            (E::Parked, C::Parked, C::Parked, C::Parked),
            (E::Conflict, C::NeedsReconciliation, C::NeedsReconciliation, C::NeedsReconciliation),
            (E::Ignored, C::Ignored, C::Ignored, C::Ignored),
        ] {
            let classes = [Left::Nothing, Left::Work, Left::Person].map(|left| classify_again(outcome, left));
            assert_eq!(classes, [nothing_left, work_left, person_left], "{outcome:?}");
        }
    }
}
