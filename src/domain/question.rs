//! How to find out what became of a charge whose answer was lost.

use time::{Duration, OffsetDateTime};

/// Gateways forget keys (Stripe: after 24 h); an hour earlier we stop to rely on them.
pub const KEY_LIFETIME: Duration = Duration::hours(23);

/// The way to ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    /// Send the same call under the same key: what happened is answered again, what did not happen happens now.
    SendAgain,
    /// Look it up and change nothing.
    LookUp,
    /// Look it up, and end what has taken no money yet.
    LookUpAndCancel,
}

/// Decides how to ask. `unwanted`: the order is to be cancelled, or a person decided that the attempt is to be given up.
/// `look_only`: a person wants to know, and nothing to be done. `can_send`: whether the call could be sent again, byte for byte, and whether that would tell anything.
#[must_use]
pub fn question(
    first_sent_at: Option<OffsetDateTime>,
    now: OffsetDateTime,
    unwanted: bool,
    look_only: bool,
    can_send: bool,
) -> Question {
    let key_is_good =
        planted!("gateway_key_for_ever", true, first_sent_at.is_none_or(|sent| now < sent + KEY_LIFETIME));
    match (unwanted, can_send && key_is_good && !look_only) {
        (true, _) => Question::LookUpAndCancel,
        (false, true) => Question::SendAgain,
        (false, false) => Question::LookUp,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_sent_again_only_while_the_gateway_keeps_it() {
        let sent = OffsetDateTime::UNIX_EPOCH;
        let at =
            |hours, unwanted, can_send| question(Some(sent), sent + Duration::hours(hours), unwanted, false, can_send);
        assert_eq!(at(0, false, true), Question::SendAgain);
        assert_eq!(at(22, false, true), Question::SendAgain);
        assert_eq!(at(23, false, true), Question::LookUp);
        assert_eq!(at(1, false, false), Question::LookUp);
        for hours in [0, 1, 30] {
            assert_eq!(at(hours, true, true), Question::LookUpAndCancel);
        }
        assert_eq!(question(None, sent, false, false, true), Question::SendAgain);
        assert_eq!(question(None, sent, false, true, true), Question::LookUp);
        assert_eq!(question(None, sent, true, true, true), Question::LookUpAndCancel);
    }
}
