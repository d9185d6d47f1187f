//! What a process does next: each step is one statement, one transaction or one call, and a process may die before any.

use crate::design::{Design, Flaw, NOW, POLICY, is_takeable, mint, put};
use crate::gateway::{Fate, look_up, send};
use crate::settle::{Finding, facts, settle};
use crate::state::{Fact, Plain, Process, Refund, Reply, Row, State};
use ichido::domain::claim::{self, Decision, FoundClaim, Mine, Work};
use ichido::domain::fingerprint::{Fingerprint, VERSION};
use ichido::domain::ids::OrderId;
use ichido::domain::operation::{self, OperationEvent, OperationState};
use ichido::domain::order::OrderStatus;
use ichido::domain::org::OnMismatch;
use ichido::domain::payment::PaymentState;
use ichido::domain::question::{Question, question};
use ichido::domain::reply::{ReplyHeaders, StoredReply};
use uuid::Uuid;

const MOST_ATTEMPTS: u8 = 4;

/// What a statement, a question or an answer comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// It is carried out, and whoever asked knows.
    Comes,
    /// It is carried out, and nobody knows.
    IsLost,
    /// It is not carried out, and whoever asked gives up.
    Never,
}

impl Answer {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Comes, Self::IsLost, Self::Never];
}

/// Goes on with whatever a process does, but for sending.
pub fn work(design: &Design, state: &mut State, number: usize, answer: Answer) {
    let Some(process) = state.processes.get(number).copied() else { return };
    let next = if answer == Answer::Never {
        Process::Idle
    } else {
        match process {
            Process::Idle | Process::Sends { .. } => process,
            Process::Claims { token } => claims(design, state, token, answer),
            Process::Takes { client } => takes(design, state, client, answer),
            // The transaction notes a sending. If its answer is lost nobody sends, and the lease ends.
            Process::Loads { client, token } => match (loads(design, state, client, token), answer) {
                (next, Answer::Comes) => next,
                _ => Process::Idle,
            },
            Process::Asks { client, token, way } => asks(design, state, (client, token, way.0), answer),
            Process::Records { client, token, asked, fact } => {
                settle(design, state, Finding { fact, token: Some(token), asked });
                // Recorded once more when nobody knows whether it was: the second time comes too late, and changes nothing.
                if answer == Answer::IsLost { process } else { told(design, state, client) }
            }
            Process::Answers { reply } => {
                if answer == Answer::Comes {
                    hears(state, reply);
                }
                Process::Idle
            }
        }
    };
    put(state, number, next);
}

/// A process sends, and knows what it hears.
pub fn send_now(design: &Design, state: &mut State, number: usize, fate: Fate) {
    let Some(Process::Sends { client, token, asked }) = state.processes.get(number).copied() else { return };
    let fact = send(design, state, token, fate);
    put(state, number, Process::Records { client, token, asked, fact });
}

/// A client has its definite answer.
fn hears(state: &mut State, reply: Reply) {
    let first = *state.seen.told.get_or_insert(reply);
    state.seen.contradicted |= first != reply;
}

/// `claim_with_charge.sql`: claim, order, attempt and charge, or nothing.
fn claims(design: &Design, state: &mut State, token: u8, answer: Answer) -> Process {
    if design.flaw == Some(Flaw::AcknowledgesBeforeCommit) && state.row.is_none() {
        hears(state, Reply { paid: state.gateway.card_is_good, status: Plain(OrderStatus::Confirmed) });
        if answer == Answer::IsLost {
            return Process::Idle;
        }
    }
    let won = state.row.is_none();
    if won {
        state.row = Some(placed(token));
    }
    match (answer, won) {
        // It is sent again: the index waits for the first one.
        (Answer::IsLost | Answer::Never, _) => Process::Claims { token },
        (Answer::Comes, true) => Process::Sends { client: true, token, asked: false },
        (Answer::Comes, false) => found(design, state, Some(token)),
    }
}

fn placed(token: u8) -> Row {
    Row {
        made_by: token,
        reply: None,
        status: Plain(OrderStatus::Received),
        cancel_requested: false,
        payment: Plain(PaymentState::Processing),
        charge: Plain(OperationState::Leased),
        attempts: 1,
        questions: 0,
        token: Some(token),
        due: false,
        sent: true,
        reference: false,
        look_only: false,
        case: false,
        refund: Refund::None,
    }
}

/// What a request does whose key is taken. `minted`: the lease that it asked for itself, if it did.
fn found(design: &Design, state: &State, minted: Option<u8>) -> Process {
    let Some(row) = &state.row else { return Process::Idle };
    let mine =
        minted.map_or(Mine::default(), |token| Mine { order_id: Some(order_id(token)), lease_token: Some(id(token)) });
    match claim::decide(&claim_of(row), &fingerprint(), mine, OnMismatch::Reject) {
        Decision::Own | Decision::Replay => row.reply.map_or(Process::Idle, |reply| {
            let anew = design.flaw == Some(Flaw::RendersReplaysAnew);
            Process::Answers { reply: if anew { Reply { status: row.status, ..reply } } else { reply } }
        }),
        Decision::OwnWork => Process::Sends { client: true, token: minted.unwrap_or_default(), asked: false },
        // After a look of its own a request tells how it stands, and leaves the next one to the next retry.
        Decision::TakeOver { .. } if minted.is_some() => Process::Takes { client: true },
        // 409, 202 and 503: the client tries again.
        _ => Process::Idle,
    }
}

fn claim_of(row: &Row) -> FoundClaim {
    let work = Work {
        attempt: 1,
        state: row.charge.0,
        attempts: u32::from(row.attempts),
        lease_token: row.token.map(id),
        rest_seconds: if row.due { 0.0 } else { 1.0 },
        lease_until: None,
    };
    let status = |reply: Reply| if reply.paid { 201 } else { 402 };
    let stored = |reply| StoredReply { status: status(reply), headers: ReplyHeaders::default(), body: Vec::new() };
    FoundClaim {
        fingerprint_version: VERSION,
        fingerprint: fingerprint(),
        order_id: order_id(row.made_by),
        reply: row.reply.map(stored),
        work: Some(work),
        created_at: NOW,
        completed_at: None,
        expires_at: None,
    }
}

fn fingerprint() -> Fingerprint {
    Fingerprint::from_slice(&[0; 32]).expect("32 bytes")
}

fn id(token: u8) -> Uuid {
    Uuid::from_u128(u128::from(token))
}

fn order_id(token: u8) -> OrderId {
    OrderId(id(token))
}

/// `take.sql`: whoever is due, under a new lease.
fn takes(design: &Design, state: &mut State, client: bool, answer: Answer) -> Process {
    let token = mint(state);
    let Some(row) = state.row.as_mut().filter(|row| is_takeable(row)) else {
        // Somebody else has it, or it is settled. The number of a lease that nobody got is used again.
        state.next_token -= 1;
        return told(design, state, client);
    };
    let over = row.charge.0 == OperationState::Leased;
    let step =
        operation::next(&facts(row), OperationEvent::Taken, NOW, &POLICY, 1.0).expect("what is due may be taken");
    row.charge = Plain(step.state);
    row.token = Some(token);
    row.due = false;
    // Beyond the policy's most it makes no difference how many there were.
    row.attempts = MOST_ATTEMPTS.min(row.attempts + 1);
    state.seen.taken_over |= over;
    if answer == Answer::Comes { Process::Loads { client, token } } else { Process::Idle }
}

/// Reads under the order's lock, decides how to ask, and notes a sending before it is sent.
fn loads(design: &Design, state: &mut State, client: bool, token: u8) -> Process {
    let Some(row) = &mut state.row else { return Process::Idle };
    if row.token != Some(token) {
        return told(design, state, client);
    }
    if operation::exhausted(&facts(row), NOW, &POLICY) {
        return Process::Records { client, token, asked: row.sent, fact: Fact::Exhausted };
    }
    let asked = row.sent;
    let way = question(row.sent.then_some(NOW), NOW, row.cancel_requested, row.look_only, !row.reference);
    if way != Question::SendAgain {
        return Process::Asks { client, token, way: Plain(way) };
    }
    // `mark_sent.sql` asks for a lease that lasts.
    if row.due {
        return told(design, state, client);
    }
    row.sent = true;
    Process::Sends { client, token, asked }
}

/// Asks the gateway, and changes nothing there.
fn asks(design: &Design, state: &State, (client, token, way): (bool, u8, Question), answer: Answer) -> Process {
    let sent = state.row.as_ref().is_some_and(|row| row.sent);
    let known = state.row.as_ref().is_some_and(|row| row.reference);
    let cancels = way == Question::LookUpAndCancel;
    let fact = if cancels && !sent {
        Fact::Ended
    } else if answer == Answer::IsLost {
        Fact::NoAnswer
    } else {
        match look_up(design, state) {
            Fact::DidNotHappen if cancels && !known => Fact::Ended,
            fact => fact,
        }
    };
    Process::Records { client, token, asked: sent, fact }
}

/// What a request tells after its own work: whatever the claim says now.
fn told(design: &Design, state: &State, client: bool) -> Process {
    if client { found(design, state, None) } else { Process::Idle }
}
