//! What is known after a call to a gateway. Never more than is certain.

use std::time::Duration;

/// The fixed texts of [`Outcome::Unknown`] and [`Outcome::NotSent`]. They go into evidence and logs as they are.
pub mod reason {
    /// The name did not resolve, no connection, or no TLS session.
    pub const NOT_CONNECTED: &str = "not_connected";
    /// No request could be made of the parameters.
    pub const NOT_BUILT: &str = "request_not_built";
    /// 429: turned away at the door.
    pub const RATE_LIMITED: &str = "rate_limited";
    /// No complete answer in time.
    pub const TIMEOUT: &str = "timeout";
    /// The connection broke after the request, or a part of it, was sent.
    pub const CONNECTION_LOST: &str = "connection_lost";
    /// The answer was longer than is read.
    pub const OVERSIZED: &str = "answer_too_large";
    /// The answer was not what its status promises.
    pub const UNREADABLE: &str = "answer_unreadable";
    /// The answer's parts do not agree with each other.
    pub const CONTRADICTORY: &str = "answer_contradictory";
    /// A status that is not in the table, redirects among them.
    pub const UNEXPECTED_STATUS: &str = "status_unexpected";
    /// 5xx.
    pub const SERVER_ERROR: &str = "server_error";
    /// 5xx, stored under the key: sending it again will only show it again. Look the payment up instead.
    pub const SERVER_ERROR_STORED: &str = "server_error_stored";
    /// 409: a request with the same key is running.
    pub const KEY_IN_USE: &str = "key_in_use";
    /// The key is known with other parameters.
    pub const KEY_REUSED: &str = "key_reused";
    /// An error, with the advice to send the same again.
    pub const ASKED_TO_RETRY: &str = "asked_to_retry";
    /// Refused, while an earlier call with the same key may have succeeded.
    pub const REFUSED_ON_REPEAT: &str = "refused_on_repeat";
    /// Not reached, while an earlier call with the same key may have succeeded.
    pub const NOT_SENT_ON_REPEAT: &str = "not_sent_on_repeat";
    /// Refused for our own credentials or permissions, before anything was tried.
    pub const CREDENTIALS_REFUSED: &str = "credentials_refused";
    /// A look-up was refused (credentials, permissions).
    pub const LOOKUP_REFUSED: &str = "lookup_refused";
    /// Not there yet, and too early to say that it never will be.
    pub const TOO_SOON: &str = "too_soon_to_tell";
    /// More payments in the time in question than are looked through.
    pub const TOO_MANY: &str = "too_many_to_list";
    /// The reference is not one.
    pub const REFERENCE: &str = "reference_invalid";

    /// A success of another amount than was asked for.
    pub const AMOUNT_DIFFERS: &str = "amount_differs";
    /// A success in another currency than was asked for.
    pub const CURRENCY_DIFFERS: &str = "currency_differs";
    /// A success in the gateway's test mode, for an organisation of live mode.
    pub const TEST_MODE: &str = "test_mode";
    /// Two successes for one attempt.
    pub const FOUND_TWICE: &str = "found_twice";
}

/// What is known of a payment (or a refund) after a call. It speaks of everything that was ever sent under the request's
/// key, not of this one call alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It happened, exactly as asked for.
    Succeeded {
        /// The gateway's reference.
        reference: String,
        /// In ISO 4217 minor units.
        amount: i64,
        /// ISO 4217 code, upper case.
        currency: String,
    },
    /// The gateway has it and has not decided. Ask by the reference, or cancel it.
    Processing {
        /// The gateway's reference.
        reference: String,
        /// The gateway's own word.
        status: &'static str,
    },
    /// Tried and failed, for good: this key will never take money.
    Declined {
        /// The gateway's reference, if it made one.
        reference: Option<String>,
        /// The gateway's code: lower-case letters, digits and `_`.
        code: String,
    },
    /// Nothing was tried, and nothing will be: invalid request, credentials, permissions, an amount that cannot be said.
    Refused {
        /// The gateway's code, or ours.
        code: String,
    },
    /// Certainly nothing happened, and the same may be sent again.
    NotSent {
        /// One of [`reason`].
        reason: &'static str,
        /// The gateway's wish, at most an hour.
        retry_after: Option<Duration>,
    },
    /// It may have happened.
    Unknown {
        /// One of [`reason`].
        reason: &'static str,
        /// The gateway's wish, at most an hour.
        retry_after: Option<Duration>,
    },
    /// Money moved, but not as asked for: for a person, at once.
    Conflict {
        /// The gateway's reference.
        reference: String,
        /// One of [`reason`].
        reason: &'static str,
        /// What the gateway says moved, in its own unit of that currency.
        gateway_amount: i64,
        /// What the gateway says, in upper case; empty when it is not three letters.
        gateway_currency: String,
    },
}

impl Outcome {
    /// It may have happened, and there is no wish when to ask.
    #[must_use]
    pub fn unknown(reason: &'static str) -> Self {
        Self::Unknown { reason, retry_after: None }
    }

    /// Refused with a code of our own.
    #[must_use]
    pub fn refused(code: &str) -> Self {
        Self::Refused { code: code.to_owned() }
    }

    /// What this call's outcome says once an earlier call with the same key may have had an effect. Rate limits,
    /// credentials and parameters are checked before the key is looked at (Stripe, "Advanced error handling"), so a
    /// refusal does not deny the earlier success — unless it is the earlier call's own answer, `replayed`.
    #[must_use]
    pub fn after_earlier_call(self, replayed: bool) -> Self {
        match self {
            Self::Refused { .. } if !replayed => Self::unknown(reason::REFUSED_ON_REPEAT),
            Self::NotSent { retry_after, .. } => Self::Unknown { reason: reason::NOT_SENT_ON_REPEAT, retry_after },
            other => other,
        }
    }
}

/// What a question found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lookup {
    /// It is there. Never [`Outcome::NotSent`] or [`Outcome::Refused`].
    Found(Outcome),
    /// It is not there and, as far as the gateway's own promises go, will not appear.
    NotFound,
    /// No answer that could be trusted. Asking again does no harm.
    Unknown {
        /// One of [`reason`].
        reason: &'static str,
        /// When it makes sense to ask again, at most an hour.
        retry_after: Option<Duration>,
    },
}

impl Lookup {
    /// Nothing learnt, and no wish when to ask.
    #[must_use]
    pub fn unknown(reason: &'static str) -> Self {
        Self::Unknown { reason, retry_after: None }
    }
}

/// What is known after a cancellation was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CancelOutcome {
    /// It has taken no money and never will.
    Cancelled {
        /// The gateway's reference.
        reference: String,
    },
    /// It cannot be cancelled, because this is how it stands.
    Stands(Outcome),
    /// The request was refused; how the payment stands is as unknown as before.
    Refused {
        /// The gateway's code, or ours.
        code: String,
    },
    /// Certainly nothing happened, and the same may be sent again.
    NotSent {
        /// One of [`reason`].
        reason: &'static str,
        /// The gateway's wish, at most an hour.
        retry_after: Option<Duration>,
    },
    /// It may have been cancelled: ask.
    Unknown {
        /// One of [`reason`].
        reason: &'static str,
        /// The gateway's wish, at most an hour.
        retry_after: Option<Duration>,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_does_not_deny_an_earlier_success() {
        let refused = || Outcome::refused("invalid_request_error");
        assert_eq!(refused().after_earlier_call(false), Outcome::unknown(reason::REFUSED_ON_REPEAT));
        assert_eq!(refused().after_earlier_call(true), refused());
        let wait = Some(Duration::from_secs(7));
        let limited = Outcome::NotSent { reason: reason::RATE_LIMITED, retry_after: wait };
        let unknown = Outcome::Unknown { reason: reason::NOT_SENT_ON_REPEAT, retry_after: wait };
        assert_eq!(limited.after_earlier_call(false), unknown);
        let declined = Outcome::Declined { reference: None, code: "card_declined".to_owned() };
        assert_eq!(declined.clone().after_earlier_call(false), declined);
    }
}
