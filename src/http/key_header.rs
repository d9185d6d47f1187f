//! The `Idempotency-Key` header.

use crate::domain::key::IdempotencyKey;
use crate::http::kinds::{IDEMPOTENCY_KEY_INVALID, IDEMPOTENCY_KEY_MISSING};
use crate::http::problem::Problem;
use actix_web::HttpRequest;
use actix_web::http::header::{HeaderName, HeaderValue};

/// The header's name.
pub const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The key of a request that has to have one.
///
/// # Errors
///
/// `idempotency_key_missing`, `idempotency_key_invalid`.
pub fn require(request: &HttpRequest) -> Result<IdempotencyKey, Problem> {
    let mut lines = request.headers().get_all(IDEMPOTENCY_KEY);
    let line = lines.next().ok_or_else(|| Problem::new(&IDEMPOTENCY_KEY_MISSING))?;
    if lines.next().is_some() {
        return Err(Problem::new(&IDEMPOTENCY_KEY_INVALID).detail("There is more than one Idempotency-Key line."));
    }
    parse(line.as_bytes())
}

/// Reads a key from a header or a path.
///
/// # Errors
///
/// `idempotency_key_invalid`.
pub fn parse(raw: &[u8]) -> Result<IdempotencyKey, Problem> {
    IdempotencyKey::parse(raw).map_err(|error| Problem::new(&IDEMPOTENCY_KEY_INVALID).detail(error.to_string()))
}

/// The key as a header of the answer, in a form that is read as the same key again.
#[must_use]
pub fn echo(key: &IdempotencyKey) -> Option<HeaderValue> {
    HeaderValue::from_str(&key.field_value()).ok()
}
