//! Business partners: one small protocol for every kind of step.
//!
//! `POST /partners/{kind}` does the work, once for each `Idempotency-Key`; a call without one, or to an address with
//! `?honours_keys=false`, is done again each time. `GET /partners/{kind}?operation_key=` tells whether it was done.

use crate::sim::effects::Effect;
use crate::sim::faults::Behaviour;
use crate::sim::hash::sha256;
use crate::sim::keys::{Begun, Key, Running};
use crate::sim::perform::{Broken, Outcome, Plan, Work, perform as carry_out};
use crate::sim::world::{Change, State};
use crate::sim::{RequestId, Sim, line, new_id};
use actix_web::{Error, HttpRequest, HttpResponse, web};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// What a partner knows of an operation.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Record {
    kind: String,
    operation_key: String,
    /// The partner's own name for the work; `None` when it was not done.
    reference: Option<String>,
    /// The partner cannot tell.
    unknown: bool,
}

impl Record {
    /// What the record is found by.
    pub fn name(&self) -> String {
        name(&self.kind, &self.operation_key)
    }
}

fn name(kind: &str, operation_key: &str) -> String {
    format!("{kind}\n{operation_key}")
}

/// What is to be done. Members that are not known are the caller's business.
#[derive(Deserialize)]
struct Request {
    operation_key: String,
    kind: String,
    order_id: Option<String>,
    amount: Option<i64>,
    currency: Option<String>,
    #[serde(default)]
    metadata: serde_json::Map<String, Value>,
}

/// How the partner takes it.
#[derive(Deserialize)]
pub struct Manner {
    honours_keys: Option<bool>,
}

/// `POST /partners/{kind}`.
pub async fn perform(
    sim: web::Data<Sim>,
    request: HttpRequest,
    kind: web::Path<String>,
    manner: web::Query<Manner>,
    body: web::Bytes,
) -> Result<HttpResponse, Error> {
    let (work, behaviour) = match read(&body, &kind) {
        Ok(read) => read,
        Err(why) => return Ok(refuse(400, "invalid_request", &why)),
    };
    let key = key(&request, &kind, manner.honours_keys.unwrap_or(true), &body);
    let running = match Running::begin(&sim.world, key) {
        Begun::Fresh(running) => running,
        Begun::Replay(stored) => {
            let mut answer = answer(stored.status, stored.body);
            answer.headers_mut().insert(REPLAYED, actix_web::http::header::HeaderValue::from_static("true"));
            return Ok(answer);
        }
        Begun::OtherEndpoint(_) | Begun::OtherParameters => {
            return Ok(refuse(422, "idempotency_key_reused", "The key was used for another request."));
        }
        Begun::InUse => return Ok(in_use()),
    };
    let record = Record {
        kind: work.kind.clone(),
        operation_key: work.operation_key.clone(),
        reference: None,
        unknown: behaviour.unknown,
    };
    let plan = Plan {
        fault: behaviour.fault,
        name: Some(format!("partner:{}", record.name())),
        // A partner that cannot tell cannot tell of what it never got either.
        on_loss: Change { record: behaviour.unknown.then(|| record.clone()), ..Change::default() },
        failure: error_body("internal_error", "Something went wrong."),
    };
    let run = move |_: &State| if behaviour.declined { declined() } else { done(work, record) };
    Ok(match carry_out(&sim, running, plan, run).await? {
        Outcome::Answer { status, body } => answer(status, body),
        Outcome::Cut => line::cut(&request),
        Outcome::TurnedAway(409) => in_use(),
        Outcome::TurnedAway(status) => refuse(status, "internal_error", "Something went wrong."),
    })
}

const REPLAYED: actix_web::http::header::HeaderName =
    actix_web::http::header::HeaderName::from_static("idempotent-replayed");

fn read(body: &[u8], kind: &str) -> Result<(Request, Behaviour), String> {
    let request: Request = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    if request.kind != kind || kind == "charge" || kind == "refund" {
        return Err("kind is not the one of the address, or is Stripe's business".to_owned());
    }
    let behaviour = match request.metadata.get(&format!("sim_{kind}")) {
        None => Behaviour::GOOD,
        Some(word) => word.as_str().and_then(Behaviour::parse).ok_or("the sim_ word is not known")?,
    };
    Ok((request, behaviour))
}

fn key(request: &HttpRequest, kind: &str, honours_keys: bool, body: &[u8]) -> Option<Key> {
    let key = request.headers().get("idempotency-key").filter(|_| honours_keys)?;
    Some(Key {
        name: format!("partner:{kind}:{}", String::from_utf8_lossy(key.as_bytes())),
        endpoint: kind.to_owned(),
        parameters: sha256(body),
        request_id: RequestId::of(request),
    })
}

fn done(work: Request, record: Record) -> Work {
    let reference = new_id(&work.kind);
    let body = json!({ "reference": reference }).to_string();
    let effect = Effect {
        kind: work.kind,
        key: work.operation_key,
        order_id: work.order_id,
        amount: work.amount,
        currency: work.currency,
    };
    let record = Record { reference: Some(reference), ..record };
    let change = Change { effect: Some(effect), record: Some(record), ..Change::default() };
    Work { change, status: 200, body, events: Vec::new() }
}

fn declined() -> Work {
    Work { status: 422, body: error_body("declined", "The partner refuses this work."), ..Work::default() }
}

/// Which operation is asked about.
#[derive(Deserialize)]
pub struct Question {
    operation_key: Option<String>,
}

/// `GET /partners/{kind}?operation_key=`: `happened` is true, false, or null when the partner cannot tell.
pub async fn ask(
    sim: web::Data<Sim>,
    kind: web::Path<String>,
    question: web::Query<Question>,
) -> Result<HttpResponse, Error> {
    let Some(operation_key) = &question.operation_key else {
        return Ok(refuse(400, "invalid_request", "operation_key is missing."));
    };
    let body = sim.world.read(|state| match state.records.get(&name(&kind, operation_key)) {
        Some(record) if record.unknown => json!({ "happened": null, "reference": null }),
        Some(record) => json!({ "happened": record.reference.is_some(), "reference": record.reference }),
        None => json!({ "happened": false, "reference": null }),
    });
    sim.world.synced().await.map_err(|_| Broken)?;
    Ok(HttpResponse::Ok().json(body))
}

fn in_use() -> HttpResponse {
    refuse(409, "idempotency_key_in_use", "A request with this key is being carried out.")
}

fn refuse(status: u16, code: &str, message: &str) -> HttpResponse {
    answer(status, error_body(code, message))
}

fn error_body(code: &str, message: &str) -> String {
    json!({ "error": { "code": code, "message": message } }).to_string()
}

fn answer(status: u16, body: String) -> HttpResponse {
    let status = actix_web::http::StatusCode::from_u16(status).unwrap_or_default();
    HttpResponse::build(status).content_type("application/json").body(body)
}
