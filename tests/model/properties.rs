//! What has to be true of every state, and what has to be possible at all.

use crate::design::{Action, Design};
use crate::state::{Refund, State};
use ichido::domain::operation::OperationState;
use ichido::domain::order::OrderStatus;
use stateright::{Model, Property};

/// Never two successful charges for one attempt.
pub const ONE_CHARGE: &str = "never two charges";
/// What a client was told stays.
pub const NEVER_LOST: &str = "an acknowledged order is never lost";
/// And is what is stored.
pub const STORED: &str = "an acknowledged answer is stored";
/// Nobody is told anything else.
pub const ONE_ANSWER: &str = "every definite answer is the same";
/// `done` is never left.
pub const DONE_STAYS: &str = "done is never left";
/// Nobody is told that it was paid when it was not.
pub const PAID_IS_CHARGED: &str = "who was told of a payment has paid";
/// When nothing can happen any more, everything is settled or with a person.
pub const SETTLED: &str = "what is over is settled or with a person";

/// All of them.
pub fn properties() -> Vec<Property<Design>> {
    vec![
        Property::always(ONE_CHARGE, |_, state: &State| state.gateway.charges() <= 1),
        Property::always(NEVER_LOST, |_, state: &State| never_lost(state)),
        Property::always(STORED, |_, state: &State| is_stored(state)),
        Property::always(ONE_ANSWER, |_, state: &State| !state.seen.contradicted),
        Property::always(DONE_STAYS, |_, state: &State| done_stays(state)),
        Property::always(PAID_IS_CHARGED, |_, state: &State| {
            !state.seen.told.is_some_and(|told| told.paid) || state.gateway.charges() > 0
        }),
        Property::always(SETTLED, |design: &Design, state: &State| !is_over(design, state) || is_settled(state)),
        Property::sometimes("a client is told that it is paid", |_, state: &State| {
            state.seen.told.is_some_and(|told| told.paid)
        }),
        Property::sometimes("a client is told that it is declined", |_, state: &State| {
            state.seen.told.is_some_and(|told| !told.paid)
        }),
        Property::sometimes("somebody takes over", |_, state: &State| state.seen.taken_over),
        Property::sometimes("a paid order is cancelled and given back", |_, state: &State| {
            state.row.as_ref().is_some_and(|row| row.refund == Refund::Done)
        }),
        Property::sometimes("a person has to look", |_, state: &State| {
            state.row.as_ref().is_some_and(|row| row.charge.0 == OperationState::NeedsReconciliation)
        }),
    ]
}

fn never_lost(state: &State) -> bool {
    state.seen.told.is_none() || state.row.is_some()
}

fn is_stored(state: &State) -> bool {
    let Some(told) = state.seen.told else { return true };
    state.row.as_ref().is_some_and(|row| row.reply == Some(told))
}

fn done_stays(state: &State) -> bool {
    !state.seen.was_done || state.row.as_ref().is_some_and(|row| row.charge.0 == OperationState::Done)
}

/// Nothing can happen any more, but for what nobody may rely on: more tries, more faults, more decisions.
fn is_over(design: &Design, state: &State) -> bool {
    let mut actions = Vec::new();
    design.actions(state, &mut actions);
    actions.iter().all(|action| matches!(action, Action::Call | Action::Cancels | Action::PersonAsksAgain))
}

fn is_settled(state: &State) -> bool {
    let Some(row) = &state.row else { return state.gateway.charges() == 0 };
    let charged = state.gateway.charges() == 1;
    let consistent = match row.charge.0 {
        OperationState::Done => charged && row.reply.is_some(),
        OperationState::Failed => !charged && row.reply.is_some(),
        OperationState::NeedsReconciliation => return row.case,
        _ => false,
    };
    let cancelled =
        !row.cancel_requested || row.status.0 == OrderStatus::Cancelled && (row.refund == Refund::Done) == charged;
    consistent && cancelled
}
