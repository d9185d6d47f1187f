//! Cross-origin requests: refused unless the operator names the web origins that may call.

use actix_cors::Cors;
use actix_web::http::Method;
use actix_web::http::header;

/// What browsers may do from `origins`; nothing when there are none.
pub fn policy(origins: &[String]) -> Cors {
    let policy = Cors::default()
        .allowed_methods([Method::GET, Method::HEAD, Method::POST])
        .allowed_headers([header::AUTHORIZATION, header::CONTENT_TYPE, header::IF_NONE_MATCH])
        .allowed_headers(["Idempotency-Key", "Prefer"])
        .expose_headers([header::LOCATION, header::ETAG, header::RETRY_AFTER, header::LINK])
        .expose_headers(["Request-Id", "Idempotent-Replayed", "Idempotent-Original-Status"])
        .expose_headers(["Idempotency-Key", "Idempotency-Expires", "Idempotency-Mismatch"])
        .max_age(3_600);
    origins.iter().fold(policy, |policy, origin| policy.allowed_origin(origin))
}
