//! `/v1/receipts` and `/v1/events`.

use crate::app::error::AppError;
use crate::app::inbox::list;
use crate::db::deadline::Deadline;
use crate::domain::cursor;
use crate::domain::inbox::view::{EventView, ReceiptView};
use crate::domain::scope::Scope;
use crate::http::problem::Problem;
use crate::http::{Use, caller, inbox_query};
use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, web};
use serde::Serialize;
use uuid::Uuid;

#[derive(Serialize)]
struct List<T> {
    data: Vec<T>,
    next_cursor: Option<String>,
}

/// `GET /v1/receipts`.
pub async fn receipts(app: Use, request: HttpRequest) -> Result<HttpResponse, Problem> {
    let deadline = Deadline::of_request();
    let caller = caller::require(&app, &request, Scope::OrdersRead, deadline).await?;
    let query = inbox_query::receipts(request.query_string())?;
    let (work, org_id, filter) = (app.get_ref().clone(), caller.org.org_id, query.filter.clone());
    let (below, limit) = (query.below, query.limit);
    let (receipts, next) =
        app.read(async move { list::list_receipts(&work, org_id, &filter, below, limit, deadline).await }).await?;
    let mut response = HttpResponse::Ok();
    if let Some(next) = next {
        let target = query.with_cursor(next);
        response.insert_header((header::LINK, format!("</v1/receipts?{target}>; rel=\"next\"")));
    }
    let data = receipts.iter().map(ReceiptView::of).collect();
    Ok(response.json(List { data, next_cursor: next.map(|next| cursor::encode(inbox_query::RECEIPTS, next)) }))
}

/// `GET /v1/receipts/{receipt_id}`.
pub async fn receipt(app: Use, request: HttpRequest, path: web::Path<String>) -> Result<HttpResponse, Problem> {
    let deadline = Deadline::of_request();
    let caller = caller::require(&app, &request, Scope::OrdersRead, deadline).await?;
    let id = if path.len() == 36 { Uuid::try_parse(&path).ok() } else { None };
    let (work, org_id, id) = (app.get_ref().clone(), caller.org.org_id, id.ok_or(AppError::NotFound)?);
    let receipt = app.read(async move { list::get_receipt(&work, org_id, id, deadline).await }).await?;
    Ok(HttpResponse::Ok().json(ReceiptView::of(&receipt)))
}

/// `GET /v1/events`.
pub async fn events(app: Use, request: HttpRequest) -> Result<HttpResponse, Problem> {
    let deadline = Deadline::of_request();
    let caller = caller::require(&app, &request, Scope::OrdersRead, deadline).await?;
    let query = inbox_query::events(request.query_string())?;
    let (work, org_id, filter) = (app.get_ref().clone(), caller.org.org_id, query.filter.clone());
    let (below, limit) = (query.below, query.limit);
    let (events, next) =
        app.read(async move { list::list_events(&work, org_id, &filter, below, limit, deadline).await }).await?;
    let mut response = HttpResponse::Ok();
    if let Some(next) = next {
        let target = query.with_cursor(next);
        response.insert_header((header::LINK, format!("</v1/events?{target}>; rel=\"next\"")));
    }
    let data = events.iter().map(EventView::of).collect();
    Ok(response.json(List { data, next_cursor: next.map(|next| cursor::encode(inbox_query::EVENTS, next)) }))
}
