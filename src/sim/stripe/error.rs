//! Errors in Stripe's shape (<https://docs.stripe.com/api/errors>).

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use serde::Serialize;
use serde_json::{Value, json};

/// An error on its way to the caller.
#[derive(Debug, Default, Serialize)]
pub struct ApiError {
    #[serde(skip)]
    status: u16,
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decline_code: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    charge: Option<String>,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    param: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payment_intent: Option<Value>,
}

impl ApiError {
    /// 400 `invalid_request_error`.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self { status: 400, r#type: "invalid_request_error", message: message.into(), ..Self::default() }
    }

    /// A parameter that is wrong.
    pub fn parameter(name: &str, message: impl Into<String>) -> Self {
        Self { param: Some(name.to_owned()), ..Self::invalid(message) }
    }

    /// Something that is not there: 404 for what the path names, 400 for a parameter.
    pub fn missing(what: &str, id: &str, param: &str) -> Self {
        Self::parameter(param, format!("No such {what}: '{id}'")).code("resource_missing")
    }

    /// 402 `card_error`.
    pub fn card(code: &'static str, decline_code: Option<&'static str>, message: &str) -> Self {
        Self { status: 402, r#type: "card_error", code: Some(code), decline_code, ..Self::invalid(message) }
    }

    /// 400 `idempotency_error`.
    pub fn idempotency(message: String) -> Self {
        Self { r#type: "idempotency_error", ..Self::invalid(message) }
    }

    /// 500 `api_error`.
    pub fn api() -> Self {
        let message = "An unknown error occurred while processing the request.";
        Self { status: 500, r#type: "api_error", ..Self::invalid(message) }
    }

    /// With another status.
    pub fn status(self, status: u16) -> Self {
        Self { status, ..self }
    }

    /// With a code.
    pub fn code(self, code: &'static str) -> Self {
        Self { code: Some(code), ..self }
    }

    /// With the payment intent that it is about, and the charge that failed.
    pub fn about(self, payment_intent: Value, charge: Option<String>) -> Self {
        Self { payment_intent: Some(payment_intent), charge, ..self }
    }

    /// HTTP status.
    pub fn http_status(&self) -> u16 {
        self.status
    }

    /// The members of the error, as they also stand in `last_payment_error`.
    pub fn members(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    /// The body.
    pub fn body(&self) -> String {
        json!({ "error": self.members() }).to_string()
    }

    /// The whole answer.
    pub fn respond(&self) -> HttpResponse {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        HttpResponse::build(status).content_type("application/json").body(self.body())
    }
}
