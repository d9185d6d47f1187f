//! How a dispute stands, from all that was told of it in whatever order.

/// How it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// The bank only asks; no money is away.
    Inquiry,
    /// The payer objects, and the money is away until it is decided.
    Open,
    /// The money stays, or came back.
    Won,
    /// The money is gone.
    Lost,
}

/// How a dispute stands that was told to be in each of these states: what is decided stays decided.
#[must_use]
pub fn standing(statuses: &[&str]) -> Standing {
    let told = |names: &[&str]| statuses.iter().any(|status| names.contains(status));
    if told(&["lost"]) {
        Standing::Lost
    } else if told(&["won", "warning_closed", "prevented"]) {
        Standing::Won
    } else if statuses.iter().all(|status| status.starts_with("warning_")) {
        Standing::Inquiry
    } else {
        Standing::Open
    }
}

impl Standing {
    /// Whether the payment counts as disputed.
    #[must_use]
    pub fn is_disputed(self) -> bool {
        matches!(self, Self::Open | Self::Lost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_in_which_it_is_told_makes_no_difference() {
        for (told, expected) in [
            (&["needs_response"][..], Standing::Open),
            (&["needs_response", "under_review"], Standing::Open),
            (&["warning_needs_response"], Standing::Inquiry),
            (&["warning_needs_response", "warning_closed"], Standing::Won),
            (&["warning_needs_response", "needs_response"], Standing::Open),
            (&["needs_response", "won"], Standing::Won),
            (&["needs_response", "lost"], Standing::Lost),
            (&["something_new"], Standing::Open),
        ] {
            let reversed: Vec<_> = told.iter().rev().copied().collect();
            assert_eq!((standing(told), standing(&reversed)), (expected, expected), "{told:?}");
        }
    }

    #[test]
    fn a_payment_is_disputed_while_its_money_is_away() {
        let disputed = [Standing::Inquiry, Standing::Open, Standing::Won, Standing::Lost].map(Standing::is_disputed);
        assert_eq!(disputed, [false, true, false, true]);
    }
}
