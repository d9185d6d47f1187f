//! What every call has in common: who asks, the idempotency key, the parameters, the answer's headers.

use crate::sim::faults::Fault;
use crate::sim::keys::{Begun, Key, Running, Stored};
use crate::sim::perform::{Broken, Outcome, Plan, Work, perform};
use crate::sim::stripe::error::ApiError;
use crate::sim::stripe::params::Params;
use crate::sim::webhooks::Origin;
use crate::sim::world::{Change, State};
use crate::sim::{RequestId, Sim, line, now};
use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderName, HeaderValue};
use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::Value;

/// A call that changes something.
pub trait Verb: Sized + Send + 'static {
    /// Checks the parameters. What is refused here has not begun, and is not stored.
    ///
    /// # Errors
    ///
    /// What is wrong with them.
    fn read(params: &Params, id: &str, state: &State) -> Result<Self, ApiError>;

    /// What goes wrong.
    fn fault(&self) -> Fault {
        Fault::None
    }

    /// Decides what happens, on the state as it then is. The answer is stored, an error too.
    fn run(self, state: &State, origin: &Origin) -> Work;
}

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// Advice that Stripe's own clients follow.
const SHOULD_RETRY: HeaderName = HeaderName::from_static("stripe-should-retry");
const MAX_KEY: usize = 255;

/// Carries out a call that changes something, once for each key.
///
/// # Errors
///
/// [`Broken`].
pub async fn post<V: Verb>(
    sim: web::Data<Sim>,
    request: HttpRequest,
    body: web::Bytes,
) -> Result<HttpResponse, Broken> {
    let (key, params) = match open(&request, &body) {
        Ok(opened) => opened,
        Err(error) => return Ok(error.respond()),
    };
    let mut answer = carry_out::<V>(&sim, &request, key.as_deref(), &params).await?;
    if let Some(key) = key.and_then(|key| HeaderValue::from_str(&key).ok()) {
        answer.headers_mut().insert(IDEMPOTENCY_KEY, key);
    }
    Ok(answer)
}

async fn carry_out<V: Verb>(
    sim: &Sim,
    request: &HttpRequest,
    key: Option<&str>,
    params: &Params,
) -> Result<HttpResponse, Broken> {
    let request_id = RequestId::of(request);
    let name = key.map(|key| format!("stripe:{key}"));
    let full_key = name.clone().map(|name| Key {
        name,
        endpoint: path(request).to_owned(),
        parameters: params.digest(),
        request_id: request_id.clone(),
    });
    let running = match Running::begin(&sim.world, full_key) {
        Begun::Fresh(running) => running,
        Begun::Replay(stored) => return Ok(replay(stored)),
        Begun::OtherEndpoint(endpoint) => return Ok(other_endpoint(key, &endpoint).respond()),
        Begun::OtherParameters => return Ok(other_parameters(key).respond()),
        Begun::InUse => return Ok(in_use(key)),
    };
    let id = request.match_info().get("id").unwrap_or_default();
    let verb = match sim.world.read(|state| V::read(params, id, state)) {
        Ok(verb) => verb,
        Err(error) => return Ok(error.respond()),
    };
    let plan = Plan { fault: verb.fault(), name, on_loss: Change::default(), failure: ApiError::api().body() };
    let key_text = key.map(str::to_owned);
    let run = move |state: &State| {
        let origin = Origin { request_id: Some(request_id), key: key_text, now: now() };
        verb.run(state, &origin)
    };
    Ok(match perform(sim, running, plan, run).await? {
        Outcome::Answer { status, body } => answer(status, body),
        Outcome::Cut => line::cut(request),
        Outcome::TurnedAway(409) => in_use(key),
        Outcome::TurnedAway(_) => ApiError::api().respond(),
    })
}

/// Answers a question.
///
/// # Errors
///
/// [`Broken`].
pub async fn get(
    sim: web::Data<Sim>,
    request: HttpRequest,
    look: fn(&Params, &str, &State) -> Result<Value, ApiError>,
) -> Result<HttpResponse, Broken> {
    if let Err(error) = authenticate(&request) {
        return Ok(error.respond());
    }
    let params = Params::parse(request.query_string().as_bytes());
    let id = request.match_info().get("id").unwrap_or_default();
    let found = sim.world.read(|state| look(&params, id, state));
    // What is told is on disk.
    sim.world.synced().await.map_err(|_| Broken)?;
    Ok(match found {
        Ok(object) => answer(200, object.to_string()),
        Err(error) => error.respond(),
    })
}

/// The path as Stripe knows it.
pub fn path(request: &HttpRequest) -> &str {
    let path = request.path();
    path.strip_prefix("/stripe").unwrap_or(path)
}

fn open(request: &HttpRequest, body: &[u8]) -> Result<(Option<String>, Params), ApiError> {
    authenticate(request)?;
    let form = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let form = form.is_some_and(|value| value.starts_with("application/x-www-form-urlencoded"));
    if !form && !body.is_empty() {
        let message = "Invalid request (check that your POST content type is application/x-www-form-urlencoded).";
        return Err(ApiError::invalid(message));
    }
    let key = request.headers().get(IDEMPOTENCY_KEY).map(|key| String::from_utf8_lossy(key.as_bytes()).into_owned());
    if key.as_ref().is_some_and(|key| key.is_empty() || key.len() > MAX_KEY) {
        return Err(ApiError::invalid("Idempotency keys are between 1 and 255 characters long."));
    }
    Ok((key, Params::parse(body)))
}

/// Any secret will do, but there has to be one.
fn authenticate(request: &HttpRequest) -> Result<(), ApiError> {
    let line = request.headers().get(header::AUTHORIZATION).and_then(|line| line.to_str().ok());
    let given = line.and_then(|line| line.split_once(' ')).is_some_and(|(scheme, secret)| {
        let known = scheme.eq_ignore_ascii_case("bearer") || scheme.eq_ignore_ascii_case("basic");
        known && !secret.trim().is_empty()
    });
    if given {
        return Ok(());
    }
    let message = "You did not provide an API key. You need to provide your API key in the Authorization header, \
                   using Bearer auth (e.g. 'Authorization: Bearer YOUR_SECRET_KEY').";
    Err(ApiError::invalid(message).status(401))
}

fn replay(stored: Stored) -> HttpResponse {
    let mut answer = answer(stored.status, stored.body);
    let headers = answer.headers_mut();
    headers.insert(HeaderName::from_static("idempotent-replayed"), HeaderValue::from_static("true"));
    if let Ok(id) = HeaderValue::from_str(&stored.request_id) {
        headers.insert(HeaderName::from_static("original-request"), id);
    }
    answer
}

fn other_endpoint(key: Option<&str>, endpoint: &str) -> ApiError {
    let key = key.unwrap_or_default();
    ApiError::idempotency(format!(
        "Keys for idempotent requests can only be used for the same endpoint they were first used for ('{endpoint}'). \
         Try using a key other than '{key}' if you meant to execute a different request."
    ))
}

fn other_parameters(key: Option<&str>) -> ApiError {
    let key = key.unwrap_or_default();
    ApiError::idempotency(format!(
        "Keys for idempotent requests can only be used with the same parameters they were first used with. \
         Try using a key other than '{key}' if you meant to execute a different request."
    ))
}

fn in_use(key: Option<&str>) -> HttpResponse {
    let key = key.unwrap_or_default();
    let message = format!(
        "There is currently another in-progress request using this Idempotent Key (that probably means you submitted \
         twice, and the other request is still going through): {key}. Please try again later."
    );
    let mut answer = ApiError::idempotency(message).status(409).code("idempotency_key_in_use").respond();
    answer.headers_mut().insert(SHOULD_RETRY, HeaderValue::from_static("true"));
    answer
}

fn answer(status: u16, body: String) -> HttpResponse {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut answer = HttpResponse::build(status);
    if status.is_server_error() {
        // It is stored: the same key only gets it again.
        answer.insert_header((SHOULD_RETRY, HeaderValue::from_static("false")));
    }
    answer.content_type("application/json").body(body)
}
