//! `GET /v1/idempotency-keys/{key}`: what became of a request whose answer was lost, without sending it again.

use crate::app::inspect;
use crate::db::deadline::Deadline;
use crate::domain::claim::FoundClaim;
use crate::domain::ids::OrderId;
use crate::domain::key::IdempotencyKey;
use crate::domain::reply::timestamp;
use crate::domain::scope::Scope;
use crate::http::problem::Problem;
use crate::http::{Use, caller, key_header};
use actix_web::{HttpRequest, HttpResponse};
use percent_encoding::percent_decode_str;
use serde::Serialize;

#[derive(Serialize)]
struct View<'a> {
    object: &'static str,
    idempotency_key: &'a str,
    state: &'static str,
    order_id: OrderId,
    response_status: Option<u16>,
    created_at: String,
    completed_at: Option<String>,
    expires_at: Option<String>,
    /// A charge has a lease while somebody works on it; an order without payment has none.
    lease_until: Option<String>,
    attempts: u32,
}

/// What is known of a key. Nothing is executed.
pub async fn get(app: Use, request: HttpRequest) -> Result<HttpResponse, Problem> {
    let deadline = Deadline::of_request();
    let caller = caller::require(&app, &request, Scope::OrdersRead, deadline).await?;
    // From the path as it was sent: the router's own decoding leaves %2F and %25 as they are.
    let raw = request.uri().path().rsplit('/').next().unwrap_or_default();
    let key = key_header::parse(&percent_decode_str(raw).collect::<Vec<u8>>())?;
    let found = inspect::get_key(&app, caller.org.org_id, &key, deadline).await?;
    Ok(HttpResponse::Ok().json(view(&found, &key)))
}

fn view<'a>(found: &FoundClaim, key: &'a IdempotencyKey) -> View<'a> {
    let work = found.work.as_ref();
    View {
        object: "idempotency_key",
        idempotency_key: key.as_str(),
        state: if found.reply.is_some() { "completed" } else { "in_progress" },
        order_id: found.order_id,
        response_status: found.reply.as_ref().map(|reply| reply.status),
        created_at: timestamp(found.created_at),
        completed_at: found.completed_at.map(timestamp),
        expires_at: found.expires_at.map(timestamp),
        lease_until: work.and_then(|work| work.lease_until).map(timestamp),
        attempts: work.map_or(1, |work| work.attempts),
    }
}
