//! What an answer of Stripe's means: pure functions of status, headers and body, with their table in the tests.
//!
//! Sources: Stripe Docs, "Advanced error handling" (which errors are stored under a key, what `Stripe-Should-Retry`
//! says), "Idempotent requests", "Error codes", and the life cycle in "The Payment Intents API".

use crate::gateway::outcome::{CancelOutcome, Lookup, Outcome, reason};
use crate::gateway::stripe::wire::{ApiError, ErrorBody, Intent, Refund, first_code, is_id};
use serde::de::DeserializeOwned;
use std::time::Duration;

/// An answer as it came.
#[derive(Debug, Clone, Copy)]
pub struct Answer<'a> {
    /// HTTP status.
    pub status: u16,
    /// `Stripe-Should-Retry: true`.
    pub should_retry: bool,
    /// `Idempotent-Replayed: true`: what an earlier request with the same key got.
    pub replayed: bool,
    /// `Retry-After`, at most an hour.
    pub retry_after: Option<Duration>,
    /// The whole body.
    pub body: &'a [u8],
}

/// What a success must be.
#[derive(Debug, Clone, Copy)]
pub struct Expected<'a> {
    /// In ISO 4217 minor units.
    pub amount: i64,
    /// The same in Stripe's unit.
    pub stripe_amount: i64,
    /// ISO 4217 code, upper case.
    pub currency: &'a str,
    /// Whether money of Stripe's test mode is none.
    pub live: bool,
}

/// What the answer to a created and confirmed payment says.
#[must_use]
pub fn payment(answer: &Answer<'_>, expected: &Expected<'_>) -> Outcome {
    match answer.status {
        200 => read::<Intent>(answer).map_or_else(unreadable, |found| intent(&found, expected)),
        402 => read::<ErrorBody>(answer).map_or_else(unreadable, |body| failed_payment(&body.error, expected)),
        _ => error(answer, expected),
    }
}

/// What the answer to a refund says.
#[must_use]
pub fn refund(answer: &Answer<'_>, expected: &Expected<'_>) -> Outcome {
    match answer.status {
        200 => read::<Refund>(answer).map_or_else(unreadable, |found| made_refund(&found, expected)),
        402 => read::<ErrorBody>(answer)
            .map_or_else(unreadable, |body| Outcome::Declined { reference: None, code: code_of(&body.error) }),
        _ => error(answer, expected),
    }
}

/// What the answer to a question by reference says.
#[must_use]
pub fn retrieved(answer: &Answer<'_>, reference: &str, expected: &Expected<'_>) -> Lookup {
    match answer.status {
        200 => match read::<Intent>(answer).filter(|found| found.id == reference) {
            Some(found) => Lookup::Found(intent(&found, expected)),
            None => Lookup::unknown(reason::UNREADABLE),
        },
        404 => match read::<ErrorBody>(answer) {
            Some(body) if body.error.code.as_deref() == Some("resource_missing") => Lookup::NotFound,
            _ => Lookup::unknown(reason::UNREADABLE),
        },
        _ => not_looked_up(answer),
    }
}

/// What the answer to a cancellation says.
#[must_use]
pub fn cancelled(answer: &Answer<'_>, reference: &str, expected: &Expected<'_>) -> CancelOutcome {
    let found = match answer.status {
        200 => read::<Intent>(answer),
        400 => read::<ErrorBody>(answer).and_then(|body| body.error.payment_intent),
        _ => None,
    };
    if let Some(found) = found {
        if found.id != reference || found.object != "payment_intent" {
            return CancelOutcome::Unknown { reason: reason::UNREADABLE, retry_after: None };
        }
        return match found.status.as_str() {
            "canceled" => CancelOutcome::Cancelled { reference: found.id },
            _ => CancelOutcome::Stands(intent(&found, expected)),
        };
    }
    if answer.status == 200 {
        return CancelOutcome::Unknown { reason: reason::UNREADABLE, retry_after: None };
    }
    match error(answer, expected) {
        Outcome::Refused { code } => CancelOutcome::Refused { code },
        Outcome::NotSent { reason, retry_after } => CancelOutcome::NotSent { reason, retry_after },
        Outcome::Unknown { reason, retry_after } => CancelOutcome::Unknown { reason, retry_after },
        other => CancelOutcome::Stands(other),
    }
}

/// What an answer other than 200 and 404 says to a question.
#[must_use]
pub fn not_looked_up(answer: &Answer<'_>) -> Lookup {
    let reason = match answer.status {
        429 => reason::RATE_LIMITED,
        401 | 403 => reason::LOOKUP_REFUSED,
        500..=599 => reason::SERVER_ERROR,
        _ => reason::UNEXPECTED_STATUS,
    };
    Lookup::Unknown { reason, retry_after: answer.retry_after }
}

/// How a payment intent stands. A success counts only when what was received is what was asked for.
#[must_use]
pub fn intent(found: &Intent, expected: &Expected<'_>) -> Outcome {
    if found.object != "payment_intent" || !is_id(&found.id) {
        return unreadable();
    }
    let reference = found.id.clone();
    let processing = |status| Outcome::Processing { reference: reference.clone(), status };
    match found.status.as_str() {
        "succeeded" => success(&found.id, found.amount_received, found.currency.as_deref(), found.livemode, expected),
        "processing" => processing("processing"),
        // Asked to be an error; nobody will act, but it could still become money until it is cancelled.
        "requires_action" => processing("requires_action"),
        "requires_confirmation" => processing("requires_confirmation"),
        "requires_capture" => processing("requires_capture"),
        "requires_payment_method" => match &found.last_payment_error {
            Some(why) => Outcome::Declined { reference: Some(reference), code: code_of_failure(why) },
            // Created, and not tried yet: seen while the request that confirms it is still running.
            None => processing("requires_payment_method"),
        },
        "canceled" => Outcome::Declined { reference: Some(reference), code: "canceled".to_owned() },
        _ => Outcome::unknown(reason::UNREADABLE),
    }
}

/// How a refund stands.
#[must_use]
pub fn made_refund(found: &Refund, expected: &Expected<'_>) -> Outcome {
    if found.object != "refund" || !is_id(&found.id) {
        return unreadable();
    }
    let reference = found.id.clone();
    match found.status.as_deref() {
        // A refund has no `livemode`; that of its payment was looked at when it was charged.
        Some("succeeded") => success(&found.id, found.amount, found.currency.as_deref(), Some(true), expected),
        Some("pending") => Outcome::Processing { reference, status: "pending" },
        Some("requires_action") => Outcome::Processing { reference, status: "requires_action" },
        Some("failed") => {
            let code = first_code([found.failure_reason.as_deref(), Some("failed"), None]);
            Outcome::Declined { reference: Some(reference), code }
        }
        Some("canceled") => Outcome::Declined { reference: Some(reference), code: "canceled".to_owned() },
        _ => unreadable(),
    }
}

fn success(
    id: &str,
    amount: Option<i64>,
    currency: Option<&str>,
    livemode: Option<bool>,
    expected: &Expected<'_>,
) -> Outcome {
    let (Some(amount), Some(currency)) = (amount, currency) else { return unreadable() };
    let currency = currency.to_ascii_uppercase();
    let differs = if currency != expected.currency {
        reason::CURRENCY_DIFFERS
    } else if amount != expected.stripe_amount {
        reason::AMOUNT_DIFFERS
    } else if expected.live && livemode != Some(true) {
        reason::TEST_MODE
    } else {
        return Outcome::Succeeded { reference: id.to_owned(), amount: expected.amount, currency };
    };
    let is_currency = currency.len() == 3 && currency.bytes().all(|byte| byte.is_ascii_uppercase());
    let gateway_currency = if is_currency { currency } else { String::new() };
    Outcome::Conflict { reference: id.to_owned(), reason: differs, gateway_amount: amount, gateway_currency }
}

/// 402: the parameters were right and the payment failed.
fn failed_payment(failure: &ApiError, expected: &Expected<'_>) -> Outcome {
    let declined = |reference| Outcome::Declined { reference, code: code_of(failure) };
    let Some(found) = &failure.payment_intent else {
        return match failure.kind.as_str() {
            "card_error" => declined(None),
            _ => Outcome::unknown(reason::UNEXPECTED_STATUS),
        };
    };
    match intent(found, expected) {
        Outcome::Declined { reference, .. } => declined(reference),
        // An authentication that nobody will give (`error_on_requires_action`).
        Outcome::Processing { reference, status } if status != "processing" && status != "requires_capture" => {
            declined(Some(reference))
        }
        _ => Outcome::unknown(reason::CONTRADICTORY),
    }
}

/// What any other status says.
fn error(answer: &Answer<'_>, expected: &Expected<'_>) -> Outcome {
    let retry_after = answer.retry_after;
    let unknown = |reason| Outcome::Unknown { reason, retry_after };
    match answer.status {
        400 | 401 | 403 | 404 => match read::<ErrorBody>(answer) {
            Some(body) => refusal(answer, &body.error, expected),
            None => unknown(reason::UNREADABLE),
        },
        409 => unknown(reason::KEY_IN_USE),
        // Limits are checked before the key and before any work.
        429 => Outcome::NotSent { reason: reason::RATE_LIMITED, retry_after },
        500..=599 if answer.replayed => unknown(reason::SERVER_ERROR_STORED),
        500..=599 => unknown(reason::SERVER_ERROR),
        _ => unknown(reason::UNEXPECTED_STATUS),
    }
}

/// A well-formed 4xx. It is definite unless it says itself that it is not.
fn refusal(answer: &Answer<'_>, refused: &ApiError, expected: &Expected<'_>) -> Outcome {
    let unknown = |reason| Outcome::Unknown { reason, retry_after: answer.retry_after };
    match refused.kind.as_str() {
        "idempotency_error" => return unknown(reason::KEY_REUSED),
        "api_error" => return unknown(reason::SERVER_ERROR),
        _ if answer.should_retry => return unknown(reason::ASKED_TO_RETRY),
        _ => {}
    }
    let touched = refused.payment_intent.as_ref().map(|found| intent(found, expected));
    match touched {
        // Nobody's card was refused: we were. It may be put right, and is sent again.
        None if matches!(answer.status, 401 | 403) => {
            Outcome::NotSent { reason: reason::CREDENTIALS_REFUSED, retry_after: answer.retry_after }
        }
        None | Some(Outcome::Declined { .. }) => Outcome::Refused { code: code_of(refused) },
        Some(Outcome::Processing { status: "requires_payment_method" | "requires_confirmation", .. }) => {
            Outcome::Refused { code: code_of(refused) }
        }
        Some(_) => unknown(reason::CONTRADICTORY),
    }
}

fn code_of(error: &ApiError) -> String {
    first_code([error.decline_code.as_deref(), error.code.as_deref(), Some(&error.kind)])
}

fn code_of_failure(why: &super::wire::ApiErrorCodes) -> String {
    first_code([why.decline_code.as_deref(), why.code.as_deref(), None])
}

fn unreadable() -> Outcome {
    Outcome::unknown(reason::UNREADABLE)
}

/// The body as `T`; `None` for anything else.
pub(super) fn read<T: DeserializeOwned>(answer: &Answer<'_>) -> Option<T> {
    serde_json::from_slice(answer.body).ok()
}

#[cfg(test)]
#[path = "classify_tests.rs"]
mod tests;
