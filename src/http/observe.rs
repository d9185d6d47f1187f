//! What every answer has in common: its `Request-Id`, its line in the log, its count in the metrics, and the document of
//! a problem, which needs that id.

use crate::app::App;
use crate::domain::ids::OrgId;
use crate::http::connection;
use crate::http::kinds::{BODY_TOO_LARGE, HEADERS_TOO_LARGE, INTERNAL_ERROR, INVALID_REQUEST, Kind, NOT_FOUND};
use crate::http::problem::Problem;
use crate::http::routes;
use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::error::InternalError;
use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};
use actix_web::http::{ConnectionType, Method, StatusCode};
use actix_web::middleware::Next;
use actix_web::{Error, HttpMessage, HttpResponse, web};
use std::sync::LazyLock;
use std::time::Instant;
use tracing::Instrument;
use uuid::Uuid;

/// Bytes of all header names and values together.
const MAX_HEADERS: usize = 16 * 1024;
/// The id of the request being answered, for handlers that store it.
#[derive(Debug, Clone, Copy)]
pub struct RequestId(pub Uuid);

/// The header that names this very request, for support.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("request-id");

static PATHS: LazyLock<Vec<&'static str>> = LazyLock::new(|| routes().into_iter().map(|(_, path)| path).collect());

/// The middleware. It is the outermost, so that nothing answers without it.
///
/// # Errors
///
/// None of the handlers': those become answers here.
pub async fn observe<B: MessageBody + 'static>(
    mut request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let started = Instant::now();
    let request_id = Uuid::now_v7();
    request.extensions_mut().insert(RequestId(request_id));
    let method = method_name(request.method());
    let unread = connection::has_no_end(&request).then(|| request.take_payload());
    let last = unread.is_some() || connection::says_last(&request);
    let over = connection::is_over(&request, last);
    // The library ends a connection whose client offered another protocol, so the client has to be told.
    let closes = last || over || request.head().upgrade();
    let app = request.app_data::<web::Data<App>>().cloned();
    let counted = app.as_ref().map(|app| app.count_request());

    let mut response = if over {
        request.error_response(Problem::new(&INVALID_REQUEST).detail("The request before this one was the last."))
    } else if headers_size(request.headers()) > MAX_HEADERS {
        request.error_response(Problem::new(&HEADERS_TOO_LARGE))
    } else {
        match next.call(request).instrument(tracing::info_span!("request", %request_id)).await {
            Ok(response) => response.map_into_boxed_body(),
            // No handler ends like this. The request is gone, so the answer is all that can be given.
            Err(error) => {
                let problem = Problem::new(kind_for(error.as_response_error().status_code()));
                return Err(InternalError::from_response("no answer", problem.respond(request_id)).into());
            }
        }
    };
    if let Some(problem) = problem_of(&response) {
        let answer = with_headers_of(&response, problem.respond(request_id));
        response = response.into_response(answer);
    }
    let headers = response.headers_mut();
    if let Ok(value) = HeaderValue::from_str(request_id.hyphenated().encode_lower(&mut Uuid::encode_buffer())) {
        headers.insert(REQUEST_ID, value);
    }
    if let Some(unread) = unread {
        response = response.map_body(|_, body| connection::holding(body, unread));
    }
    if closes || app.as_ref().is_some_and(|app| app.is_draining()) {
        connection::end(response.request());
        response.response_mut().head_mut().set_connection_type(ConnectionType::Close);
    }
    let pattern = response.request().match_pattern().unwrap_or_default();
    let route = PATHS.iter().find(|path| **path == pattern).copied().unwrap_or("unmatched");
    if let Some(app) = app {
        app.metrics.request(method, route, response.status().as_u16(), started.elapsed());
    }
    log(&response, request_id, method, route, started);
    drop(counted);
    Ok(response)
}

/// The problem an answer stands for, if it does: a handler's own, or one for an error that a library made.
fn problem_of<B>(response: &ServiceResponse<B>) -> Option<Problem> {
    if let Some(problem) = response.response().extensions().get::<Problem>() {
        return Some(problem.clone());
    }
    response.response().error().map(|_| Problem::new(kind_for(response.status())))
}

/// What other middleware has put around the handler's answer, the headers of CORS, belongs to the problem's too.
fn with_headers_of<B>(inner: &ServiceResponse<B>, mut answer: HttpResponse) -> HttpResponse {
    let added = inner.headers().iter().filter(|(name, _)| !answer.headers().contains_key(*name));
    let added: Vec<_> = added.map(|(name, value)| (name.clone(), value.clone())).collect();
    for (name, value) in added {
        answer.headers_mut().append(name, value);
    }
    answer
}

fn kind_for(status: StatusCode) -> &'static Kind {
    match status {
        StatusCode::NOT_FOUND => &NOT_FOUND,
        StatusCode::PAYLOAD_TOO_LARGE => &BODY_TOO_LARGE,
        status if status.is_client_error() => &INVALID_REQUEST,
        _ => &INTERNAL_ERROR,
    }
}

fn log<B>(response: &ServiceResponse<B>, request_id: Uuid, method: &str, route: &str, started: Instant) {
    let status = response.status().as_u16();
    let took_us = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
    let extensions = response.request().extensions();
    let org_id = extensions.get::<OrgId>().map(|org_id| org_id.0);
    if status >= 500 {
        tracing::error!(target: "ichido::access", %request_id, method, route, status, org_id, took_us, "answered");
    } else if status >= 400 {
        tracing::info!(target: "ichido::access", %request_id, method, route, status, org_id, took_us, "answered");
    } else {
        tracing::debug!(target: "ichido::access", %request_id, method, route, status, org_id, took_us, "answered");
    }
}

fn headers_size(headers: &HeaderMap) -> usize {
    headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum()
}

/// A method's name that can be a label: the client's own inventions are all one.
fn method_name(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}
