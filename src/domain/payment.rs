//! One attempt to take an order's money, and what its states mean for the order.
//!
//! An attempt's state is not the order's: a first attempt that failed says nothing about a second one.

use crate::domain::order::OrderStatus;
use crate::domain::org::spelled;

/// Where an attempt stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PaymentState {
    /// On its way.
    Processing,
    /// The money was taken.
    Succeeded,
    /// Refused for good, or cancelled before anything was taken.
    Declined,
    /// Nobody knows.
    Unknown,
    /// A part was given back.
    PartiallyRefunded,
    /// All was given back.
    Refunded,
    /// It was promised and could not be taken.
    CaptureFailed,
    /// The payer objects.
    Disputed,
}

spelled!(PaymentState {
    Processing = "processing",
    Succeeded = "succeeded",
    Declined = "declined",
    Unknown = "unknown",
    PartiallyRefunded = "partially_refunded",
    Refunded = "refunded",
    CaptureFailed = "capture_failed",
    Disputed = "disputed",
});

/// An attempt as the API shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaymentSummary {
    /// Where it stands.
    pub state: PaymentState,
    /// The gateway's name.
    pub gateway: String,
    /// The gateway's name for it, once known.
    pub reference: Option<String>,
    /// From 1.
    pub attempt: i32,
}

/// A step as the API shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepSummary {
    /// What is done.
    pub kind: String,
    /// Where it stands.
    pub state: String,
}

/// What a charge came to, as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChargeFact {
    /// The money was taken.
    Succeeded {
        /// The gateway's name for it; a person's word may come without one.
        reference: Option<String>,
    },
    /// Refused for good.
    Declined {
        /// The gateway's name for it, if it made one.
        reference: Option<String>,
        /// Why, in the gateway's words; a short code.
        code: String,
    },
    /// The gateway works on it.
    Processing {
        /// The gateway's name for it.
        reference: String,
    },
    /// It certainly was not sent.
    NotSent,
    /// It was sent, and nobody knows.
    NoAnswer,
    /// The gateway was asked, and has never heard of it.
    DidNotHappen,
    /// It was taken up too often, or for too long.
    Exhausted,
    /// What the gateway says contradicts what we asked for.
    Conflict {
        /// The gateway's name for it, if known.
        reference: Option<String>,
    },
}

impl ChargeFact {
    /// The gateway's name for it, as far as the fact has one.
    #[must_use]
    pub fn reference(&self) -> Option<&str> {
        match self {
            Self::Processing { reference } => Some(reference),
            Self::Succeeded { reference } | Self::Declined { reference, .. } | Self::Conflict { reference } => {
                reference.as_deref()
            }
            Self::NotSent | Self::NoAnswer | Self::DidNotHappen | Self::Exhausted => None,
        }
    }
}

/// The state of an attempt after a fact.
#[must_use]
pub fn after(fact: &ChargeFact) -> PaymentState {
    match fact {
        ChargeFact::Succeeded { .. } => PaymentState::Succeeded,
        ChargeFact::Declined { .. } => PaymentState::Declined,
        ChargeFact::Processing { .. } | ChargeFact::NotSent => PaymentState::Processing,
        ChargeFact::NoAnswer | ChargeFact::DidNotHappen | ChargeFact::Exhausted | ChargeFact::Conflict { .. } => {
            PaymentState::Unknown
        }
    }
}

/// The status of an order after a fact about its newest attempt: an allow-list, not a rank.
#[must_use]
pub fn order_after(status: OrderStatus, fact: &ChargeFact, cancel_requested: bool) -> OrderStatus {
    use OrderStatus as S;
    match (status, fact) {
        // Whatever the attempt came to: nothing stands in the way of the cancellation any more.
        (S::Received | S::PaymentFailed | S::Confirmed, ChargeFact::Succeeded { .. } | ChargeFact::Declined { .. })
            if cancel_requested =>
        {
            S::Cancelled
        }
        (S::Received | S::PaymentFailed, ChargeFact::Succeeded { .. }) => S::Confirmed,
        (S::Received, ChargeFact::Declined { .. }) => S::PaymentFailed,
        (status, _) => status,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_declined_attempt_never_undoes_a_confirmed_order() {
        let declined = ChargeFact::Declined { reference: None, code: "card_declined".to_owned() };
        for status in [OrderStatus::Confirmed, OrderStatus::ShipmentRequested, OrderStatus::Completed] {
            assert_eq!(order_after(status, &declined, false), status);
        }
        assert_eq!(order_after(OrderStatus::Received, &declined, false), OrderStatus::PaymentFailed);
    }

    #[test]
    fn an_order_that_is_to_be_cancelled_is_never_confirmed() {
        let paid = ChargeFact::Succeeded { reference: None };
        assert_eq!(order_after(OrderStatus::Received, &paid, true), OrderStatus::Cancelled);
        assert_eq!(order_after(OrderStatus::Received, &paid, false), OrderStatus::Confirmed);
        assert_eq!(order_after(OrderStatus::Cancelled, &paid, true), OrderStatus::Cancelled);
    }

    #[test]
    fn an_attempt_that_ended_lets_a_cancellation_through_unless_shipment_was_asked_for() {
        let declined = ChargeFact::Declined { reference: None, code: "card_declined".to_owned() };
        for status in [OrderStatus::Received, OrderStatus::PaymentFailed, OrderStatus::Confirmed] {
            assert_eq!(order_after(status, &declined, true), OrderStatus::Cancelled, "{status:?}");
            assert_eq!(order_after(status, &ChargeFact::NoAnswer, true), status, "{status:?}");
        }
        for status in [OrderStatus::ShipmentRequested, OrderStatus::Completed] {
            assert_eq!(order_after(status, &declined, true), status, "{status:?}");
        }
        let paid = ChargeFact::Succeeded { reference: None };
        assert_eq!(order_after(OrderStatus::PaymentFailed, &paid, false), OrderStatus::Confirmed);
    }

    #[test]
    fn each_fact_says_where_its_attempt_stands_and_which_payment_it_is() {
        use PaymentState as P;
        let named = || Some("pi_1".to_owned());
        for (fact, state, reference) in [
            (ChargeFact::Succeeded { reference: named() }, P::Succeeded, Some("pi_1")),
            (ChargeFact::Succeeded { reference: None }, P::Succeeded, None),
            (ChargeFact::Declined { reference: named(), code: String::new() }, P::Declined, Some("pi_1")),
            (ChargeFact::Processing { reference: "pi_1".to_owned() }, P::Processing, Some("pi_1")),
            (ChargeFact::Conflict { reference: named() }, P::Unknown, Some("pi_1")),
            (ChargeFact::NotSent, P::Processing, None),
            (ChargeFact::NoAnswer, P::Unknown, None),
            (ChargeFact::DidNotHappen, P::Unknown, None),
            (ChargeFact::Exhausted, P::Unknown, None),
        ] {
            assert_eq!((after(&fact), fact.reference()), (state, reference), "{fact:?}");
        }
    }
}
