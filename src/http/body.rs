//! Reads a JSON body within its limits of size and time.

use crate::app::bodies::Bodies;
use crate::app::error::AppError;
use crate::budget::{Body, Budget};
use crate::http::connection::has_unknown_length;
use crate::http::kinds::{
    BODY_TOO_LARGE, ENCODING_NOT_SUPPORTED, INVALID_REQUEST, LENGTH_REQUIRED, MEDIA_TYPE_NOT_SUPPORTED, REQUEST_TIMEOUT,
};
use crate::http::problem::Problem;
use actix_web::http::header::{self, HeaderMap};
use actix_web::{HttpRequest, web};
use futures_util::StreamExt;
use std::sync::Arc;
use std::time::Duration;

/// The largest body, in bytes.
pub const MAX_BODY: usize = 256 * 1024;
/// From the head to the body's last byte.
const BODY_TIME: Duration = Duration::from_secs(10);

/// The body's bytes.
///
/// # Errors
///
/// `length_required`, `media_type_not_supported`, `encoding_not_supported`, `body_too_large`, `request_timeout`; `unavailable`
/// when the bodies of all requests take up all the memory there is for them.
pub async fn read(bodies: &Bodies, request: &HttpRequest, payload: web::Payload) -> Result<Body, Problem> {
    let headers = request.headers();
    if !has_unknown_length(headers) && !is_json(headers) {
        return Err(Problem::new(&MEDIA_TYPE_NOT_SUPPORTED));
    }
    read_any(bodies.of_request(announced(headers).unwrap_or_default()), request, payload).await
}

/// As [`read`], whatever its media type says.
///
/// # Errors
///
/// `length_required`, `encoding_not_supported`, `body_too_large`, `request_timeout`, `unavailable`.
pub async fn read_any(memory: &Arc<Budget>, request: &HttpRequest, payload: web::Payload) -> Result<Body, Problem> {
    let headers = request.headers();
    if has_unknown_length(headers) {
        return Err(Problem::new(&LENGTH_REQUIRED));
    }
    if headers.contains_key(header::CONTENT_ENCODING) {
        return Err(Problem::new(&ENCODING_NOT_SUPPORTED));
    }
    if announced(headers).is_some_and(|length| length > MAX_BODY as u64) {
        return Err(Problem::new(&BODY_TOO_LARGE));
    }
    match tokio::time::timeout(BODY_TIME, collect(memory, payload)).await {
        Ok(body) => body,
        Err(_) => Err(Problem::new(&REQUEST_TIMEOUT)),
    }
}

fn announced(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

async fn collect(memory: &Arc<Budget>, mut payload: web::Payload) -> Result<Body, Problem> {
    let full = || Problem::from(AppError::Unavailable);
    let (mut body, mut share) = (Vec::new(), memory.take(0).ok_or_else(full)?);
    while let Some(chunk) = payload.next().await {
        // The connection broke in the middle; nobody will read this answer.
        let chunk = chunk.map_err(|_| Problem::new(&INVALID_REQUEST).detail("The body ended before its length."))?;
        if body.len() + chunk.len() > MAX_BODY {
            return Err(Problem::new(&BODY_TOO_LARGE));
        }
        if !share.grow(chunk.len()) {
            return Err(full());
        }
        body.extend_from_slice(&chunk);
    }
    body.shrink_to_fit();
    Ok(Body::new(body, share))
}

/// Whether the one `Content-Type` line says JSON: in any case, with no parameter but `charset=utf-8`.
fn is_json(headers: &HeaderMap) -> bool {
    let mut lines = headers.get_all(header::CONTENT_TYPE);
    let (Some(line), None) = (lines.next(), lines.next()) else {
        return false;
    };
    let Ok(text) = line.to_str() else {
        return false;
    };
    let mut parts = text.split(';').map(str::trim);
    let json = parts.next().is_some_and(|media| media.eq_ignore_ascii_case("application/json"));
    let utf_8 = |parameter: &str| {
        let (name, value) = parameter.split_once('=').unwrap_or_default();
        name.eq_ignore_ascii_case("charset") && value.trim_matches('"').eq_ignore_ascii_case("utf-8")
    };
    json && parts.all(utf_8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use actix_web::http::header::HeaderValue;

    fn with(value: &'static str) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(value));
        is_json(&headers)
    }

    #[test]
    fn media_types() {
        for good in [
            "application/json",
            "Application/JSON",
            "application/json; charset=utf-8",
            "application/json;charset=\"UTF-8\"",
        ] {
            assert!(with(good), "{good}");
        }
        for bad in ["text/json", "application/json; charset=latin1", "application/jsonp", "", "application/json; v=1"] {
            assert!(!with(bad), "{bad}");
        }
        assert!(!is_json(&HeaderMap::new()));
    }
}
