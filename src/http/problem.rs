//! Problem documents (RFC 9457). Which kinds there are is [`crate::http::kinds`].

use crate::app::error::AppError;
use crate::domain::ids::OrderId;
use crate::domain::json::JsonError;
use crate::domain::reply;
use crate::http::kinds::{
    CASE_RESOLVED, Executed, IDEMPOTENCY_KEY_REUSED, INTERNAL_ERROR, INVALID_REQUEST, Kind, NOT_FOUND,
    ORDER_REFERENCE_TAKEN, OUTCOME_UNKNOWN, PAYMENT_NOT_CONFIGURED, PAYMENT_NOT_POSSIBLE, RATE_LIMITED,
    REQUEST_IN_FLIGHT, SIGNATURE_INVALID, UNAUTHENTICATED, UNAVAILABLE,
};
use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use actix_web::{HttpResponse, ResponseError};
use serde::Serialize;
use std::fmt;
use uuid::Uuid;

/// One error on its way to a client. The request's id is added where the answer leaves.
#[derive(Debug, Clone)]
pub struct Problem {
    /// Which kind.
    pub kind: &'static Kind,
    detail: Option<String>,
    errors: Vec<Place>,
    differing: Option<Vec<String>>,
    order_id: Option<OrderId>,
    headers: HeaderMap,
}

/// Where a request is wrong.
#[derive(Debug, Clone, Serialize)]
pub struct Place {
    #[serde(skip_serializing_if = "Option::is_none")]
    pointer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameter: Option<&'static str>,
    detail: String,
}

#[derive(Serialize)]
struct Document<'a> {
    r#type: String,
    title: &'static str,
    status: u16,
    detail: &'a str,
    code: &'static str,
    request_id: Uuid,
    retryable: bool,
    executed: Executed,
    safe_new_key: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    order_id: Option<OrderId>,
    #[serde(skip_serializing_if = "<[Place]>::is_empty")]
    errors: &'a [Place],
    #[serde(skip_serializing_if = "Option::is_none")]
    differing: Option<&'a [String]>,
}

/// A pointer is made of the client's own member names; this is as much of it as an answer repeats, in bytes.
const MAX_POINTER: usize = 300;

impl Problem {
    /// A problem of a kind, with that kind's own text.
    #[must_use]
    pub fn new(kind: &'static Kind) -> Self {
        Self { kind, detail: None, errors: Vec::new(), differing: None, order_id: None, headers: HeaderMap::new() }
    }

    /// With a text of its own, which never repeats what the client sent.
    #[must_use]
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// With a header.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// With `Retry-After` (RFC 9110, section 10.2.3), in seconds.
    #[must_use]
    pub fn retry_after(self, seconds: u64) -> Self {
        self.header(header::RETRY_AFTER, HeaderValue::from(seconds))
    }

    /// A refused query parameter.
    #[must_use]
    pub fn parameter(name: &'static str, detail: impl Into<String>) -> Self {
        let mut problem = Self::new(&INVALID_REQUEST).detail("A query parameter is not valid.");
        problem.errors.push(Place { pointer: None, parameter: Some(name), detail: detail.into() });
        problem
    }

    fn place(mut self, pointer: &str, detail: impl Into<String>) -> Self {
        let end = pointer.floor_char_boundary(MAX_POINTER);
        let pointer = Some(pointer[..end].to_owned());
        self.errors.push(Place { pointer, parameter: None, detail: detail.into() });
        self
    }

    fn json(error: &JsonError) -> Self {
        let detail = format!("The body cannot be read as JSON. The problem is at byte {}.", error.offset);
        Self::new(&INVALID_REQUEST).detail(detail).place(&error.pointer, error.to_string())
    }

    /// The whole answer.
    #[must_use]
    pub fn respond(&self, request_id: Uuid) -> HttpResponse {
        let kind = self.kind;
        let document = Document {
            r#type: format!("/problems/{}", kind.code),
            title: kind.title,
            status: kind.status,
            detail: self.detail.as_deref().unwrap_or(kind.detail),
            code: kind.code,
            request_id,
            retryable: kind.retryable,
            executed: kind.executed,
            safe_new_key: kind.safe_new_key,
            order_id: self.order_id,
            errors: &self.errors,
            differing: self.differing.as_deref(),
        };
        let mut response = HttpResponse::build(self.status_code());
        response.content_type("application/problem+json");
        for header in &self.headers {
            response.insert_header(header);
        }
        response.body(serde_json::to_vec(&document).unwrap_or_default())
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.code)
    }
}

impl ResponseError for Problem {
    fn status_code(&self) -> StatusCode {
        StatusCode::from_u16(self.kind.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// Carries the problem to where the answer leaves ([`crate::http::observe`]), which knows the request's id.
    fn error_response(&self) -> HttpResponse {
        let mut response = HttpResponse::new(self.status_code());
        response.extensions_mut().insert(self.clone());
        response
    }
}

impl From<AppError> for Problem {
    fn from(error: AppError) -> Self {
        match error {
            AppError::Json(error) => Self::json(&error),
            AppError::Invalid(errors) => {
                let problem = Self::new(&INVALID_REQUEST);
                errors.iter().fold(problem, |problem, error| problem.place(&error.pointer, error.detail.as_str()))
            }
            AppError::PaymentNotConfigured { pointer } => Self::new(&PAYMENT_NOT_CONFIGURED)
                .place(pointer, "needs a payment gateway, and the organisation has none"),
            AppError::Unauthenticated => {
                Self::new(&UNAUTHENTICATED).header(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))
            }
            AppError::InFlight { order_id, retry_after_seconds } => {
                let problem = Self::new(&REQUEST_IN_FLIGHT).retry_after(retry_after_seconds);
                match HeaderValue::try_from(reply::location(order_id)) {
                    Ok(location) => problem.header(header::LOCATION, location),
                    Err(_) => problem,
                }
            }
            AppError::ReferenceTaken { order_id } => {
                Self { order_id: Some(order_id), ..Self::new(&ORDER_REFERENCE_TAKEN) }
            }
            AppError::KeyReused { differing } => {
                let problem = Self::new(&IDEMPOTENCY_KEY_REUSED);
                let problem = if differing.is_empty() {
                    problem.detail("This key was first used with another method, path or query.")
                } else {
                    problem
                };
                Self { differing: Some(differing), ..problem }
            }
            AppError::RateLimited { retry_after_seconds } => Self::new(&RATE_LIMITED).retry_after(retry_after_seconds),
            AppError::PaymentNotPossible => Self::new(&PAYMENT_NOT_POSSIBLE),
            AppError::CaseResolved => Self::new(&CASE_RESOLVED),
            AppError::SignatureInvalid => Self::new(&SIGNATURE_INVALID),
            AppError::NotFound => Self::new(&NOT_FOUND),
            AppError::Unavailable => Self::new(&UNAVAILABLE).retry_after(1),
            AppError::OutcomeUnknown => Self::new(&OUTCOME_UNKNOWN).retry_after(1),
            AppError::Internal => Self::new(&INTERNAL_ERROR),
        }
    }
}
