//! `/v1/orders`.

use crate::app::create_order::create_order;
use crate::app::error::AppError;
use crate::app::inspect;
use crate::app::list_orders::list_orders;
use crate::db::deadline::Deadline;
use crate::domain::cursor::Cursor;
use crate::domain::ids::OrderId;
use crate::domain::reply::{self, OrderView};
use crate::domain::scope::Scope;
use crate::http::problem::Problem;
use crate::http::{Use, caller, keyed, list_query};
use actix_web::http::header::{self, ContentType};
use actix_web::{HttpRequest, HttpResponse, web};
use serde::Serialize;

/// `POST /v1/orders`: once for each key, however often it is sent.
///
/// The order of the checks is part of the contract: those of [`keyed::read`], then the body's content.
pub async fn create(app: Use, request: HttpRequest, payload: web::Payload) -> Result<HttpResponse, Problem> {
    let keyed = keyed::read(&app, &request, payload, Scope::OrdersWrite).await?;
    keyed::respond(&app, &keyed, |app, command, deadline| async move { create_order(&app, &command, deadline).await })
        .await
}

/// `GET /v1/orders/{order_id}`.
pub async fn get(app: Use, request: HttpRequest, path: web::Path<String>) -> Result<HttpResponse, Problem> {
    let deadline = Deadline::of_request();
    let caller = caller::require(&app, &request, Scope::OrdersRead, deadline).await?;
    let order_id = OrderId::parse(&path).ok_or(AppError::NotFound)?;
    let (work, org_id) = (app.get_ref().clone(), caller.org.org_id);
    let order = app.read(async move { inspect::get_order(&work, org_id, order_id, deadline).await }).await?;
    let etag = order.etag();
    if matches_etag(&request, &etag) {
        return Ok(HttpResponse::NotModified().insert_header((header::ETAG, etag)).finish());
    }
    let mut response = HttpResponse::Ok();
    Ok(response.insert_header(ContentType::json()).insert_header((header::ETAG, etag)).body(reply::body(&order)))
}

#[derive(Serialize)]
struct List<'a> {
    data: Vec<OrderView<'a>>,
    next_cursor: Option<String>,
}

/// `GET /v1/orders`.
pub async fn list(app: Use, request: HttpRequest) -> Result<HttpResponse, Problem> {
    let deadline = Deadline::of_request();
    let caller = caller::require(&app, &request, Scope::OrdersRead, deadline).await?;
    let query = list_query::parse(request.query_string())?;
    let (work, org_id, filter) = (app.get_ref().clone(), caller.org.org_id, query.filter.clone());
    let (cursor, limit) = (query.cursor, query.limit);
    let page = app.read(async move { list_orders(&work, org_id, &filter, cursor, limit, deadline).await }).await?;
    let mut response = HttpResponse::Ok();
    if let Some(next) = page.next {
        let target = query.with_cursor(next);
        response.insert_header((header::LINK, format!("</v1/orders?{target}>; rel=\"next\"")));
    }
    let data = page.orders.iter().map(OrderView::of).collect();
    Ok(response.json(List { data, next_cursor: page.next.map(Cursor::encode) }))
}

/// Whether `If-None-Match` names this tag, by weak comparison (RFC 9110, section 13.1.2).
fn matches_etag(request: &HttpRequest, etag: &str) -> bool {
    let lines = request.headers().get_all(header::IF_NONE_MATCH);
    lines.filter_map(|line| line.to_str().ok()).flat_map(|line| line.split(',')).any(|tag| {
        let tag = tag.trim();
        tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == etag
    })
}
