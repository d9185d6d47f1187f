//! The model: which steps are possible, and what each does.

use crate::gateway::{Fate, carry_out};
use crate::properties::properties;
use crate::settle::{Finding, facts, refund_all, settle};
use crate::state::{Fact, Gateway, KEYS, Left, Plain, Process, Refund, Row, Seen, State};
use crate::work::{Answer, work};
use ichido::domain::inbox::fact::What;
use ichido::domain::inbox::transition::{Circumstances, Success, Verdict, decide};
use ichido::domain::operation::{self, ASK_AFTER, OperationEvent, OperationPolicy, OperationState};
use ichido::domain::order::OrderStatus;
use stateright::{Model, Property};
use time::{Duration, OffsetDateTime};

/// The only moment there is. What waits is due when the model says so.
pub const NOW: OffsetDateTime = OffsetDateTime::UNIX_EPOCH;

/// The policy of charges, but that a person has to look sooner.
pub const POLICY: OperationPolicy = OperationPolicy {
    honours_keys: true,
    max_attempts: 3,
    base: Duration::seconds(1),
    cap: Duration::minutes(5),
    ask_after: ASK_AFTER,
};

/// What is broken on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flaw {
    /// A late writer's token is not looked at.
    IgnoresTokens,
    /// Each try goes to the gateway under a key of its own.
    NewKeyForEachRetry,
    /// The client is answered first.
    AcknowledgesBeforeCommit,
    /// That the gateway knows nothing is believed while a call may be on its way.
    BelievesNotFound,
    /// A cancellation ends a charge without asking what became of it.
    CancelsUnasked,
    /// A late writer's state is not looked at either, so that what is done can be left.
    LeavesDone,
    /// A replay shows the order as it stands, not what was stored.
    RendersReplaysAnew,
}

/// A world to look at.
#[derive(Debug, Clone)]
pub struct Design {
    /// What may happen in it.
    pub left: Left,
    /// Processes at the same time.
    pub processes: usize,
    /// What is broken on purpose.
    pub flaw: Option<Flaw>,
}

impl Design {
    /// The gateway's key of a sending. It is committed with the claim, and the same for all.
    pub fn key(&self, token: u8) -> usize {
        if self.flaw == Some(Flaw::NewKeyForEachRetry) { usize::from(token).min(KEYS - 1) } else { 0 }
    }

    /// See [`Flaw::IgnoresTokens`].
    pub fn ignores_tokens(&self) -> bool {
        matches!(self.flaw, Some(Flaw::IgnoresTokens | Flaw::LeavesDone))
    }

    /// See [`Flaw::BelievesNotFound`].
    pub fn believes_not_found(&self) -> bool {
        self.flaw == Some(Flaw::BelievesNotFound)
    }
}

/// A step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// A client tries.
    Call,
    /// A worker takes up what is due.
    WorkerWakes,
    /// A process goes on. What its statement or call comes to is chosen.
    GoesOn(usize, Answer),
    /// A process sends to the gateway.
    Sends(usize, Fate),
    /// A process dies.
    Dies(usize),
    /// A lease ends, or a wait.
    TimePasses,
    /// A call arrives that nobody waits for any more.
    LateCallArrives(usize),
    /// A call is lost that nobody waits for any more.
    LateCallIsLost(usize),
    /// The gateway tells how the charge stands.
    Notifies,
    /// The order is to be cancelled.
    Cancels,
    /// Money goes back.
    GivesBack,
    /// A person lets the gateway be asked again.
    PersonAsksAgain,
}

impl Model for Design {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let world = |card_is_good| State {
            row: None,
            gateway: Gateway { card_is_good, done: [false; KEYS], late: [false; KEYS] },
            processes: vec![Process::Idle; self.processes],
            left: self.left.clone(),
            next_token: 0,
            seen: Seen::default(),
        };
        vec![world(true), world(false)]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        let idle = state.processes.contains(&Process::Idle);
        let mut possible = |is: bool, action| actions.extend(is.then_some(action));
        possible(idle && state.left.calls > 0, Action::Call);
        possible(idle && state.row.as_ref().is_some_and(is_takeable), Action::WorkerWakes);
        for (number, process) in state.processes.iter().enumerate() {
            process_actions(number, *process, &state.left, &mut possible);
        }
        for key in 0..KEYS {
            let late = state.gateway.late.get(key) == Some(&true);
            possible(late, Action::LateCallArrives(key));
            possible(late, Action::LateCallIsLost(key));
        }
        let Some(row) = &state.row else { return };
        possible(waits(row) && !row.due, Action::TimePasses);
        possible(state.gateway.done.contains(&true) && state.left.notices > 0, Action::Notifies);
        possible(state.left.cancels > 0, Action::Cancels);
        possible(row.refund == Refund::Owed, Action::GivesBack);
        let person = row.charge.0 == OperationState::NeedsReconciliation && state.left.decisions > 0;
        possible(person, Action::PersonAsksAgain);
    }

    fn next_state(&self, before: &State, action: Action) -> Option<State> {
        let mut state = before.clone();
        match action {
            Action::Call => {
                state.left.calls -= 1;
                let token = mint(&mut state);
                begin(&mut state, Process::Claims { token });
            }
            Action::WorkerWakes => begin(&mut state, Process::Takes { client: false }),
            Action::GoesOn(number, answer) => {
                state.left.losses -= u8::from(answer != Answer::Comes);
                work(self, &mut state, number, answer);
            }
            Action::Sends(number, fate) => {
                state.left.losses -= u8::from(fate != Fate::Answered);
                crate::work::send_now(self, &mut state, number, fate);
            }
            Action::Dies(number) => {
                state.left.crashes -= 1;
                put(&mut state, number, Process::Idle);
            }
            Action::TimePasses => state.row.as_mut()?.due = true,
            Action::LateCallArrives(key) => {
                *state.gateway.late.get_mut(key)? = false;
                carry_out(&mut state, key);
            }
            Action::LateCallIsLost(key) => *state.gateway.late.get_mut(key)? = false,
            Action::Notifies => self.notify(&mut state)?,
            Action::Cancels => {
                state.left.cancels -= 1;
                self.cancel(state.row.as_mut()?);
            }
            Action::GivesBack => state.row.as_mut()?.refund = Refund::Done,
            Action::PersonAsksAgain => {
                state.left.decisions -= 1;
                ask_again(state.row.as_mut()?)?;
            }
        }
        // Where each sending has a key of its own, leases may not be renamed.
        if self.flaw != Some(Flaw::NewKeyForEachRetry) {
            state.tidy();
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties()
    }
}

fn process_actions(number: usize, process: Process, left: &Left, possible: &mut impl FnMut(bool, Action)) {
    if process == Process::Idle {
        return;
    }
    possible(left.crashes > 0, Action::Dies(number));
    if matches!(process, Process::Sends { .. }) {
        for fate in Fate::ALL {
            possible(fate == Fate::Answered || left.losses > 0, Action::Sends(number, fate));
        }
    } else {
        for answer in Answer::ALL {
            possible(answer == Answer::Comes || left.losses > 0, Action::GoesOn(number, answer));
        }
    }
}

/// What `sql/query/operations/take.sql` asks for.
pub fn is_takeable(row: &Row) -> bool {
    waits(row) && row.due
}

fn waits(row: &Row) -> bool {
    use OperationState as S;
    matches!(row.charge.0, S::Ready | S::Leased | S::RetryAt | S::Unknown)
}

/// A lease of one's own.
pub fn mint(state: &mut State) -> u8 {
    state.next_token = state.next_token.saturating_add(1);
    state.next_token
}

fn begin(state: &mut State, process: Process) {
    if let Some(idle) = state.processes.iter_mut().find(|process| **process == Process::Idle) {
        *idle = process;
    }
}

/// A process is somewhere else now.
pub fn put(state: &mut State, number: usize, process: Process) {
    if let Some(place) = state.processes.get_mut(number) {
        *place = process;
    }
}

impl Design {
    fn notify(&self, state: &mut State) -> Option<()> {
        state.left.notices -= 1;
        let (what, fact) = if state.gateway.card_is_good {
            (What::Succeeded, Fact::Succeeded)
        } else {
            (What::Failed, Fact::Declined)
        };
        let attempt = Some(state.row.as_ref()?.payment.0);
        let about = Circumstances { fits: true, success: Success::Untold };
        if decide(what, attempt, about) == Verdict::Settle {
            settle(self, state, Finding { fact, token: None, asked: false });
        }
        Some(())
    }

    /// One transaction, as `src/app/cancel_order.rs` has it.
    fn cancel(&self, row: &mut Row) {
        let again = std::mem::replace(&mut row.cancel_requested, true);
        let open = waits(row) || row.charge.0 == OperationState::NeedsReconciliation;
        if open && self.flaw == Some(Flaw::CancelsUnasked) {
            row.charge = Plain(OperationState::Failed);
            row.token = None;
        } else if open {
            if !again && row.charge.0 != OperationState::Leased {
                hurry(row);
            }
            return;
        }
        refund_all(row);
        row.status = Plain(OrderStatus::Cancelled);
        if self.flaw == Some(Flaw::CancelsUnasked) {
            row.reply = row.reply.or(Some(crate::state::Reply { paid: false, status: row.status }));
        }
    }
}

/// What `sql/query/operations/hurry.sql` does.
fn hurry(row: &mut Row) {
    row.due = true;
    row.attempts = 0;
    row.questions = 0;
    if row.charge.0 == OperationState::NeedsReconciliation {
        row.charge = Plain(OperationState::Unknown);
    }
}

/// A decision is a new start, with all its attempts and questions.
fn ask_again(row: &mut Row) -> Option<()> {
    let step = operation::next(&facts(row), OperationEvent::AskAgain, NOW, &POLICY, 1.0).ok()?;
    row.charge = Plain(step.state);
    row.due = step.next_attempt_at.is_some_and(|at| at <= NOW);
    row.attempts = 0;
    row.questions = 0;
    row.look_only = true;
    row.case = false;
    Some(())
}
