//! Where each event leads from each state, when somebody looks again, and when a person has to.

use super::*;
use OperationEvent as E;
use OperationState as S;

const NOW: OffsetDateTime = OffsetDateTime::UNIX_EPOCH;

fn states() -> impl Iterator<Item = S> {
    S::ALL.iter().filter_map(|state| S::parse(state))
}

fn facts(state: S) -> OperationFacts {
    OperationFacts { state, attempts: 1, questions: 0, deadline_at: NOW + Duration::hours(24) }
}

fn not_sent(seconds: Option<i64>) -> E {
    E::NotSent { after: seconds.map(Duration::seconds) }
}

fn no_answer(asked: bool, seconds: Option<i64>) -> E {
    E::NoAnswer { asked, after: seconds.map(Duration::seconds) }
}

/// Where it goes, and after how many seconds somebody looks again; the wait is the longest that chance allows.
fn to(facts: &OperationFacts, event: E) -> Result<(S, Option<i64>), Illegal> {
    let seconds = |at: OffsetDateTime| (at - NOW).whole_seconds();
    next(facts, event, NOW, &CHARGE_POLICY, 1.0).map(|step| (step.state, step.next_attempt_at.map(seconds)))
}

#[test]
fn each_event_may_come_in_some_states_and_leads_to_one() {
    let before_the_end = [S::Waiting, S::Ready, S::Leased, S::RetryAt, S::Unknown, S::Failed, S::NeedsReconciliation];
    for (event, may_come, expected) in [
        (E::DependenciesDone, &[S::Waiting][..], (S::Ready, Some(0))),
        (E::Taken, &[S::Ready, S::Leased, S::RetryAt, S::Unknown], (S::Leased, None)),
        (E::Happened, &before_the_end, (S::Done, None)),
        (E::Refused, &[S::Ready, S::Leased, S::RetryAt, S::Unknown, S::NeedsReconciliation], (S::Failed, None)),
        (not_sent(None), &[S::Leased], (S::RetryAt, Some(1))),
        (no_answer(false, None), &[S::Leased], (S::Unknown, Some(20))),
        (no_answer(true, None), &[S::Leased], (S::Unknown, Some(60))),
        (E::InProgressThere, &[S::Leased], (S::Unknown, Some(20))),
        (E::DidNotHappen, &[S::Leased], (S::Ready, Some(0))),
        (E::Conflict, &[S::Ready, S::Leased, S::RetryAt, S::Unknown], (S::NeedsReconciliation, None)),
        (E::AskAgain, &[S::NeedsReconciliation], (S::Unknown, Some(0))),
    ] {
        for state in states() {
            let expected = if may_come.contains(&state) { Ok(expected) } else { Err(Illegal(state)) };
            assert_eq!(to(&facts(state), event), expected, "{state:?} {event:?}");
        }
    }
}

#[test]
fn what_is_done_is_left_by_no_event() {
    let certain = [E::DependenciesDone, E::Taken, E::Happened, E::Refused, E::DidNotHappen, E::Conflict, E::AskAgain];
    let others = [E::InProgressThere, not_sent(Some(1)), no_answer(false, None), no_answer(true, Some(1))];
    for event in certain.into_iter().chain(others) {
        let illegal = to(&facts(S::Done), event).unwrap_err();
        assert_eq!(illegal.to_string(), "an operation in state done cannot take this event", "{event:?}");
    }
}

#[test]
fn what_was_not_sent_waits_longer_each_time_and_as_long_as_it_was_told_to() {
    for (attempts, asked_for, seconds) in
        [(1, None, 1), (2, None, 2), (4, Some(7), 8), (4, Some(9), 9), (20, None, 300), (20, Some(301), 301)]
    {
        let facts = OperationFacts { attempts, ..facts(S::Leased) };
        assert_eq!(to(&facts, not_sent(asked_for)), Ok((S::RetryAt, Some(seconds))), "{attempts} {asked_for:?}");
    }
    let lucky = next(&facts(S::Leased), not_sent(None), NOW, &CHARGE_POLICY, 0.0).unwrap();
    assert_eq!(lucky, OperationStep { state: S::RetryAt, next_attempt_at: Some(NOW) });
}

#[test]
fn what_was_not_sent_goes_to_a_person_after_the_last_attempt_or_past_its_time() {
    let person = Ok((S::NeedsReconciliation, None));
    for (attempts, wait, seconds_left, expected) in [
        (99, 300, 86_400, Ok((S::RetryAt, Some(300)))),
        (100, 300, 86_400, person),
        (101, 300, 86_400, person),
        (1, 60, 61, Ok((S::RetryAt, Some(60)))),
        (1, 60, 60, Ok((S::RetryAt, Some(60)))),
        (1, 60, 59, person),
        (1, 60, -61, person),
        (100, 60, 59, person),
    ] {
        let deadline_at = NOW + Duration::seconds(seconds_left);
        let facts = OperationFacts { attempts, deadline_at, ..facts(S::Leased) };
        assert_eq!(to(&facts, not_sent(Some(wait))), expected, "{attempts} {wait} {seconds_left}");
    }
}

#[test]
fn the_other_side_is_asked_later_and_later_and_then_a_person() {
    for (questions, asked, asked_for, expected) in [
        (0, false, None, Some(20)),
        (0, true, None, Some(60)),
        (1, true, None, Some(300)),
        (2, true, None, Some(3_600)),
        (3, false, None, Some(3_600)),
        (3, true, None, None),
        (4, false, None, None),
        (0, false, Some(19), Some(20)),
        (0, false, Some(21), Some(21)),
        (2, true, Some(7_200), Some(7_200)),
        (3, true, Some(7_200), None),
    ] {
        let facts = OperationFacts { questions, ..facts(S::Leased) };
        let expected = expected.map_or((S::NeedsReconciliation, None), |seconds| (S::Unknown, Some(seconds)));
        assert_eq!(to(&facts, no_answer(asked, asked_for)), Ok(expected), "{questions} {asked} {asked_for:?}");
    }
}

#[test]
fn what_is_in_progress_there_is_asked_for_until_its_time_is_up() {
    for (attempts, seconds) in [(1, 20), (2, 60), (3, 300), (4, 3_600), (5, 3_600), (99, 3_600)] {
        let facts = OperationFacts { attempts, ..facts(S::Leased) };
        assert_eq!(to(&facts, E::InProgressThere), Ok((S::Unknown, Some(seconds))), "{attempts}");
    }
    let person = (S::NeedsReconciliation, None);
    for (left, expected) in [(21, (S::Unknown, Some(20))), (20, (S::Unknown, Some(20))), (19, person), (-21, person)] {
        let facts = OperationFacts { deadline_at: NOW + Duration::seconds(left), ..facts(S::Leased) };
        assert_eq!(to(&facts, E::InProgressThere), Ok(expected), "{left}");
    }
}

#[test]
fn what_did_not_happen_is_sent_again_only_where_keys_are_honoured() {
    let policy = OperationPolicy { honours_keys: false, ..CHARGE_POLICY };
    let step = next(&facts(S::Leased), E::DidNotHappen, NOW, &policy, 1.0);
    assert_eq!(step, Ok(OperationStep { state: S::NeedsReconciliation, next_attempt_at: None }));
}

#[test]
fn attempts_and_time_are_used_up_only_beyond_the_last() {
    for (attempts, late, expected) in [
        (0, -1, false),
        (100, -1, false),
        (100, 0, false),
        (101, -1, true),
        (102, -1, true),
        (1, 1, true),
        (1, 9, true),
    ] {
        let facts = OperationFacts { attempts, ..facts(S::Leased) };
        let now = facts.deadline_at + Duration::seconds(late);
        assert_eq!(exhausted(&facts, now, &CHARGE_POLICY), expected, "{attempts} {late}");
    }
}
