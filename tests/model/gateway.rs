//! Calls to the gateway, and their fates.

use crate::design::Design;
use crate::state::{Fact, Process, State};

/// What becomes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It is carried out and answered.
    Answered,
    /// It certainly did not leave.
    NotSent,
    /// It is carried out, and the answer is lost.
    AnswerLost,
    /// It does not arrive, and nobody knows.
    RequestLost,
    /// Nobody waits for it any more, and it arrives at any later time, or never.
    Late,
}

impl Fate {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Answered, Self::NotSent, Self::AnswerLost, Self::RequestLost, Self::Late];
}

/// Carries a call out under a key, once: the same key with the same parameters is the same charge.
pub fn carry_out(state: &mut State, key: usize) -> Fact {
    if let Some(done) = state.gateway.done.get_mut(key) {
        *done = true;
    }
    if state.gateway.card_is_good { Fact::Succeeded } else { Fact::Declined }
}

/// Sends; gives what the sender knows then.
pub fn send(design: &Design, state: &mut State, token: u8, fate: Fate) -> Fact {
    let key = design.key(token);
    match fate {
        Fate::Answered => carry_out(state, key),
        Fate::NotSent => Fact::NotSent,
        Fate::AnswerLost => {
            carry_out(state, key);
            Fact::NoAnswer
        }
        Fate::RequestLost => Fact::NoAnswer,
        Fate::Late => {
            if let Some(late) = state.gateway.late.get_mut(key) {
                *late = true;
            }
            Fact::NoAnswer
        }
    }
}

/// Looks a charge up. That nothing is found is believed only once nothing can be on its way any more: the gateway is asked
/// for what was sent until the lease's end, and a margin later than that. This, and that no process is stopped for longer
/// than lease and margin between looking at its lease and sending, is what the design needs of time.
pub fn look_up(design: &Design, state: &State) -> Fact {
    if state.gateway.done.contains(&true) {
        return if state.gateway.card_is_good { Fact::Succeeded } else { Fact::Declined };
    }
    let sends = |process: &Process| matches!(process, Process::Sends { .. });
    let on_its_way = state.gateway.late.contains(&true) || state.processes.iter().any(sends);
    if on_its_way && !design.believes_not_found() { Fact::NoAnswer } else { Fact::DidNotHappen }
}
