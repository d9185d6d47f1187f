//! Recording what is known of a charge: one transaction, as `src/app/charge/settle.rs` has it.

use crate::design::{Design, Flaw, NOW, POLICY};
use crate::state::{Fact, Plain, Refund, Reply, Row, State};
use ichido::domain::operation::{self, OperationEvent, OperationFacts, OperationState};
use ichido::domain::order::OrderStatus;
use ichido::domain::payment::{self, ChargeFact};
use time::Duration;

const MOST_QUESTIONS: u8 = 4;

/// What is recorded, and by whom.
#[derive(Debug, Clone, Copy)]
pub struct Finding {
    /// What.
    pub fact: Fact,
    /// The lease under which it was found out; `None` needs none.
    pub token: Option<u8>,
    /// An earlier sending was asked about.
    pub asked: bool,
}

impl Fact {
    fn of_the_program(self) -> ChargeFact {
        let declined = |code: &str| ChargeFact::Declined { reference: None, code: code.to_owned() };
        match self {
            Self::Succeeded => ChargeFact::Succeeded { reference: Some("pi".to_owned()) },
            Self::Declined => declined("card_declined"),
            Self::Ended => declined("cancelled"),
            Self::NotSent => ChargeFact::NotSent,
            Self::NoAnswer => ChargeFact::NoAnswer,
            Self::DidNotHappen => ChargeFact::DidNotHappen,
            Self::Exhausted => ChargeFact::Exhausted,
        }
    }

    fn event(self, asked: bool) -> OperationEvent {
        match self {
            Self::Succeeded => OperationEvent::Happened,
            Self::Declined | Self::Ended => OperationEvent::Refused,
            Self::NotSent => OperationEvent::NotSent { after: None },
            Self::NoAnswer => OperationEvent::NoAnswer { asked, after: None },
            Self::DidNotHappen | Self::Exhausted => OperationEvent::Conflict,
        }
    }
}

/// What the machine needs to know of a charge.
pub fn facts(row: &Row) -> OperationFacts {
    OperationFacts {
        state: row.charge.0,
        attempts: u32::from(row.attempts),
        questions: u32::from(row.questions),
        deadline_at: NOW + Duration::hours(24),
    }
}

/// Writes a finding, or leaves everything as it is when it comes too late.
pub fn settle(design: &Design, state: &mut State, finding: Finding) {
    let Some(row) = &mut state.row else { return };
    let event = finding.fact.event(finding.asked);
    let holds = finding.token.is_none_or(|token| row.token == Some(token)) || design.ignores_tokens();
    if !holds && event != OperationEvent::Happened {
        return;
    }
    // The longest wait: whether it is over is `due`, at any later moment.
    let mut facts = facts(row);
    if design.flaw == Some(Flaw::LeavesDone) {
        facts.state = OperationState::Leased;
    }
    let Ok(step) = operation::next(&facts, event, NOW, &POLICY, 1.0) else { return };
    row.charge = Plain(step.state);
    row.due = step.next_attempt_at.is_some_and(|at| at <= NOW);
    row.token = None;
    // Beyond the last wait it makes no difference how many there were.
    row.questions = MOST_QUESTIONS.min(row.questions + u8::from(finding.asked && finding.fact == Fact::NoAnswer));
    row.sent &= finding.fact != Fact::NotSent || finding.asked;
    write_rest(row, finding.fact, step.state);
    state.seen.was_done |= step.state == OperationState::Done;
}

/// Attempt, order, case, refund and answer, in the same transaction.
fn write_rest(row: &mut Row, fact: Fact, charge: OperationState) {
    let told = fact.of_the_program();
    row.reference |= told.reference().is_some();
    if row.payment.0 != payment::PaymentState::Succeeded {
        row.payment = Plain(payment::after(&told));
    }
    let ended = matches!(charge, OperationState::Done | OperationState::Failed);
    row.case = charge == OperationState::NeedsReconciliation || row.case && !ended;
    row.status = Plain(payment::order_after(row.status.0, &told, row.cancel_requested));
    if ended && row.status.0 == OrderStatus::Cancelled {
        refund_all(row);
    }
    if ended && row.reply.is_none() {
        row.reply = Some(Reply { paid: charge == OperationState::Done, status: row.status });
    }
}

/// Asks for money back that was taken, once.
pub fn refund_all(row: &mut Row) {
    if row.payment.0 == payment::PaymentState::Succeeded && row.refund == Refund::None {
        row.refund = Refund::Owed;
    }
}
