//! Who asks, from `Authorization` (RFC 6750).

use crate::app::App;
use crate::app::authenticate::{Caller, authenticate};
use crate::app::error::AppError;
use crate::db::deadline::Deadline;
use crate::domain::scope::Scope;
use crate::http::kinds::SCOPE_MISSING;
use crate::http::problem::Problem;
use actix_web::http::header;
use actix_web::{HttpMessage, HttpRequest};

/// The caller, if its key has `scope`.
///
/// # Errors
///
/// `unauthenticated`, `scope_missing`, `unavailable`.
pub async fn require(app: &App, request: &HttpRequest, scope: Scope, deadline: Deadline) -> Result<Caller, Problem> {
    let token = bearer(request).ok_or(AppError::Unauthenticated)?;
    let caller = authenticate(app, token, deadline).await?;
    // For the log line.
    request.extensions_mut().insert(caller.org.org_id);
    if caller.scopes.contains(scope) {
        return Ok(caller);
    }
    Err(Problem::new(&SCOPE_MISSING).detail(format!("This operation needs the scope {}.", scope.as_str())))
}

/// The token of the one `Authorization` line.
fn bearer(request: &HttpRequest) -> Option<&str> {
    let mut lines = request.headers().get_all(header::AUTHORIZATION);
    let (line, None) = (lines.next()?, lines.next()) else {
        return None;
    };
    let (scheme, token) = line.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim_start())
}
