//! The HTTP edge: parse, call one use case, render. Here is the one routing table.
//!
//! No SQL and no decisions: handlers see [`App`] and the use cases only.

mod answer;
mod body;
mod caller;
mod case_query;
mod cases;
mod connection;
pub mod cors;
mod docs;
mod docs_page;
pub mod entrance;
mod health;
mod inbox;
mod inbox_query;
mod key_header;
mod keyed;
mod keys;
pub mod kinds;
mod list_query;
mod observe;
mod operation_query;
mod operations;
mod orders;
mod payments;
mod problem;
pub mod server;
mod webhooks;

use crate::app::App;
use crate::http::kinds::{METHOD_NOT_ALLOWED, NOT_FOUND};
use crate::http::problem::Problem;
use actix_web::guard::{self, GuardContext};
use actix_web::http::Method;
use actix_web::http::header::{self, HeaderValue};
use actix_web::{Resource, Route, web};
use std::future::{Ready, ready};

/// A path of the API and what it answers. `HEAD` goes with every `GET`.
struct Entry {
    path: &'static str,
    routes: Vec<(Method, Route)>,
}

/// The routing table. `openapi.yaml` lists the same; a test compares the two.
fn table() -> Vec<Entry> {
    let get = || web::route().guard(guard::fn_guard(get_or_head));
    let entry = |path, routes| Entry { path, routes };
    vec![
        entry(
            "/v1/orders",
            vec![(Method::POST, web::post().to(orders::create)), (Method::GET, get().to(orders::list))],
        ),
        entry("/v1/orders/{order_id}", vec![(Method::GET, get().to(orders::get))]),
        entry("/v1/orders/{order_id}/trace", vec![(Method::GET, get().to(operations::trace))]),
        entry("/v1/operations", vec![(Method::GET, get().to(operations::list))]),
        entry("/v1/orders/{order_id}/payments", vec![(Method::POST, web::post().to(payments::pay))]),
        entry("/v1/orders/{order_id}/cancel", vec![(Method::POST, web::post().to(payments::cancel))]),
        entry("/v1/reconciliation-cases", vec![(Method::GET, get().to(cases::list))]),
        entry("/v1/reconciliation-cases/{case_id}", vec![(Method::GET, get().to(cases::get))]),
        entry("/v1/reconciliation-cases/{case_id}/decisions", vec![(Method::POST, web::post().to(cases::decide))]),
        entry("/v1/webhooks/{endpoint_id}", vec![(Method::POST, web::post().to(webhooks::receive))]),
        entry("/v1/receipts", vec![(Method::GET, get().to(inbox::receipts))]),
        entry("/v1/receipts/{receipt_id}", vec![(Method::GET, get().to(inbox::receipt))]),
        entry("/v1/events", vec![(Method::GET, get().to(inbox::events))]),
        entry("/v1/idempotency-keys/{idempotency_key}", vec![(Method::GET, get().to(keys::get))]),
        entry("/healthz", vec![(Method::GET, get().to(health::health))]),
        entry("/readyz", vec![(Method::GET, get().to(health::ready))]),
        entry("/metrics", vec![(Method::GET, get().to(health::metrics))]),
        entry("/openapi.yaml", vec![(Method::GET, get().to(docs::openapi))]),
        entry("/docs", vec![(Method::GET, get().to(docs::docs))]),
        entry("/problems", vec![(Method::GET, get().to(docs::problems))]),
        entry("/problems/{code}", vec![(Method::GET, get().to(docs::problem))]),
    ]
}

/// Every route as method and path template, for tests and metrics.
#[must_use]
pub fn routes() -> Vec<(Method, &'static str)> {
    let table = table();
    table.iter().flat_map(|entry| entry.routes.iter().map(|(method, _)| (method.clone(), entry.path))).collect()
}

/// Puts the routing table into an application. Server and tests use this one function.
pub fn configure(config: &mut web::ServiceConfig) {
    for Entry { path, routes } in table() {
        let allowed = allow(&routes);
        let resource = routes.into_iter().fold(Resource::new(path), |resource, (_, route)| resource.route(route));
        config.service(resource.default_service(web::to(move || refuse_method(allowed.clone()))));
    }
    config.default_service(web::to(|| ready(Err::<&str, _>(Problem::new(&NOT_FOUND)))));
}

fn refuse_method(allowed: HeaderValue) -> Ready<Result<&'static str, Problem>> {
    ready(Err(Problem::new(&METHOD_NOT_ALLOWED).header(header::ALLOW, allowed)))
}

fn allow(routes: &[(Method, Route)]) -> HeaderValue {
    let mut methods = Vec::new();
    for (method, _) in routes {
        methods.push(method.as_str());
        if method == Method::GET {
            methods.push(Method::HEAD.as_str());
        }
    }
    // Method names are valid header text.
    HeaderValue::from_str(&methods.join(", ")).unwrap_or_else(|_| HeaderValue::from_static("GET"))
}

fn get_or_head(context: &GuardContext<'_>) -> bool {
    matches!(context.head().method, Method::GET | Method::HEAD)
}

/// What handlers work with.
type Use = web::Data<App>;
