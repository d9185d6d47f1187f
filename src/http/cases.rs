//! `/v1/reconciliation-cases`.

use crate::app::decide_case::decide_case;
use crate::app::error::AppError;
use crate::app::inspect;
use crate::db::deadline::Deadline;
use crate::domain::case_view::{self, CaseView};
use crate::domain::scope::Scope;
use crate::http::problem::Problem;
use crate::http::{Use, caller, case_query, keyed};
use actix_web::http::header::{self, ContentType};
use actix_web::{HttpRequest, HttpResponse, web};
use serde::Serialize;
use uuid::Uuid;

#[derive(Serialize)]
struct List<'a> {
    data: Vec<CaseView<'a>>,
    next_cursor: Option<String>,
}

/// `GET /v1/reconciliation-cases`.
pub async fn list(app: Use, request: HttpRequest) -> Result<HttpResponse, Problem> {
    let deadline = Deadline::of_request();
    let caller = caller::require(&app, &request, Scope::OrdersRead, deadline).await?;
    let query = case_query::parse(request.query_string())?;
    let (work, org_id, filter) = (app.get_ref().clone(), caller.org.org_id, query.filter.clone());
    let (below, limit) = (query.below, query.limit);
    let (cases, next) =
        app.read(async move { inspect::list_cases(&work, org_id, &filter, below, limit, deadline).await }).await?;
    let mut response = HttpResponse::Ok();
    if let Some(next) = next {
        let target = query.with_cursor(next);
        response.insert_header((header::LINK, format!("</v1/reconciliation-cases?{target}>; rel=\"next\"")));
    }
    let data = cases.iter().map(CaseView::of).collect();
    Ok(response.json(List { data, next_cursor: next.map(case_query::encode) }))
}

/// `GET /v1/reconciliation-cases/{case_id}`.
pub async fn get(app: Use, request: HttpRequest, path: web::Path<String>) -> Result<HttpResponse, Problem> {
    let deadline = Deadline::of_request();
    let caller = caller::require(&app, &request, Scope::OrdersRead, deadline).await?;
    let (work, org_id, case_id) = (app.get_ref().clone(), caller.org.org_id, case_id(&path)?);
    let case = app.read(async move { inspect::get_case(&work, org_id, case_id, deadline).await }).await?;
    Ok(HttpResponse::Ok().insert_header(ContentType::json()).body(case_view::body(&case)))
}

/// `POST /v1/reconciliation-cases/{case_id}/decisions`.
pub async fn decide(
    app: Use,
    request: HttpRequest,
    path: web::Path<String>,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let keyed = keyed::read(&app, &request, payload, Scope::Reconcile).await?;
    let case_id = case_id(&path)?;
    keyed::respond(&app, &keyed, |app, command, deadline| async move {
        decide_case(&app, &command, case_id, deadline).await
    })
    .await
}

fn case_id(text: &str) -> Result<Uuid, Problem> {
    let id = if text.len() == 36 { Uuid::try_parse(text).ok() } else { None };
    Ok(id.ok_or(AppError::NotFound)?)
}
