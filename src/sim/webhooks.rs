//! Stripe's notifications: signed, sent in the background, tried a few times.

use crate::sim::signature::stripe_signature;
use crate::sim::{new_id, now};
use reqwest::{Client, Url};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::time::sleep;

/// Pauses between the tries of one notification. Stripe's own go on for days; tests do not.
const PAUSES: [Duration; 4] =
    [Duration::from_millis(200), Duration::from_secs(1), Duration::from_secs(3), Duration::from_secs(10)];
const TRY_TIME: Duration = Duration::from_secs(10);
/// Deliveries at the same time.
const MAX_AT_ONCE: usize = 32;
/// The version of Stripe's API that the objects follow.
pub const API_VERSION: &str = "2026-10-28.endive";

/// From which call something came.
#[derive(Debug, Clone, Default)]
pub struct Origin {
    /// The request's id; none for what happens by itself.
    pub request_id: Option<String>,
    /// Its idempotency key.
    pub key: Option<String>,
    /// When, in seconds since 1970.
    pub now: i64,
}

/// The body of a notification: an event with the object as it is now.
pub fn event(id: Option<String>, kind: &str, object: &Value, origin: &Origin) -> String {
    let event = json!({
        "id": id.unwrap_or_else(|| new_id("evt")),
        "object": "event",
        "api_version": API_VERSION,
        "created": origin.now,
        "data": { "object": object },
        "livemode": false,
        "pending_webhooks": 1,
        "request": { "id": origin.request_id, "idempotency_key": origin.key },
        "type": kind,
    });
    event.to_string()
}

/// Where notifications go.
pub struct Webhooks {
    client: Client,
    url: Url,
    secret: SecretString,
    permits: Semaphore,
}

impl Webhooks {
    /// A sender, when there is an address.
    ///
    /// # Errors
    ///
    /// When the address is no HTTP URL, or there is no secret for it.
    pub fn new(url: Option<&str>, secret: Option<SecretString>) -> io::Result<Option<Self>> {
        let Some(url) = url else {
            return Ok(None);
        };
        let invalid = |why: &str| io::Error::new(io::ErrorKind::InvalidInput, why.to_owned());
        let url = Url::parse(url).map_err(|_| invalid("the webhook URL is not valid"))?;
        let secret = secret.filter(|secret| !secret.expose_secret().is_empty());
        let secret = secret.ok_or_else(|| invalid("notifications need a secret to be signed with"))?;
        // Fails only when a provider is installed already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder().timeout(TRY_TIME).no_proxy().redirect(reqwest::redirect::Policy::none());
        let client = client.build().map_err(io::Error::other)?;
        Ok(Some(Self { client, url, secret, permits: Semaphore::new(MAX_AT_ONCE) }))
    }

    /// Sends a notification until it is answered with 2xx, or for the last time.
    pub fn send_in_background(self: &Arc<Self>, runtime: &Handle, body: String) {
        let webhooks = Arc::clone(self);
        runtime.spawn(async move {
            let pauses = PAUSES.into_iter().map(Some).chain([None]);
            for pause in pauses {
                match webhooks.deliver(&body).await {
                    Ok(status) if (200..300).contains(&status) => return,
                    Ok(status) => tracing::debug!(status, "a notification was not accepted"),
                    Err(error) => tracing::debug!(%error, "a notification was not answered"),
                }
                if let Some(pause) = pause {
                    sleep(pause).await;
                }
            }
            tracing::warn!("a notification was given up");
        });
    }

    /// Sends a notification once, and returns the answer's status.
    ///
    /// # Errors
    ///
    /// What went wrong, for people.
    pub async fn deliver(&self, body: &str) -> Result<u16, String> {
        // Closed never, so there is always a permit in the end.
        let _permit = self.permits.acquire().await.map_err(|error| error.to_string())?;
        let signature = stripe_signature(self.secret.expose_secret().as_bytes(), now(), body.as_bytes());
        let request = self.client.post(self.url.clone()).header("Content-Type", "application/json; charset=utf-8");
        let request = request.header("Stripe-Signature", signature).header("User-Agent", "Stripe/1.0 (ichido sim)");
        let answer = request.body(body.to_owned()).send().await;
        answer.map(|answer| answer.status().as_u16()).map_err(|error| error.without_url().to_string())
    }
}
