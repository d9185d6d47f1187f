//! `POST /v1/webhooks/{endpoint_id}`: authenticated by its signature, answered once it is committed.

use crate::app::error::AppError;
use crate::app::inbox::receive::{Delivery, receive_webhook};
use crate::db::deadline::Deadline;
use crate::domain::inbox::Classification;
use crate::http::problem::Problem;
use crate::http::{Use, body};
use actix_web::http::header::HeaderMap;
use actix_web::{HttpRequest, HttpResponse, web};
use serde::Serialize;
use uuid::Uuid;

#[derive(Serialize)]
struct Answer {
    receipt_id: Uuid,
    classification: &'static str,
}

/// Receives a delivery. The work is its own: a provider that hangs up changes nothing.
pub async fn receive(
    app: Use,
    request: HttpRequest,
    path: web::Path<String>,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let endpoint_id = if path.len() == 36 { Uuid::try_parse(&path).ok() } else { None };
    let endpoint_id = endpoint_id.ok_or(AppError::NotFound)?;
    let signature = signature(request.headers());
    let body = body::read_any(&app.bodies.deliveries, &request, payload).await?;
    let delivery = Delivery { endpoint_id, signature, body };
    let work = app.get_ref().clone();
    let received = app.read(async move { receive_webhook(&work, &delivery, Deadline::of_request()).await }).await?;
    let classification = Classification::as_str(received.classification);
    Ok(HttpResponse::Ok().json(Answer { receipt_id: received.receipt_id, classification }))
}

/// The one signature line; more than one could be read in two ways.
fn signature(headers: &HeaderMap) -> Option<Vec<u8>> {
    let mut lines = headers.get_all("Stripe-Signature");
    let (line, None) = (lines.next()?, lines.next()) else {
        return None;
    };
    Some(line.as_bytes().to_vec())
}
