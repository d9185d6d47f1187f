//! Business partners over HTTP: one small protocol for every kind of step (stock, shipment, mail, accounting).
//!
//! `POST` with `Idempotency-Key` and `{operation_key, kind, order_id, amount, currency, metadata}` does the work and answers
//! `{"reference"}`; `GET ?operation_key=` on the status address answers `{"happened": true|false|null, "reference"}`. With a
//! secret every call carries `Ichido-Signature: t=<seconds>,v1=<hex HMAC-SHA256 of "t.body">`; of a question the operation key is signed.

use crate::domain::ids::OrderId;
use crate::gateway::outcome::reason;
use crate::gateway::outgoing::{Failure, Outgoing, Received, SetupError};
use hmac::{Hmac, KeyInit, Mac};
use reqwest::Url;
use reqwest::header::{CONTENT_TYPE, RETRY_AFTER};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use std::collections::BTreeMap;
use std::time::Duration;

/// Work to be done, once.
#[derive(Debug, Clone, Serialize)]
pub struct PartnerRequest {
    /// Its key: the same in every sending.
    pub operation_key: String,
    /// Which step.
    pub kind: &'static str,
    /// For which order.
    pub order_id: OrderId,
    /// What the order costs, in the currency's minor unit.
    pub amount: i64,
    /// ISO 4217.
    pub currency: String,
    /// The client's own labels.
    pub metadata: BTreeMap<String, String>,
}

/// What is known after a call. It speaks of everything that was ever sent under the key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartnerOutcome {
    /// It was done.
    Done {
        /// The partner's own name for it.
        reference: Option<String>,
    },
    /// The partner was asked, and says that it was not done.
    NotDone,
    /// Refused for good.
    Refused {
        /// One of [`reason`], or a fixed text for the status.
        reason: &'static str,
    },
    /// Certainly nothing happened, and the same may be sent again.
    NotSent {
        /// One of [`reason`].
        reason: &'static str,
        /// The partner's wish, at most an hour.
        retry_after: Option<Duration>,
    },
    /// It may have been done.
    Unknown {
        /// One of [`reason`].
        reason: &'static str,
        /// The partner's wish, at most an hour.
        retry_after: Option<Duration>,
    },
}

/// One step's partner.
pub struct HttpPartner {
    outgoing: Outgoing,
    url: Url,
    status_url: Option<Url>,
    secret: Option<SecretString>,
}

const SIGNATURE: &str = "Ichido-Signature";
/// The longest `Retry-After` that is believed.
const MAX_RETRY_AFTER: Duration = Duration::from_hours(1);
/// The longest reference that is kept.
const MAX_REFERENCE: usize = 255;

#[derive(Deserialize)]
struct Done {
    reference: String,
}

#[derive(Deserialize)]
struct Status {
    happened: Option<bool>,
    reference: Option<String>,
}

impl HttpPartner {
    /// Addresses may have a query of their own.
    ///
    /// # Errors
    ///
    /// [`SetupError`].
    pub fn new(
        outgoing: Outgoing,
        url: &str,
        status_url: Option<&str>,
        secret: Option<SecretString>,
    ) -> Result<Self, SetupError> {
        let url = checked(&outgoing, url)?;
        let status_url = status_url.map(|url| checked(&outgoing, url)).transpose()?;
        Ok(Self { outgoing, url, status_url, secret })
    }

    /// Has the work done. `now` is in seconds of the Unix epoch, for the signature. Of a repetition a refusal, or not being
    /// reached, says nothing about the earlier sending; that is the caller's to know.
    pub async fn perform(&self, request: &PartnerRequest, now: i64) -> PartnerOutcome {
        let Ok(body) = serde_json::to_vec(request) else {
            return PartnerOutcome::Refused { reason: reason::NOT_BUILT };
        };
        let mut call = self.outgoing.client().post(self.url.clone()).header(CONTENT_TYPE, "application/json");
        call = call.header("Idempotency-Key", &request.operation_key);
        if let Some(signature) = self.signature(now, &body) {
            call = call.header(SIGNATURE, signature);
        }
        match self.outgoing.send(call.body(body)).await {
            Ok(received) => performed(&received),
            Err(Failure::NotSent(reason)) => PartnerOutcome::NotSent { reason, retry_after: None },
            Err(Failure::NoAnswer(reason)) => PartnerOutcome::Unknown { reason, retry_after: None },
        }
    }

    /// Asks whether the work was done. Changes nothing. Only where there is a status address.
    pub async fn ask(&self, operation_key: &str, now: i64) -> PartnerOutcome {
        let Some(mut url) = self.status_url.clone() else {
            return PartnerOutcome::Unknown { reason: reason::LOOKUP_REFUSED, retry_after: None };
        };
        url.query_pairs_mut().append_pair("operation_key", operation_key);
        let mut call = self.outgoing.client().get(url);
        if let Some(signature) = self.signature(now, operation_key.as_bytes()) {
            call = call.header(SIGNATURE, signature);
        }
        match self.outgoing.send(call).await {
            Ok(received) => asked(&received),
            Err(Failure::NotSent(reason) | Failure::NoAnswer(reason)) => {
                PartnerOutcome::Unknown { reason, retry_after: None }
            }
        }
    }

    fn signature(&self, now: i64, body: &[u8]) -> Option<String> {
        let secret = self.secret.as_ref()?;
        // HMAC takes keys of every length, so there is always one.
        let mut mac = Hmac::<Sha256>::new_from_slice(secret.expose_secret().as_bytes()).ok()?;
        mac.update(format!("{now}.").as_bytes());
        mac.update(body);
        let hex: String = mac.finalize().into_bytes().iter().fold(String::new(), |mut text, byte| {
            use std::fmt::Write;
            let _ = write!(text, "{byte:02x}");
            text
        });
        Some(format!("t={now},v1={hex}"))
    }
}

/// A query is a partner's own business; everything else is held to the rules for outgoing calls.
fn checked(outgoing: &Outgoing, text: &str) -> Result<Url, SetupError> {
    let url = Url::parse(text).map_err(|_| SetupError::Url)?;
    let mut plain = url.clone();
    plain.set_query(None);
    outgoing.checked_url(plain.as_str()).map(|_| url)
}

fn performed(received: &Received) -> PartnerOutcome {
    let retry_after = retry_after(received);
    let unknown = |reason| PartnerOutcome::Unknown { reason, retry_after };
    match received.status {
        // Without its reference an answer is not one of this protocol, whatever its status promises.
        200..=299 => match serde_json::from_slice::<Done>(&received.body) {
            Ok(Done { reference }) if is_object(&received.body) && !reference.is_empty() => done(Some(reference)),
            _ => unknown(reason::UNREADABLE),
        },
        401 | 403 => PartnerOutcome::NotSent { reason: reason::CREDENTIALS_REFUSED, retry_after },
        409 => unknown(reason::KEY_IN_USE),
        425 | 429 => PartnerOutcome::NotSent { reason: reason::RATE_LIMITED, retry_after },
        400 | 404 | 405 | 410 | 413 | 415 | 422 => PartnerOutcome::Refused { reason: "refused" },
        500..=599 => unknown(reason::SERVER_ERROR),
        _ => unknown(reason::UNEXPECTED_STATUS),
    }
}

fn asked(received: &Received) -> PartnerOutcome {
    let retry_after = retry_after(received);
    let unknown = |reason| PartnerOutcome::Unknown { reason, retry_after };
    match (received.status, serde_json::from_slice::<Status>(&received.body)) {
        (200, Ok(Status { happened: Some(true), reference })) => done(reference),
        (200, Ok(Status { happened: Some(false), .. })) => PartnerOutcome::NotDone,
        (200, Ok(Status { happened: None, .. })) => unknown("cannot_tell"),
        (200, Err(_)) => unknown(reason::UNREADABLE),
        (400..=499, _) => unknown(reason::LOOKUP_REFUSED),
        (500..=599, _) => unknown(reason::SERVER_ERROR),
        _ => unknown(reason::UNEXPECTED_STATUS),
    }
}

fn done(reference: Option<String>) -> PartnerOutcome {
    let reference = reference.filter(|text| text.len() <= MAX_REFERENCE && !text.contains('\0'));
    PartnerOutcome::Done { reference }
}

/// Structures can be read from arrays, too; those are no answer.
fn is_object(body: &[u8]) -> bool {
    body.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{')
}

/// The form in seconds only.
fn retry_after(received: &Received) -> Option<Duration> {
    let seconds = received.headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds).min(MAX_RETRY_AFTER))
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::HeaderMap;

    fn received(status: u16, body: &str) -> Received {
        Received { status, headers: HeaderMap::new(), body: body.as_bytes().to_vec() }
    }

    #[test]
    fn only_an_answer_of_the_protocol_means_done() {
        let done = PartnerOutcome::Done { reference: Some("r1".to_owned()) };
        assert_eq!(performed(&received(201, r#" {"reference":"r1","more":1}"#)), done);
        for body in
            ["", "{}", "[]", r#"["r1"]"#, r#"{"reference":""}"#, r#"{"reference":null}"#, "<html>", r#"{"error":"no"}"#]
        {
            let outcome = performed(&received(200, body));
            assert!(matches!(outcome, PartnerOutcome::Unknown { .. }), "{body}: {outcome:?}");
        }
        for (status, refused) in [(302, false), (404, true), (422, true), (409, false), (500, false), (418, false)] {
            assert_eq!(
                matches!(performed(&received(status, "{}")), PartnerOutcome::Refused { .. }),
                refused,
                "{status}"
            );
        }
    }

    #[test]
    fn a_question_is_answered_by_yes_no_or_nothing() {
        assert!(matches!(asked(&received(200, r#"{"happened":true,"reference":"r"}"#)), PartnerOutcome::Done { .. }));
        assert_eq!(asked(&received(200, r#"{"happened":false,"reference":null}"#)), PartnerOutcome::NotDone);
        for (status, body) in
            [(200, r#"{"happened":null}"#), (200, "{}"), (404, r#"{"happened":false}"#), (500, ""), (302, "")]
        {
            assert!(matches!(asked(&received(status, body)), PartnerOutcome::Unknown { .. }), "{status} {body}");
        }
    }
}
