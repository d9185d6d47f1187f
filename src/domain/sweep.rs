//! Compares what the gateway lists with what is recorded here: decisions only. A list is a hint, some seconds old; what it
//! contradicts is asked for once more before anything is written.

use crate::domain::operation::OperationState;
use crate::domain::payment::PaymentState;

/// One attempt as it is recorded here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OurPayment {
    /// The gateway's name for it, once known.
    pub reference: Option<String>,
    /// In the currency's minor unit.
    pub amount: i64,
    /// ISO 4217.
    pub currency: String,
    /// Where the attempt stands.
    pub state: PaymentState,
    /// Where its charge stands.
    pub charge: OperationState,
    /// Whether somebody holds the charge now.
    pub at_work: bool,
}

/// The same payment as the gateway lists it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TheirPayment<'a> {
    /// The gateway's name for it.
    pub reference: &'a str,
    /// Whether the money was taken.
    pub taken: bool,
    /// How much; `None` when it cannot be said in our unit.
    pub amount: Option<i64>,
    /// ISO 4217.
    pub currency: &'a str,
}

/// What is to be done about a payment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Both say the same, or there is nothing to say.
    Agrees,
    /// Somebody is at work on it, or a person has it: nothing to do now.
    Later,
    /// Ask for it by its reference, and then settle the charge or tell a person.
    Ask,
    /// Money for an attempt that has another payment.
    Unknown,
}

/// Judges one payment.
#[must_use]
pub fn judge(ours: &OurPayment, theirs: &TheirPayment<'_>) -> Verdict {
    let other = ours.reference.as_deref().is_some_and(|reference| reference != theirs.reference);
    let same_money = theirs.amount == Some(ours.amount) && theirs.currency == ours.currency;
    match (theirs.taken, ours.charge) {
        (true, _) if other => Verdict::Unknown,
        (true, OperationState::Done) if same_money => Verdict::Agrees,
        (true, OperationState::Done | OperationState::Failed) => Verdict::Ask,
        (true, _) if ours.at_work => Verdict::Later,
        // A person knows of it already, and only money that fits would settle it.
        (true, OperationState::NeedsReconciliation) if !same_money => Verdict::Later,
        (true, _) => Verdict::Ask,
        (false, OperationState::Done) if !other && holds_money(ours.state) => Verdict::Ask,
        (false, _) => Verdict::Agrees,
    }
}

/// Whether an attempt took money, as far as it is recorded here.
#[must_use]
pub fn holds_money(state: PaymentState) -> bool {
    match state {
        PaymentState::Succeeded | PaymentState::PartiallyRefunded | PaymentState::Refunded | PaymentState::Disputed => {
            true
        }
        PaymentState::Processing | PaymentState::Declined | PaymentState::Unknown | PaymentState::CaptureFailed => {
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use OperationState as S;

    fn ours(charge: S, state: PaymentState) -> OurPayment {
        let reference = (charge == S::Done).then(|| "pi_1".to_owned());
        OurPayment { reference, amount: 100, currency: "JPY".to_owned(), state, charge, at_work: false }
    }

    const PAID: TheirPayment<'_> = TheirPayment { reference: "pi_1", taken: true, amount: Some(100), currency: "JPY" };
    const UNPAID: TheirPayment<'_> = TheirPayment { taken: false, amount: Some(0), ..PAID };

    #[test]
    fn money_counts_whatever_we_thought() {
        for charge in [S::Ready, S::Leased, S::RetryAt, S::Unknown, S::Failed, S::NeedsReconciliation] {
            assert_eq!(judge(&ours(charge, PaymentState::Unknown), &PAID), Verdict::Ask, "{charge:?}");
        }
        assert_eq!(judge(&ours(S::Done, PaymentState::Refunded), &PAID), Verdict::Agrees);
        let held = OurPayment { at_work: true, ..ours(S::Leased, PaymentState::Processing) };
        assert_eq!(judge(&held, &PAID), Verdict::Later);
    }

    #[test]
    fn other_money_is_asked_about_unless_a_person_has_it() {
        for theirs in [
            TheirPayment { amount: Some(99), ..PAID },
            TheirPayment { amount: None, ..PAID },
            TheirPayment { currency: "EUR", ..PAID },
        ] {
            assert_eq!(judge(&ours(S::Done, PaymentState::Succeeded), &theirs), Verdict::Ask);
            assert_eq!(judge(&ours(S::Unknown, PaymentState::Unknown), &theirs), Verdict::Ask);
            assert_eq!(judge(&ours(S::NeedsReconciliation, PaymentState::Unknown), &theirs), Verdict::Later);
        }
        let second = TheirPayment { reference: "pi_2", ..PAID };
        assert_eq!(judge(&ours(S::Done, PaymentState::Succeeded), &second), Verdict::Unknown);
    }

    #[test]
    fn what_took_no_money_matters_only_where_we_think_it_did() {
        assert_eq!(judge(&ours(S::Done, PaymentState::Succeeded), &UNPAID), Verdict::Ask);
        assert_eq!(judge(&ours(S::Done, PaymentState::CaptureFailed), &UNPAID), Verdict::Agrees);
        assert_eq!(judge(&ours(S::Failed, PaymentState::Declined), &UNPAID), Verdict::Agrees);
        assert_eq!(judge(&ours(S::Unknown, PaymentState::Unknown), &UNPAID), Verdict::Agrees);
        let second = TheirPayment { reference: "pi_2", ..UNPAID };
        assert_eq!(judge(&ours(S::Done, PaymentState::Succeeded), &second), Verdict::Agrees);
    }
}
