//! The model can fail: each flaw is found, in the world that shows it, by the property that is there for it.

use crate::check::{look, world};
use crate::design::Flaw;
use crate::properties::{DONE_STAYS, NEVER_LOST, ONE_ANSWER, ONE_CHARGE, SETTLED};
use crate::state::Left;

const NOTHING: Left = Left { calls: 1, crashes: 0, losses: 0, notices: 0, cancels: 0, decisions: 0 };

fn finds(flaw: Flaw, left: Left, property: &'static str) {
    let sound = look(&world(left.clone(), None), None);
    assert!(sound.wrong.is_empty(), "without the flaw: {:?}", sound.wrong);
    let wrong = look(&world(left, Some(flaw)), Some(property)).wrong;
    assert!(wrong.iter().any(|(name, _)| *name == property), "{flaw:?} violates only {wrong:?}");
}

#[test]
fn a_new_key_for_each_retry_charges_twice() {
    finds(Flaw::NewKeyForEachRetry, Left { losses: 1, ..NOTHING }, ONE_CHARGE);
}

#[test]
fn an_acknowledgement_before_the_commit_is_lost() {
    finds(Flaw::AcknowledgesBeforeCommit, Left { losses: 1, ..NOTHING }, NEVER_LOST);
}

#[test]
fn without_the_token_a_late_writer_undoes_what_is_known() {
    finds(Flaw::IgnoresTokens, Left { losses: 1, crashes: 1, cancels: 1, ..NOTHING }, SETTLED);
}

#[test]
fn believing_that_there_is_nothing_leaves_money_taken() {
    finds(Flaw::BelievesNotFound, Left { losses: 1, cancels: 1, ..NOTHING }, SETTLED);
}

#[test]
fn cancelling_unasked_leaves_money_taken() {
    finds(Flaw::CancelsUnasked, Left { crashes: 1, cancels: 1, ..NOTHING }, SETTLED);
}

#[test]
fn without_token_and_state_a_late_writer_leaves_what_is_done() {
    finds(Flaw::LeavesDone, Left { losses: 1, ..NOTHING }, DONE_STAYS);
}

#[test]
fn a_replay_that_is_rendered_anew_tells_another_story() {
    finds(Flaw::RendersReplaysAnew, Left { calls: 2, cancels: 1, ..NOTHING }, ONE_ANSWER);
}
