//! The scenarios.

#![expect(clippy::indexing_slicing, reason = "of a JSON value a member that is not there is null")]

use crate::cli::rehearse::report::Counted;
use crate::cli::rehearse::scene::{SceneError, body};
use crate::cli::rehearse::stage::Stage;
use futures_util::future::{BoxFuture, FutureExt, join_all};
use serde_json::json;
use std::time::Duration;
use tokio::time::sleep;
use uuid::Uuid;

type Played<'a> = BoxFuture<'a, Result<Vec<Counted>, SceneError>>;
/// A scenario: its name, what it is about, and how it is played.
pub type Scene = (&'static str, &'static str, for<'a> fn(&'a mut Stage) -> Played<'a>);

/// Everything once: the payment and every step.
const ONCE: &[(&str, u64)] = &[
    ("charge", 1),
    ("refund", 0),
    ("stock_reservation", 1),
    ("shipment_request", 1),
    ("confirmation_mail", 1),
    ("accounting_entry", 1),
];

/// All of them, in the order in which they are played.
pub fn all() -> Vec<Scene> {
    vec![
        ("order_sent_ten_times_at_once", "ten clients' worth of the same request", |stage| ten_at_once(stage).boxed()),
        ("gateway_answer_lost", "the money is taken, and nobody hears of it", |stage| {
            paid_by(stage, "pm_sim_lost_answer").boxed()
        }),
        ("gateway_never_got_it", "the request is lost, and nobody knows that", |stage| {
            paid_by(stage, "pm_sim_lost_request").boxed()
        }),
        ("gateway_fails_once", "a server error, after which the same call succeeds", |stage| {
            paid_by(stage, "pm_sim_error_500_then_ok").boxed()
        }),
        ("server_killed_at_the_gateway", "kill -9 while the gateway holds its answer", |stage| {
            killed_at_the_gateway(stage).boxed()
        }),
        ("partner_answer_lost", "the shipment is asked for, and nobody hears of it", |stage| {
            partner_fails(stage, "lost_answer").boxed()
        }),
        ("partner_never_got_it", "the request for the shipment is lost", |stage| {
            partner_fails(stage, "lost_request").boxed()
        }),
        ("partner_without_keys", "a partner who would do it again loses its answer", |stage| {
            keyless_partner_fails(stage).boxed()
        }),
        ("server_killed_at_a_partner", "kill -9 while a partner holds its answer", |stage| {
            killed_at_a_partner(stage).boxed()
        }),
        ("cancelled_while_unknown", "the payment's answer is lost, and the order is cancelled", |stage| {
            cancelled_while_unknown(stage).boxed()
        }),
    ]
}

/// Their names, for the command line.
pub fn names() -> Vec<&'static str> {
    all().into_iter().map(|(name, ..)| name).collect()
}

async fn completed(stage: &Stage, order_id: &str) -> Result<Vec<Counted>, SceneError> {
    stage.until(order_id, "the order", |order| order["status"] == "completed").await?;
    stage.count(order_id, ONCE).await
}

async fn ten_at_once(stage: &mut Stage) -> Result<Vec<Counted>, SceneError> {
    let (key, body) = (Uuid::now_v7().to_string(), body("pm_sim_slow_300", &json!({})));
    let answers = join_all((0..10).map(|_| stage.insist("/v1/orders", &key, &body))).await;
    let mut ids: Vec<_> =
        answers.into_iter().map(|answer| Ok(answer?["id"].to_string())).collect::<Result<_, SceneError>>()?;
    ids.sort();
    ids.dedup();
    let order = stage.insist("/v1/orders", &key, &body).await?;
    let mut counted = completed(stage, order["id"].as_str().unwrap_or_default()).await?;
    counted.push(Counted { effect: "order", expected: 1, seen: ids.len() as u64 });
    Ok(counted)
}

async fn paid_by(stage: &mut Stage, method: &str) -> Result<Vec<Counted>, SceneError> {
    let order_id = stage.order(method, &json!({})).await?;
    completed(stage, &order_id).await
}

async fn killed_at_the_gateway(stage: &mut Stage) -> Result<Vec<Counted>, SceneError> {
    let (key, body) = (Uuid::now_v7().to_string(), body("pm_sim_slow_900", &json!({})));
    let held = stage.send("/v1/orders", &key, &body);
    // Long enough to have been sent, and shorter than the gateway holds it.
    let _ = tokio::time::timeout(Duration::from_millis(400), held).await;
    restart(stage).await?;
    let order = stage.insist("/v1/orders", &key, &body).await?;
    completed(stage, order["id"].as_str().unwrap_or_default()).await
}

async fn partner_fails(stage: &mut Stage, word: &str) -> Result<Vec<Counted>, SceneError> {
    let order_id = stage.order("pm_card_visa", &json!({ "sim_shipment_request": word })).await?;
    completed(stage, &order_id).await
}

async fn keyless_partner_fails(stage: &mut Stage) -> Result<Vec<Counted>, SceneError> {
    let order_id = stage.order("pm_card_visa", &json!({ "sim_accounting_entry": "lost_answer" })).await?;
    completed(stage, &order_id).await
}

async fn killed_at_a_partner(stage: &mut Stage) -> Result<Vec<Counted>, SceneError> {
    let order_id = stage.order("pm_card_visa", &json!({ "sim_stock_reservation": "slow_900" })).await?;
    stage.until(&order_id, "the other steps", |order| order["steps"].to_string().contains("accounting_entry")).await?;
    sleep(Duration::from_millis(600)).await;
    restart(stage).await?;
    completed(stage, &order_id).await
}

async fn cancelled_while_unknown(stage: &mut Stage) -> Result<Vec<Counted>, SceneError> {
    let (key, body) = (Uuid::now_v7().to_string(), body("pm_sim_lost_answer", &json!({})));
    let Some((202, order)) = stage.send("/v1/orders", &key, &body).await else {
        return Err(SceneError::Unsettled("the unknown payment"));
    };
    let order_id = order["id"].as_str().unwrap_or_default().to_owned();
    stage.cancel(&order_id).await?;
    stage.until(&order_id, "the refund", |order| order["payment"]["status"] == "refunded").await?;
    let none = [
        ("charge", 1),
        ("refund", 1),
        ("stock_reservation", 0),
        ("shipment_request", 0),
        ("confirmation_mail", 0),
        ("accounting_entry", 0),
    ];
    stage.count(&order_id, &none).await
}

async fn restart(stage: &mut Stage) -> Result<(), SceneError> {
    stage.kill_server();
    stage.start_server().await.map_err(|error| SceneError::Stage(error.to_string()))
}
