//! Business steps after the payment, counted at the simulated partners.

mod crowd;
mod faults;
mod pipeline;

use crate::support::app::{TestApp, TestOrg};
use crate::support::payments::{World, paid_body, start};
use crate::support::work::work;
use ichido::app::steps::set_policy::set_step_policy;
use ichido::db::deadline::Deadline;
use ichido::db::step_policies::StepPolicy;
use ichido::domain::step::StepKind;
use serde_json::Value;
use std::time::{Duration, Instant};

/// Every step.
pub const KINDS: [StepKind; 4] =
    [StepKind::StockReservation, StepKind::ShipmentRequest, StepKind::ConfirmationMail, StepKind::AccountingEntry];

/// A policy with a partner of the simulated world.
pub fn policy(world: &World, kind: StepKind, honours_keys: bool, can_be_asked: bool) -> StepPolicy {
    let url = format!("{}/partners/{}", world.base, kind.as_str());
    StepPolicy {
        kind,
        url: format!("{url}?honours_keys={honours_keys}"),
        honours_keys,
        status_url: can_be_asked.then_some(url),
        secret_sealed: None,
        owner: "warehouse".to_owned(),
        corrector: "returns".to_owned(),
        max_attempts: 20,
        time: Duration::from_hours(2),
    }
}

/// Sets a policy.
pub async fn set(app: &TestApp, org: &TestOrg, policy: StepPolicy) {
    set_step_policy(&app.app, org.id, policy, None, Deadline::of_request()).await.unwrap();
}

/// A service whose organisation has every step, done by partners who honour keys.
pub async fn with_all_steps() -> (TestApp, World) {
    let (app, world) = start().await;
    for kind in KINDS {
        set(&app, &app.org, policy(&world, kind, true, true)).await;
    }
    (app, world)
}

/// A valid body whose partner for a step meets a fault.
pub fn body_with(kind: StepKind, fault: &str) -> Value {
    let mut body = paid_body("pm_card_visa");
    body["metadata"][format!("sim_{}", kind.as_str())] = fault.into();
    body
}

/// Rounds of the worker until every step is settled one way or the other.
pub async fn settle_steps(app: &TestApp, order_id: &str) -> Value {
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        work(app).await;
        let order = app.order(order_id).await;
        let open = ["waiting", "ready", "leased", "retry_at", "unknown"];
        let steps = order["steps"].as_array().unwrap();
        let waits_for_a_person = steps.iter().any(|step| step["state"] == "needs_reconciliation");
        if steps.iter().all(|step| {
            !open.contains(&step["state"].as_str().unwrap()) || (waits_for_a_person && step["state"] == "waiting")
        }) {
            return order;
        }
        assert!(Instant::now() < end, "never settled: {order}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// How a step of an order stands.
pub fn state(order: &Value, kind: StepKind) -> String {
    let steps = order["steps"].as_array().unwrap();
    let step = steps.iter().find(|step| step["kind"] == kind.as_str());
    step.map_or("absent", |step| step["state"].as_str().unwrap()).to_owned()
}
