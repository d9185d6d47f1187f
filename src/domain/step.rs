//! What is done for an order once it is paid, in which order, and what that makes of it.

use crate::domain::operation::OperationState;
use crate::domain::order::OrderStatus;
use crate::domain::org::spelled;
use time::OffsetDateTime;

/// A business step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StepKind {
    /// Sets the goods aside.
    StockReservation,
    /// Asks for the shipment, once the goods are set aside.
    ShipmentRequest,
    /// Tells the customer.
    ConfirmationMail,
    /// Tells the books.
    AccountingEntry,
}

spelled!(StepKind {
    StockReservation = "stock_reservation",
    ShipmentRequest = "shipment_request",
    ConfirmationMail = "confirmation_mail",
    AccountingEntry = "accounting_entry",
});

impl StepKind {
    /// The step that has to be done before; every step waits for the payment.
    fn depends_on(self) -> Option<Self> {
        match self {
            Self::ShipmentRequest => Some(Self::StockReservation),
            Self::StockReservation | Self::ConfirmationMail | Self::AccountingEntry => None,
        }
    }

    /// The step whose turn comes when this one is done.
    #[must_use]
    pub fn releases(self) -> Option<Self> {
        match self {
            Self::StockReservation => Some(Self::ShipmentRequest),
            Self::ShipmentRequest | Self::ConfirmationMail | Self::AccountingEntry => None,
        }
    }
}

/// Where each of an organisation's steps begins for an order that was just confirmed.
#[must_use]
pub fn begin(kinds: &[StepKind]) -> Vec<(StepKind, OperationState)> {
    let waits = |kind: StepKind| kind.depends_on().is_some_and(|other| kinds.contains(&other));
    let state = |kind| if waits(kind) { OperationState::Waiting } else { OperationState::Ready };
    kinds.iter().map(|kind| (*kind, state(*kind))).collect()
}

/// The status of an order whose steps stand like this. What is not on the way from `confirmed` to `completed` stays.
#[must_use]
pub fn order_after(status: OrderStatus, steps: &[(StepKind, OperationState)]) -> OrderStatus {
    let done = |(_, state): &(StepKind, OperationState)| *state == OperationState::Done;
    match status {
        OrderStatus::Confirmed | OrderStatus::ShipmentRequested if !steps.is_empty() && steps.iter().all(done) => {
            OrderStatus::Completed
        }
        OrderStatus::Confirmed if steps.contains(&(StepKind::ShipmentRequest, OperationState::Done)) => {
            OrderStatus::ShipmentRequested
        }
        other => other,
    }
}

/// What to do about a step that was taken up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepWay {
    /// Send it: for the first time, or again where the same key makes that harmless.
    Send,
    /// Ask whether it happened.
    Ask,
    /// Nobody can be asked.
    Person,
}

/// Decides. What was sent to somebody who does not honour keys is never sent again without knowing that it did not happen.
#[must_use]
pub fn way(first_sent_at: Option<OffsetDateTime>, honours_keys: bool, can_ask: bool, look_only: bool) -> StepWay {
    match (first_sent_at, honours_keys, can_ask) {
        (_, _, true) if look_only => StepWay::Ask,
        (_, _, false) if look_only => StepWay::Person,
        (None, ..) | (Some(_), true, _) => StepWay::Send,
        (Some(_), false, true) => StepWay::Ask,
        (Some(_), false, false) => StepWay::Person,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use OperationState as S;
    use OrderStatus as O;
    use StepKind as K;

    #[test]
    fn a_shipment_waits_for_the_stock_where_there_is_such_a_step() {
        assert_eq!(begin(&[K::ShipmentRequest]), [(K::ShipmentRequest, S::Ready)]);
        let both = begin(&[K::ShipmentRequest, K::StockReservation, K::ConfirmationMail]);
        assert_eq!(
            both,
            [(K::ShipmentRequest, S::Waiting), (K::StockReservation, S::Ready), (K::ConfirmationMail, S::Ready)]
        );
        for kind in StepKind::ALL.iter().filter_map(|kind| StepKind::parse(kind)) {
            if let Some(released) = kind.releases() {
                assert_eq!(released.depends_on(), Some(kind));
            }
        }
    }

    #[test]
    fn an_order_is_completed_when_every_step_is_done() {
        let (stock, ship) = ((K::StockReservation, S::Done), (K::ShipmentRequest, S::Done));
        let mail = |state| (K::ConfirmationMail, state);
        assert_eq!(order_after(O::Confirmed, &[]), O::Confirmed);
        assert_eq!(order_after(O::Confirmed, &[stock, mail(S::Ready)]), O::Confirmed);
        assert_eq!(order_after(O::Confirmed, &[stock, ship, mail(S::Unknown)]), O::ShipmentRequested);
        assert_eq!(order_after(O::ShipmentRequested, &[stock, ship, mail(S::Done)]), O::Completed);
        assert_eq!(order_after(O::Confirmed, &[mail(S::Done)]), O::Completed);
        assert_eq!(order_after(O::Cancelled, &[stock, ship]), O::Cancelled);
    }

    #[test]
    fn what_may_have_happened_is_sent_again_only_where_keys_are_honoured() {
        let sent = Some(OffsetDateTime::UNIX_EPOCH);
        for (first, honours, can_ask, look_only, expected) in [
            (None, true, true, false, StepWay::Send),
            (None, false, false, false, StepWay::Send),
            (sent, true, false, false, StepWay::Send),
            (sent, false, true, false, StepWay::Ask),
            (sent, false, false, false, StepWay::Person),
            (sent, true, true, true, StepWay::Ask),
            (sent, true, false, true, StepWay::Person),
            (None, true, true, true, StepWay::Ask),
        ] {
            assert_eq!(way(first, honours, can_ask, look_only), expected);
        }
    }

    #[test]
    fn whoever_only_wants_to_know_sends_nothing() {
        for first in [None, Some(OffsetDateTime::UNIX_EPOCH)] {
            for honours in [true, false] {
                assert_eq!(way(first, honours, true, true), StepWay::Ask);
                assert_eq!(way(first, honours, false, true), StepWay::Person);
            }
        }
    }
}
