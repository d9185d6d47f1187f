//! Calls the gateway, and says in our own words what came of it.

use crate::db::operations::OperationId;
use crate::domain::payment::ChargeFact;
use crate::gateway::{CancelOutcome, ChargeRequest, Gateway, Lookup, Outcome};
use secrecy::SecretString;
use std::time::Duration;

/// What to send.
pub struct Call {
    /// Which charge.
    pub id: OperationId,
    /// Its key at the gateway.
    pub operation_key: String,
    /// In the currency's minor unit.
    pub amount: i64,
    /// ISO 4217.
    pub currency: String,
    /// What it is paid with.
    pub method: SecretString,
    /// Whether an earlier call with this key may have reached the gateway.
    pub sent_before: bool,
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heard {
    /// In our words.
    pub fact: ChargeFact,
    /// A short code for the record.
    pub outcome: &'static str,
    /// When the gateway wants to be asked again.
    pub retry_after: Option<Duration>,
}

/// Nothing was sent, since the lease would not outlast the call.
pub const TOO_LATE: Heard = Heard { fact: ChargeFact::NotSent, outcome: "too_late_to_send", retry_after: None };

impl Heard {
    /// Nobody knows.
    #[must_use]
    pub fn no_answer(outcome: &'static str) -> Self {
        Self { fact: ChargeFact::NoAnswer, outcome, retry_after: None }
    }

    /// It was ended before it took anything, or there was nothing to end.
    #[must_use]
    pub fn ended() -> Self {
        let fact = ChargeFact::Declined { reference: None, code: CANCELLED.to_owned() };
        Self { fact, outcome: CANCELLED, retry_after: None }
    }
}

/// Sends a charge. The same key with the same parameters is the same charge, so this is also how one asks what became of
/// an earlier call, for as long as the gateway keeps keys.
pub async fn send(gateway: &dyn Gateway, call: Call) -> Heard {
    let request = ChargeRequest {
        key: call.operation_key,
        org_id: call.id.org_id,
        order_id: call.id.order_id,
        attempt: call.id.attempt().unwrap_or_default(),
        amount: call.amount,
        currency: call.currency,
        method: call.method,
        sent_before: call.sent_before,
    };
    heard(gateway.charge(request).await)
}

/// An outcome of a charge.
#[must_use]
pub fn heard(outcome: Outcome) -> Heard {
    let plain = |fact, outcome| Heard { fact, outcome, retry_after: None };
    match outcome {
        Outcome::Succeeded { reference, .. } => {
            plain(ChargeFact::Succeeded { reference: Some(reference) }, "succeeded")
        }
        Outcome::Processing { reference, status } => plain(ChargeFact::Processing { reference }, status),
        Outcome::Declined { reference, code } => plain(ChargeFact::Declined { reference, code }, "declined"),
        Outcome::Refused { code } => plain(ChargeFact::Declined { reference: None, code }, "refused"),
        Outcome::NotSent { reason, retry_after } => Heard { fact: ChargeFact::NotSent, outcome: reason, retry_after },
        Outcome::Unknown { reason, retry_after } => Heard { fact: ChargeFact::NoAnswer, outcome: reason, retry_after },
        Outcome::Conflict { reference, reason, .. } => {
            plain(ChargeFact::Conflict { reference: Some(reference) }, reason)
        }
    }
}

/// What a question found.
#[must_use]
pub fn looked_up(lookup: Lookup) -> Heard {
    match lookup {
        Lookup::Found(outcome) => heard(outcome),
        Lookup::NotFound => Heard { fact: ChargeFact::DidNotHappen, outcome: "not_found", retry_after: None },
        Lookup::Unknown { reason, retry_after } => Heard { fact: ChargeFact::NoAnswer, outcome: reason, retry_after },
    }
}

/// The code of an attempt that was ended before it took anything.
pub const CANCELLED: &str = "cancelled";

/// What a cancellation came to.
#[must_use]
pub fn cancelled(outcome: CancelOutcome) -> Heard {
    match outcome {
        CancelOutcome::Cancelled { reference } => Heard {
            fact: ChargeFact::Declined { reference: Some(reference), code: CANCELLED.to_owned() },
            outcome: CANCELLED,
            retry_after: None,
        },
        CancelOutcome::Stands(outcome) => heard(outcome),
        CancelOutcome::Refused { .. } => Heard::no_answer("cancel_refused"),
        CancelOutcome::NotSent { reason, retry_after } | CancelOutcome::Unknown { reason, retry_after } => {
            Heard { fact: ChargeFact::NoAnswer, outcome: reason, retry_after }
        }
    }
}
