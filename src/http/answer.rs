//! Renders what `POST /v1/orders` came to.

use crate::app::create_order::{Answer, AnswerKind};
use crate::domain::key::IdempotencyKey;
use crate::domain::reply::timestamp;
use crate::http::key_header::{self, IDEMPOTENCY_KEY};
use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::http::header::{self, ContentType};

/// The answer with the stored bytes and headers, and those that say what kind of answer it is.
#[must_use]
pub fn render(answer: Answer, key: &IdempotencyKey) -> HttpResponse {
    let original = answer.reply.status;
    let status = match answer.kind {
        AnswerKind::Created => original,
        AnswerKind::Replay { status } | AnswerKind::Mismatch { status } => status,
    };
    let mut response = HttpResponse::build(StatusCode::from_u16(status).unwrap_or(StatusCode::OK));
    response.insert_header(ContentType::json());
    response.insert_header((header::LOCATION, answer.reply.headers.location));
    response.insert_header((header::ETAG, answer.reply.headers.etag));
    if let Some(key) = key_header::echo(key) {
        response.insert_header((IDEMPOTENCY_KEY, key));
    }
    if let Some(expires_at) = answer.expires_at {
        response.insert_header(("Idempotency-Expires", timestamp(expires_at)));
    }
    if answer.kind != AnswerKind::Created {
        response.insert_header(("Idempotent-Replayed", "true"));
        response.insert_header(("Idempotent-Original-Status", original.to_string()));
    }
    if matches!(answer.kind, AnswerKind::Mismatch { .. }) {
        response.insert_header(("Idempotency-Mismatch", "true"));
    }
    response.body(answer.reply.body)
}
