//! `/v1/operations`, and the trace of an order.

use crate::app::error::AppError;
use crate::app::inspect;
use crate::db::deadline::Deadline;
use crate::domain::ids::OrderId;
use crate::domain::operation_view::{OperationCursor, OperationView};
use crate::domain::scope::Scope;
use crate::domain::trace::TraceView;
use crate::http::problem::Problem;
use crate::http::{Use, caller, operation_query};
use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, web};
use serde::Serialize;

#[derive(Serialize)]
struct List<'a> {
    data: Vec<OperationView<'a>>,
    next_cursor: Option<String>,
}

/// `GET /v1/operations`.
pub async fn list(app: Use, request: HttpRequest) -> Result<HttpResponse, Problem> {
    let deadline = Deadline::of_request();
    let caller = caller::require(&app, &request, Scope::OrdersRead, deadline).await?;
    let query = operation_query::parse(request.query_string())?;
    let (work, org_id, filter) = (app.get_ref().clone(), caller.org.org_id, query.filter.clone());
    let (below, limit) = (query.below.clone(), query.limit);
    let page = async move { inspect::list_operations(&work, org_id, &filter, &below, limit, deadline).await };
    let (operations, next) = app.read(page).await?;
    let mut response = HttpResponse::Ok();
    if let Some(next) = &next {
        let target = query.with_cursor(next);
        response.insert_header((header::LINK, format!("</v1/operations?{target}>; rel=\"next\"")));
    }
    let data = operations.iter().map(OperationView::of).collect();
    Ok(response.json(List { data, next_cursor: next.as_ref().map(OperationCursor::encode) }))
}

/// `GET /v1/orders/{order_id}/trace`.
pub async fn trace(app: Use, request: HttpRequest, path: web::Path<String>) -> Result<HttpResponse, Problem> {
    let deadline = Deadline::of_request();
    let caller = caller::require(&app, &request, Scope::OrdersRead, deadline).await?;
    let order_id = OrderId::parse(&path).ok_or(AppError::NotFound)?;
    let (work, org_id) = (app.get_ref().clone(), caller.org.org_id);
    let trace = app.read(async move { inspect::get_trace(&work, org_id, order_id, deadline).await }).await?;
    Ok(HttpResponse::Ok().json(TraceView::of(&trace)))
}
