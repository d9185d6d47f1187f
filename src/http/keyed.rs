//! What every keyed request has in common: who asks, the key, the body, and an answer that outlives the connection.

use crate::app::App;
use crate::app::answer::Answer;
use crate::app::command::Command;
use crate::app::error::AppError;
use crate::db::deadline::Deadline;
use crate::domain::scope::Scope;
use crate::http::observe::RequestId;
use crate::http::problem::Problem;
use crate::http::{answer, body, caller, key_header};
use actix_web::http::header::{HeaderMap, HeaderName};
use actix_web::{HttpMessage, HttpRequest, HttpResponse, web};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep};
use uuid::Uuid;

/// A keyed request that was read.
pub struct Request {
    command: Arc<Command>,
    /// What is left of the request's time; the body's is the client's own.
    left: Duration,
    wait: Duration,
}

/// Reads a keyed request. The order of the checks is part of the contract: who asks, whether they may, the key, the body's
/// form.
///
/// # Errors
///
/// The problems of each check.
pub async fn read(app: &App, request: &HttpRequest, payload: web::Payload, scope: Scope) -> Result<Request, Problem> {
    let deadline = Deadline::of_request();
    let caller = caller::require(app, request, scope, deadline).await?;
    let left = deadline.left();
    let key = key_header::require(request)?;
    let body = body::read(&app.bodies, request, payload).await?;
    let command = Command {
        org: caller.org,
        asked_by: caller.key_id,
        key,
        method: "POST",
        path: request.uri().path().to_owned(),
        query: request.uri().query().map(str::to_owned),
        body,
        request_id: request.extensions().get::<RequestId>().map_or_else(Uuid::now_v7, |id| id.0),
    };
    Ok(Request { command: Arc::new(command), left, wait: preferred_wait(request.headers()) })
}

/// Between two looks of a request that waits. It holds no database connection meanwhile.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Runs the work detached from the connection and renders what came of it. While the first request under the key is still
/// running, it looks again for as long as `Prefer: wait` asks.
///
/// # Errors
///
/// The problem that the work came to.
pub async fn respond<W>(
    app: &App,
    request: &Request,
    work: impl Fn(App, Arc<Command>, Deadline) -> W,
) -> Result<HttpResponse, Problem>
where
    W: Future<Output = Result<Answer, AppError>> + Send + 'static,
{
    let until = Instant::now() + request.wait;
    let mut deadline = Deadline::after(request.left);
    loop {
        let work = work(app.clone(), Arc::clone(&request.command), deadline);
        // A panic in there is the only way to lose the result; whether it had its effect is then not known.
        let result = app.detached(work).await.unwrap_or(Err(AppError::OutcomeUnknown));
        match result {
            Err(AppError::InFlight { .. }) if Instant::now() + LOOK_EVERY < until && !app.is_draining() => {
                sleep(LOOK_EVERY).await;
                deadline = Deadline::of_request();
            }
            other => return Ok(answer::render(other?, &request.command.key)),
        }
    }
}

/// `Prefer: wait=N` (RFC 7240, section 4.3), at most 30 s; nothing without it.
fn preferred_wait(headers: &HeaderMap) -> Duration {
    const MOST_SECONDS: u64 = 30;
    let lines = headers.get_all(HeaderName::from_static("prefer")).filter_map(|line| line.to_str().ok());
    let seconds = lines.flat_map(|line| line.split(',')).find_map(|preference| {
        let (name, value) = preference.split(';').next()?.split_once('=')?;
        name.trim().eq_ignore_ascii_case("wait").then(|| value.trim().trim_matches('"').parse().ok())?
    });
    Duration::from_secs(seconds.unwrap_or(0).min(MOST_SECONDS))
}
