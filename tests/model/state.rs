//! What the world is made of.

use ichido::domain::operation::OperationState;
use ichido::domain::order::OrderStatus;
use ichido::domain::payment::PaymentState;
use ichido::domain::question::Question;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::mem::discriminant;

/// One of the program's own plain enums, which need no hash elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plain<T>(pub T);

impl<T> Hash for Plain<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        discriminant(&self.0).hash(state);
    }
}

/// Everything.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct State {
    /// What is committed; `None` before the claim, which makes all of it in one statement.
    pub row: Option<Row>,
    /// The gateway.
    pub gateway: Gateway,
    /// Processes at work. Each is a request or a worker's job, one step at a time.
    pub processes: Vec<Process>,
    /// What may still happen.
    pub left: Left,
    /// The number of the next lease.
    pub next_token: u8,
    /// What clients were told, and what else is looked at.
    pub seen: Seen,
}

/// Claim, order, attempt and charge.
#[expect(clippy::struct_excessive_bools, reason = "columns of tables, each with a meaning of its own")]
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Row {
    /// The try that made it, which is the order's id, too.
    pub made_by: u8,
    /// The stored answer.
    pub reply: Option<Reply>,
    /// Of the order.
    pub status: Plain<OrderStatus>,
    /// A cancellation is recorded.
    pub cancel_requested: bool,
    /// Of the attempt.
    pub payment: Plain<PaymentState>,
    /// Of the charge.
    pub charge: Plain<OperationState>,
    /// How often it was taken up.
    pub attempts: u8,
    /// How often it was asked for in vain.
    pub questions: u8,
    /// Who holds it.
    pub token: Option<u8>,
    /// Its lease has ended, or its next look is due.
    pub due: bool,
    /// `first_sent_at` is set.
    pub sent: bool,
    /// The gateway's name for the payment is known.
    pub reference: bool,
    /// A person wants to know, and nothing to be done.
    pub look_only: bool,
    /// A person has to look at it.
    pub case: bool,
    /// Money that goes back.
    pub refund: Refund,
}

/// A stored answer, as far as two of them can differ here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Reply {
    /// 201, or 402.
    pub paid: bool,
    /// The order's status in it.
    pub status: Plain<OrderStatus>,
}

/// Money that goes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Refund {
    /// Nothing is to.
    None,
    /// An operation is there.
    Owed,
    /// It is done.
    Done,
}

/// How many keys the gateway may see. The design needs one.
pub const KEYS: usize = 6;

/// What the gateway has and does.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Gateway {
    /// Whether the card is good.
    pub card_is_good: bool,
    /// Keys that have been carried out.
    pub done: [bool; KEYS],
    /// Calls that are still on their way, though nobody waits for them.
    pub late: [bool; KEYS],
}

impl Gateway {
    /// Successful charges of the one attempt.
    pub fn charges(&self) -> usize {
        if self.card_is_good { self.done.iter().filter(|done| **done).count() } else { 0 }
    }
}

/// What may still happen: each of these is bounded, so that the world is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Left {
    /// Tries of clients.
    pub calls: u8,
    /// Processes that die.
    pub crashes: u8,
    /// Answers of the database or the gateway that are lost, calls that are late or do not arrive.
    pub losses: u8,
    /// Notifications.
    pub notices: u8,
    /// Cancellations.
    pub cancels: u8,
    /// Decisions of a person.
    pub decisions: u8,
}

/// A process, by what it does next. `client`: somebody waits for its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Process {
    /// Nothing; also what died, or gave up.
    Idle,
    /// Sends its claim; again when the answer was lost.
    Claims { token: u8 },
    /// Has a charge that may be sent, for the first time or again.
    Sends { client: bool, token: u8, asked: bool },
    /// Takes a charge up.
    Takes { client: bool },
    /// Reads what it took.
    Loads { client: bool, token: u8 },
    /// Asks the gateway without sending.
    Asks { client: bool, token: u8, way: Plain<Question> },
    /// Knows something, and records it.
    Records { client: bool, token: u8, asked: bool, fact: Fact },
    /// Gives an answer.
    Answers { reply: Reply },
}

/// What was heard of a charge. The program's own fact carries texts, which make no difference here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fact {
    Succeeded,
    Declined,
    /// Ended before it took anything; the gateway never had it.
    Ended,
    NotSent,
    NoAnswer,
    DidNotHappen,
    Exhausted,
}

impl State {
    /// The same world told in one way only: processes have no names, and of leases only matters which are the same.
    pub fn tidy(&mut self) {
        let mut known = Vec::new();
        let mut name = |token: &mut u8| {
            let place = known.iter().position(|known| known == token).unwrap_or_else(|| {
                known.push(*token);
                known.len() - 1
            });
            *token = u8::try_from(place + 1).unwrap_or(u8::MAX);
        };
        if let Some(row) = &mut self.row {
            name(&mut row.made_by);
            row.token.iter_mut().for_each(&mut name);
        }
        self.processes.iter_mut().filter_map(Process::token).for_each(&mut name);
        self.next_token = u8::try_from(known.len()).unwrap_or(u8::MAX);
        self.processes.sort_by_cached_key(|process| {
            let mut hasher = DefaultHasher::new();
            process.hash(&mut hasher);
            hasher.finish()
        });
    }
}

impl Process {
    fn token(&mut self) -> Option<&mut u8> {
        match self {
            Self::Claims { token }
            | Self::Sends { token, .. }
            | Self::Loads { token, .. }
            | Self::Asks { token, .. }
            | Self::Records { token, .. } => Some(token),
            Self::Idle | Self::Takes { .. } | Self::Answers { .. } => None,
        }
    }
}

/// What clients were told, and marks that are never taken away.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Seen {
    /// The first definite answer.
    pub told: Option<Reply>,
    /// Another client was told something else.
    pub contradicted: bool,
    /// The charge was done at some time.
    pub was_done: bool,
    /// Somebody took a charge up whose holder was gone.
    pub taken_over: bool,
}
