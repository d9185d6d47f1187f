//! The sweep: the gateway's books beside ours, in the simulated world. Recovery is not run unless a test says so.

mod command;
mod gateway_list;
mod payments;
mod refunds;

use crate::support::app::TestApp;
use crate::support::payments::{GATEWAY_SECRET, World};
use ichido::app::sweep::report::{Found, Report};
use ichido::app::sweep::sweep;
use serde_json::{Value, json};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// One sweep of the last day.
async fn swept(app: &TestApp) -> Report {
    let day = Duration::from_hours(24);
    let report = sweep(&app.app, app.org.id, day, &CancellationToken::new()).await.unwrap().unwrap();
    assert_eq!(report.stopped_by, None, "{}", report.text());
    report
}

/// What a sweep found, but for what agrees and what is somebody else's.
fn found(report: &Report) -> Vec<Found> {
    report.lines.iter().map(|line| line.found).collect()
}

/// A call to the simulated Stripe, as a person at its dashboard or another program makes it.
async fn at_the_gateway(world: &World, path: &str, form: &[(&str, &str)]) -> Value {
    let request = reqwest::Client::new().post(format!("{}/v1/{path}", world.stripe())).bearer_auth(GATEWAY_SECRET);
    let answer = request.form(form).send().await.unwrap();
    let status = answer.status();
    let object: Value = answer.json().await.unwrap();
    assert!(status.is_success(), "{object}");
    object
}

/// A payment made at the gateway past us.
async fn pay_at_the_gateway(world: &World, amount: &str, currency: &str, metadata: &[(&str, &str)]) -> String {
    let names: Vec<_> = metadata.iter().map(|(name, value)| (format!("metadata[{name}]"), *value)).collect();
    let mut form = vec![
        ("amount", amount),
        ("currency", currency),
        ("payment_method", "pm_card_visa"),
        ("confirm", "true"),
        ("automatic_payment_methods[enabled]", "true"),
        ("automatic_payment_methods[allow_redirects]", "never"),
    ];
    form.extend(names.iter().map(|(name, value)| (name.as_str(), *value)));
    at_the_gateway(world, "payment_intents", &form).await["id"].as_str().unwrap().to_owned()
}

/// Open cases, newest first.
async fn open_cases(app: &TestApp) -> Vec<Value> {
    let cases = app.get("/v1/reconciliation-cases?state=open", "/v1/reconciliation-cases").await.json();
    cases["data"].as_array().unwrap().clone()
}

async fn dismiss(app: &TestApp, case: &Value, key: &str) -> u16 {
    let decision = json!({ "decision": "dismiss", "reason": "settled by hand" });
    app.decide(case["id"].as_str().unwrap(), key, decision).await.status
}
