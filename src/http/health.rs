//! `/healthz`, `/readyz` and `/metrics`.

use crate::db::deadline::Deadline;
use crate::db::migrate::SchemaState;
use crate::http::Use;
use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse};
use serde::Serialize;
use std::time::Duration;

/// A probe gets its answer within this time, whatever the database does.
const PROBE_TIME: Duration = Duration::from_secs(1);

#[derive(Serialize)]
struct Status {
    status: &'static str,
}

/// The process answers.
pub async fn health() -> HttpResponse {
    HttpResponse::Ok().json(Status { status: "ok" })
}

/// The process can do its work: it is not shutting down, and the database is there with the right schema.
pub async fn ready(app: Use) -> HttpResponse {
    let status = if app.is_draining() {
        "draining"
    } else {
        match app.db.schema_state(Deadline::after(PROBE_TIME)).await {
            // A newer version's migrations leave this one working, since servers are replaced one by one.
            Ok(SchemaState::Current | SchemaState::Newer) => {
                return HttpResponse::Ok().json(Status { status: "ready" });
            }
            Ok(_) => "schema_mismatch",
            Err(_) => "database_unreachable",
        }
    };
    HttpResponse::ServiceUnavailable().insert_header((header::RETRY_AFTER, "1")).json(Status { status })
}

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The process's counters, in the format that `Accept` asks for.
pub async fn metrics(app: Use, request: HttpRequest) -> HttpResponse {
    let pool = app.db.pool_status();
    app.metrics.pool(pool.open.saturating_sub(pool.idle), pool.idle, pool.waiting);
    let accept = request.headers().get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    let open_metrics = accept.contains("application/openmetrics-text");
    let content_type = if open_metrics { OPEN_METRICS } else { PROMETHEUS };
    HttpResponse::Ok().content_type(content_type).body(app.metrics.render(open_metrics))
}
