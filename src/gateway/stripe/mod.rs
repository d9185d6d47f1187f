//! Stripe's API, by hand: nine calls, each with a pinned version and, where it changes anything, our own key.

mod classify; // what an answer means
mod find; // looks payments and refunds up by our metadata
mod recent; // lists what was made lately
mod wire; // the answers

use crate::domain::org::Mode;
use crate::gateway::addresses::Reach;
use crate::gateway::currency::to_stripe;
use crate::gateway::outcome::{CancelOutcome, Lookup, Outcome, reason};
use crate::gateway::outgoing::{Failure, Outgoing, Received, SetupError};
use crate::gateway::recent::{Recent, RecentRequest, SeenPayment, SeenRefund};
use crate::gateway::{ChargeRequest, FindRefundRequest, FindRequest, Gateway, RefundRequest, RetrieveRequest};
use classify::{Answer, Expected};
use futures_util::future::BoxFuture;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue, RETRY_AFTER};
use reqwest::{Method, RequestBuilder, Url};
use secrecy::{ExposeSecret, SecretString};
use std::fmt;
use std::time::Duration;

pub use find::{CLOCK_MARGIN, SETTLED_AFTER};

/// The version of the API whose answers are read here. Stripe serves a version for good once it was released.
pub const API_VERSION: &str = "2025-08-27.basil";
/// The longest `Retry-After` that is believed.
const MAX_RETRY_AFTER: Duration = Duration::from_hours(1);
const MAX_KEY_LENGTH: usize = 255;

/// One organisation's account at Stripe.
pub struct Stripe {
    outgoing: Outgoing,
    base: Url,
    authorization: HeaderValue,
    live: bool,
}

impl Stripe {
    /// `api_base` comes without `/v1`. Clients are made once for each mode ([`Stripe::reach`]) and shared.
    ///
    /// # Errors
    ///
    /// [`SetupError`], which never holds the address or the secret.
    pub fn new(outgoing: Outgoing, api_base: &str, secret: &SecretString, mode: Mode) -> Result<Self, SetupError> {
        let base = outgoing.checked_url(api_base.trim_end_matches('/'))?;
        if base.path().ends_with("/v1") {
            return Err(SetupError::Version);
        }
        let secret = secret.expose_secret();
        if secret.is_empty() || !secret.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(SetupError::Secret);
        }
        let mut authorization = HeaderValue::from_str(&format!("Bearer {secret}")).map_err(|_| SetupError::Secret)?;
        authorization.set_sensitive(true);
        Ok(Self { outgoing, base, authorization, live: mode == Mode::Live })
    }

    /// How far the client of an organisation reaches.
    #[must_use]
    pub fn reach(mode: Mode) -> Reach {
        match mode {
            Mode::Live => Reach::Public,
            Mode::Test => Reach::Any,
        }
    }

    fn expected<'a>(&self, amount: i64, currency: &'a str) -> Result<Expected<'a>, Outcome> {
        match to_stripe(amount, currency) {
            Ok(stripe_amount) => Ok(Expected { amount, stripe_amount, currency, live: self.live }),
            Err(error) => Err(Outcome::refused(error.code())),
        }
    }

    /// Begins a request. The path is ours, or holds an id that was checked.
    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let url = format!("{}/v1/{path}", self.base.as_str().trim_end_matches('/'));
        self.outgoing
            .client()
            .request(method, url)
            .header(AUTHORIZATION, self.authorization.clone())
            .header("Stripe-Version", API_VERSION)
    }

    async fn get(&self, path: &str, query: &[(&str, &str)]) -> Result<Received, Failure> {
        let query: String = form_urlencoded::Serializer::new(String::new()).extend_pairs(query).finish();
        let separator = if query.is_empty() { "" } else { "?" };
        self.outgoing.send(self.request(Method::GET, &format!("{path}{separator}{query}"))).await
    }

    async fn post(&self, path: &str, key: &str, form: &[(&str, &str)]) -> Result<Received, Failure> {
        self.outgoing.send(self.request(Method::POST, path).header("Idempotency-Key", key).form(form)).await
    }

    async fn charged(&self, request: &ChargeRequest) -> (Outcome, bool) {
        let expected = match self.expected(request.amount, &request.currency) {
            Ok(expected) => expected,
            Err(refused) => return (refused, false),
        };
        if !is_key(&request.key) {
            return (Outcome::refused("key_invalid"), false);
        }
        let (amount, currency) = (expected.stripe_amount.to_string(), request.currency.to_ascii_lowercase());
        let (org, order, attempt) =
            (request.org_id.to_string(), request.order_id.to_string(), request.attempt.to_string());
        let form = [
            ("amount", amount.as_str()),
            ("currency", &currency),
            ("payment_method", request.method.expose_secret()),
            ("confirm", "true"),
            // The customer is not there to act, and an intent left waiting could become money much later.
            ("error_on_requires_action", "true"),
            // Rather than a fixed list of types: which methods an account takes is set at Stripe, and a method id may
            // be of any of them. Without redirects, since there is nobody to redirect.
            ("automatic_payment_methods[enabled]", "true"),
            ("automatic_payment_methods[allow_redirects]", "never"),
            ("metadata[ichido_order_id]", &order),
            ("metadata[ichido_org_id]", &org),
            ("metadata[ichido_attempt]", &attempt),
        ];
        match self.post("payment_intents", &request.key, &form).await {
            Ok(received) => {
                let answer = answer(&received);
                (classify::payment(&answer, &expected), answer.replayed)
            }
            Err(failure) => (without_answer(failure), false),
        }
    }

    async fn refunded(&self, request: &RefundRequest) -> (Outcome, bool) {
        let expected = match self.expected(request.amount, &request.currency) {
            Ok(expected) => expected,
            Err(refused) => return (refused, false),
        };
        if !is_key(&request.key) {
            return (Outcome::refused("key_invalid"), false);
        }
        if !wire::is_id(&request.reference) {
            return (Outcome::refused(reason::REFERENCE), false);
        }
        let (amount, org, order) =
            (expected.stripe_amount.to_string(), request.org_id.to_string(), request.order_id.to_string());
        let form = [
            ("payment_intent", request.reference.as_str()),
            ("amount", &amount),
            ("metadata[ichido_order_id]", &order),
            ("metadata[ichido_org_id]", &org),
            ("metadata[ichido_refund_key]", &request.key),
        ];
        match self.post("refunds", &request.key, &form).await {
            Ok(received) => {
                let answer = answer(&received);
                (classify::refund(&answer, &expected), answer.replayed)
            }
            Err(failure) => (without_answer(failure), false),
        }
    }

    async fn retrieved(&self, request: &RetrieveRequest) -> Lookup {
        if !wire::is_id(&request.reference) {
            return Lookup::unknown(reason::REFERENCE);
        }
        let Ok(expected) = self.expected(request.amount, &request.currency) else {
            return Lookup::unknown(reason::NOT_BUILT);
        };
        match self.get(&format!("payment_intents/{}", request.reference), &[]).await {
            Ok(received) => classify::retrieved(&answer(&received), &request.reference, &expected),
            Err(failure) => nothing_learnt(failure),
        }
    }

    async fn cancelled(&self, request: &RetrieveRequest, key: &str) -> CancelOutcome {
        if !wire::is_id(&request.reference) || !is_key(key) {
            return CancelOutcome::Refused { code: reason::REFERENCE.to_owned() };
        }
        let Ok(expected) = self.expected(request.amount, &request.currency) else {
            return CancelOutcome::Refused { code: reason::NOT_BUILT.to_owned() };
        };
        let form = [("cancellation_reason", "abandoned")];
        match self.post(&format!("payment_intents/{}/cancel", request.reference), key, &form).await {
            Ok(received) => classify::cancelled(&answer(&received), &request.reference, &expected),
            Err(Failure::NotSent(reason)) => CancelOutcome::NotSent { reason, retry_after: None },
            Err(Failure::NoAnswer(reason)) => CancelOutcome::Unknown { reason, retry_after: None },
        }
    }
}

impl Gateway for Stripe {
    fn charge(&self, request: ChargeRequest) -> BoxFuture<'_, Outcome> {
        Box::pin(async move {
            let (outcome, replayed) = self.charged(&request).await;
            if request.sent_before { outcome.after_earlier_call(replayed) } else { outcome }
        })
    }

    fn find(&self, request: FindRequest) -> BoxFuture<'_, Lookup> {
        Box::pin(async move { self.in_time(self.payment_by_metadata(&request)).await })
    }

    fn retrieve(&self, request: RetrieveRequest) -> BoxFuture<'_, Lookup> {
        Box::pin(async move { self.retrieved(&request).await })
    }

    fn cancel(&self, request: RetrieveRequest, key: String) -> BoxFuture<'_, CancelOutcome> {
        Box::pin(async move { self.cancelled(&request, &key).await })
    }

    fn refund(&self, request: RefundRequest) -> BoxFuture<'_, Outcome> {
        Box::pin(async move {
            let (outcome, replayed) = self.refunded(&request).await;
            if request.sent_before { outcome.after_earlier_call(replayed) } else { outcome }
        })
    }

    fn find_refund(&self, request: FindRefundRequest) -> BoxFuture<'_, Lookup> {
        Box::pin(async move { self.in_time(self.refund_by_metadata(&request)).await })
    }

    fn recent_payments(&self, request: RecentRequest) -> BoxFuture<'_, Recent<SeenPayment>> {
        Box::pin(async move { self.payments_page(&request).await })
    }

    fn recent_refunds(&self, request: RecentRequest) -> BoxFuture<'_, Recent<SeenRefund>> {
        Box::pin(async move { self.refunds_page(&request).await })
    }
}

impl fmt::Debug for Stripe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stripe").field("live", &self.live).finish_non_exhaustive()
    }
}

fn answer(received: &Received) -> Answer<'_> {
    Answer {
        status: received.status,
        should_retry: is_true(&received.headers, "Stripe-Should-Retry"),
        replayed: is_true(&received.headers, "Idempotent-Replayed"),
        retry_after: retry_after(&received.headers),
        body: &received.body,
    }
}

fn is_true(headers: &HeaderMap, name: &str) -> bool {
    headers.get(name).is_some_and(|value| value.as_bytes() == b"true")
}

/// The form in seconds only; Stripe sends no dates.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds).min(MAX_RETRY_AFTER))
}

fn is_key(key: &str) -> bool {
    (1..=MAX_KEY_LENGTH).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic())
}

fn without_answer(failure: Failure) -> Outcome {
    match failure {
        Failure::NotSent(reason) => Outcome::NotSent { reason, retry_after: None },
        Failure::NoAnswer(reason) => Outcome::unknown(reason),
    }
}

/// A question that was not answered changed nothing, sent or not.
fn nothing_learnt(failure: Failure) -> Lookup {
    let (Failure::NotSent(reason) | Failure::NoAnswer(reason)) = failure;
    Lookup::unknown(reason)
}
