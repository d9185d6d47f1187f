//! The documentation that the server carries with it: `/openapi.yaml`, `/docs`, `/problems`.

use crate::http::docs_page::{self, ProblemKind};
use crate::http::kinds::{INTERNAL_ERROR, KINDS, Kind, NOT_FOUND};
use crate::http::problem::Problem;
use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, web};
use base64::Engine;
use base64::prelude::BASE64_STANDARD as BASE64;
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::sync::LazyLock;

const OPENAPI: &str = include_str!("../../openapi.yaml");
const HTML: &str = "text/html; charset=utf-8";

/// The pages need their own style sheet, named by its hash, and nothing else.
static CONTENT_SECURITY_POLICY: LazyLock<String> = LazyLock::new(|| {
    let hash = BASE64.encode(Sha256::digest(docs_page::STYLE));
    format!(
        "default-src 'none'; style-src 'sha256-{hash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
});

/// Rendered when first asked for.
static PAGE: LazyLock<Option<String>> = LazyLock::new(|| {
    let page = docs_page::render(OPENAPI);
    page.inspect_err(|error| tracing::error!(%error, "documentation page not rendered")).ok()
});

/// The contract.
pub async fn openapi() -> HttpResponse {
    HttpResponse::Ok().content_type("application/yaml").body(OPENAPI)
}

/// The contract for people.
pub async fn docs() -> Result<HttpResponse, Problem> {
    PAGE.as_ref().map(|page| html(page.clone())).ok_or_else(|| Problem::new(&INTERNAL_ERROR))
}

#[derive(Serialize)]
struct List {
    data: &'static [&'static Kind],
}

/// Every kind of problem.
pub async fn problems(request: HttpRequest) -> HttpResponse {
    if wants_html(&request) {
        let kinds: Vec<_> = KINDS.iter().map(|kind| page_kind(kind)).collect();
        return html(docs_page::render_problems(&kinds));
    }
    HttpResponse::Ok().insert_header((header::VARY, "Accept")).json(List { data: KINDS })
}

/// One kind of problem: what the `type` of a problem document leads to.
pub async fn problem(request: HttpRequest, code: web::Path<String>) -> Result<HttpResponse, Problem> {
    let kind = KINDS.iter().find(|kind| kind.code == *code).ok_or_else(|| Problem::new(&NOT_FOUND))?;
    if wants_html(&request) {
        return Ok(html(docs_page::render_problem(&page_kind(kind))));
    }
    Ok(HttpResponse::Ok().insert_header((header::VARY, "Accept")).json(kind))
}

fn page_kind(kind: &Kind) -> ProblemKind<'static> {
    ProblemKind {
        code: kind.code,
        status: kind.status,
        title: kind.title,
        detail: kind.detail,
        retryable: kind.retryable,
    }
}

fn html(page: String) -> HttpResponse {
    HttpResponse::Ok()
        .content_type(HTML)
        .insert_header((header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY.as_str()))
        .insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .insert_header((header::VARY, "Accept"))
        .body(page)
}

/// Browsers name HTML in `Accept`; programs get JSON.
fn wants_html(request: &HttpRequest) -> bool {
    let accept = request.headers().get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    accept.is_some_and(|accept| accept.contains("text/html"))
}
