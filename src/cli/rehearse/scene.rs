//! What scenes are made of: orders, answers, and counts at the receivers.

#![expect(clippy::indexing_slicing, reason = "of a JSON value a member that is not there is null")]

use crate::cli::rehearse::report::Counted;
use crate::cli::rehearse::stage::Stage;
use reqwest::RequestBuilder;
use serde_json::{Value, json};
use std::time::Duration;
use thiserror::Error;
use tokio::time::{Instant, sleep};
use uuid::Uuid;

/// Why a scene could not be played to its end.
#[derive(Debug, Error)]
pub enum SceneError {
    /// No definite answer came in time.
    #[error("{0} did not settle in time")]
    Unsettled(&'static str),
    /// An answer that should not be.
    #[error("unexpected answer {0} to {1}")]
    Answer(u16, &'static str),
    /// HTTP itself failed where nothing was meant to.
    #[error("a call failed")]
    Call(#[from] reqwest::Error),
    /// The stage.
    #[error("{0}")]
    Stage(String),
}

const BETWEEN: Duration = Duration::from_millis(150);

/// An order's body, to be paid like this, with words for the partners.
pub fn body(method: &str, metadata: &Value) -> Value {
    json!({
        "customer": { "reference": "rehearsal" },
        "currency": "JPY",
        "lines": [{ "sku": "TEA-01", "quantity": 2, "unit_amount": 1200 }],
        "payment": { "method": method },
        "metadata": metadata,
    })
}

impl Stage {
    fn keyed(&self, path: &str, key: &str, body: &Value) -> RequestBuilder {
        let request = self.client.post(format!("{}{path}", self.base)).bearer_auth(&self.token);
        request.header("Idempotency-Key", key).timeout(Duration::from_secs(10)).json(body)
    }

    /// Sends a command once; `None` when no answer came.
    pub async fn send(&self, path: &str, key: &str, body: &Value) -> Option<(u16, Value)> {
        let answer = self.keyed(path, key, body).send().await.ok()?;
        let status = answer.status().as_u16();
        Some((status, answer.json().await.ok()?))
    }

    /// Sends a command as a client should: the same again, until the answer is definite.
    pub async fn insist(&self, path: &'static str, key: &str, body: &Value) -> Result<Value, SceneError> {
        let end = Instant::now() + self.patience;
        while Instant::now() < end {
            match self.send(path, key, body).await {
                Some((200 | 201 | 402, answer)) => return Ok(answer),
                None | Some((202 | 409 | 503, _)) => sleep(BETWEEN).await,
                Some((status, _)) => return Err(SceneError::Answer(status, path)),
            }
        }
        Err(SceneError::Unsettled(path))
    }

    /// Orders, insistently; gives the order's id.
    pub async fn order(&self, method: &str, metadata: &Value) -> Result<String, SceneError> {
        let key = Uuid::now_v7().to_string();
        let order = self.insist("/v1/orders", &key, &body(method, metadata)).await?;
        Ok(order["id"].as_str().or(order["order_id"].as_str()).unwrap_or_default().to_owned())
    }

    /// Cancels an order, insistently.
    pub async fn cancel(&self, order_id: &str) -> Result<(), SceneError> {
        let path = format!("/v1/orders/{order_id}/cancel");
        let key = Uuid::now_v7().to_string();
        let end = Instant::now() + self.patience;
        while Instant::now() < end {
            if let Some((200, _)) = self.send(&path, &key, &json!({})).await {
                return Ok(());
            }
            sleep(BETWEEN).await;
        }
        Err(SceneError::Unsettled("the cancellation"))
    }

    /// Waits until an order stands as expected.
    pub async fn until(
        &self,
        order_id: &str,
        what: &'static str,
        fits: impl Fn(&Value) -> bool,
    ) -> Result<(), SceneError> {
        let end = Instant::now() + self.patience;
        while Instant::now() < end {
            let request = self.client.get(format!("{}/v1/orders/{order_id}", self.base)).bearer_auth(&self.token);
            if let Ok(answer) = request.timeout(Duration::from_secs(5)).send().await
                && let Ok(order) = answer.json::<Value>().await
                && fits(&order)
            {
                return Ok(());
            }
            sleep(BETWEEN).await;
        }
        Err(SceneError::Unsettled(what))
    }

    /// An order as it stands.
    pub async fn look(&self, order_id: &str) -> Result<Value, SceneError> {
        let request = self.client.get(format!("{}/v1/orders/{order_id}", self.base)).bearer_auth(&self.token);
        Ok(request.send().await?.json().await?)
    }

    /// Lets the gateway tell of an order's payment.
    pub async fn tell(&self, order_id: &str, told: Value) -> Result<(), SceneError> {
        let mut told = told;
        told["payment_intent"] = self.look(order_id).await?["payment"]["gateway_reference"].clone();
        let answer = self.client.post(format!("{}/control/webhooks", self.world)).json(&told).send().await?;
        let status = answer.status().as_u16();
        if status == 200 { Ok(()) } else { Err(SceneError::Answer(status, "the simulated gateway")) }
    }

    /// Counts an order's effects at the receivers.
    pub async fn count(&self, order_id: &str, expected: &[(&'static str, u64)]) -> Result<Vec<Counted>, SceneError> {
        // What should not happen gets a moment to happen.
        sleep(Duration::from_millis(700)).await;
        let answer = self.client.get(format!("{}/effects?order_id={order_id}", self.world)).send().await?;
        let effects = answer.json::<Value>().await?;
        let effects = effects["effects"].as_array().cloned().unwrap_or_default();
        let seen = |kind: &str| -> u64 {
            let of_kind = effects.iter().filter(|effect| effect["kind"] == kind);
            of_kind.filter_map(|effect| effect["count"].as_u64()).sum()
        };
        Ok(expected
            .iter()
            .map(|(effect, expected)| Counted { effect, expected: *expected, seen: seen(effect) })
            .collect())
    }
}
