//! Renders what `POST /v1/orders` came to.

use crate::app::answer::{Answer, AnswerKind};
use crate::domain::key::IdempotencyKey;
use crate::domain::reply::timestamp;
use crate::http::key_header::{self, IDEMPOTENCY_KEY};
use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::http::header;

/// The answer with the stored bytes and headers, and those that say what kind of answer it is.
#[must_use]
pub fn render(answer: Answer, key: &IdempotencyKey) -> HttpResponse {
    let original = answer.reply.status;
    let status = match answer.kind {
        AnswerKind::First | AnswerKind::Accepted { .. } => original,
        AnswerKind::Replay { status } | AnswerKind::Mismatch { status } => status,
    };
    let mut response = HttpResponse::build(StatusCode::from_u16(status).unwrap_or(StatusCode::OK));
    let headers = answer.reply.headers;
    response.content_type(headers.content_type.unwrap_or_else(|| "application/json".to_owned()));
    if let Some(location) = headers.location {
        response.insert_header((header::LOCATION, location));
    }
    if let Some(etag) = headers.etag {
        response.insert_header((header::ETAG, etag));
    }
    if let Some(key) = key_header::echo(key) {
        response.insert_header((IDEMPOTENCY_KEY, key));
    }
    if let Some(expires_at) = answer.expires_at {
        response.insert_header(("Idempotency-Expires", timestamp(expires_at)));
    }
    match answer.kind {
        AnswerKind::First => {}
        AnswerKind::Accepted { retry_after_seconds } => {
            response.insert_header((header::RETRY_AFTER, retry_after_seconds));
        }
        AnswerKind::Replay { .. } | AnswerKind::Mismatch { .. } => {
            response.insert_header(("Idempotent-Replayed", "true"));
            response.insert_header(("Idempotent-Original-Status", original.to_string()));
        }
    }
    if matches!(answer.kind, AnswerKind::Mismatch { .. }) {
        response.insert_header(("Idempotency-Mismatch", "true"));
    }
    response.body(answer.reply.body)
}
