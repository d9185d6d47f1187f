//! The scenarios.

#![expect(clippy::indexing_slicing, reason = "of a JSON value a member that is not there is null")]

use crate::cli::rehearse::report::Counted;
use crate::cli::rehearse::scene::{SceneError, body};
use crate::cli::rehearse::stage::Stage;
use futures_util::future::{BoxFuture, FutureExt, join_all};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::sleep;
use uuid::Uuid;

type Played<'a> = BoxFuture<'a, Result<Vec<Counted>, SceneError>>;
/// A scenario: its name, what it is about, and how it is played.
pub type Scene = (&'static str, &'static str, for<'a> fn(&'a mut Stage) -> Played<'a>);

/// Those that kill the server, or count on its times: on a private stage only.
pub const PRIVATE: [&str; 3] =
    ["server_killed_at_the_gateway", "server_killed_at_a_partner", "cancelled_while_unknown"];

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
        ("notified_before_the_answer", "the gateway tells of the payment before it answers the call", |stage| {
            paid_by(stage, "pm_sim_slow_700").boxed()
        }),
        ("notified_three_times_at_once", "one notification, three deliveries at the same moment", |stage| {
            notified(stage, json!({ "type": "payment_intent.succeeded", "copies": 3, "at_once": true })).boxed()
        }),
        ("notified_under_two_ids", "the same fact told by two notifications of two kinds", |stage| {
            notified_under_two_ids(stage).boxed()
        }),
        ("notified_in_reverse_order", "what came before the success is told after it", |stage| {
            notified_in_reverse(stage).boxed()
        }),
        ("success_told_after_the_refund", "the money went back, and then its success is told again", |stage| {
            success_after_refund(stage).boxed()
        }),
        ("wrong_amount", "somebody pays 1 for an order of 2400", |stage| wrong_amount(stage).boxed()),
        (
            "cancelled_while_unknown",
            "the order is cancelled after a payment's call is given up, before it is done",
            |stage| cancelled_while_unknown(stage).boxed(),
        ),
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
    // Done only after the kill, so that no notification of it has begun the steps before.
    let (key, body) = (Uuid::now_v7().to_string(), body("pm_sim_late_900", &json!({})));
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
    // Nothing of it can be seen or told until long after the server has given the call up.
    let (key, body) = (Uuid::now_v7().to_string(), body("pm_sim_late_4000", &json!({})));
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

async fn notified(stage: &mut Stage, told: Value) -> Result<Vec<Counted>, SceneError> {
    let order_id = stage.order("pm_card_visa", &json!({})).await?;
    stage.tell(&order_id, told.clone()).await?;
    completed(stage, &order_id).await?;
    // And once more, when everything is done.
    stage.tell(&order_id, told).await?;
    stage.count(&order_id, ONCE).await
}

async fn notified_under_two_ids(stage: &mut Stage) -> Result<Vec<Counted>, SceneError> {
    let order_id = stage.order("pm_card_visa", &json!({})).await?;
    for (kind, id) in [("charge.succeeded", "evt_second"), ("payment_intent.succeeded", "evt_first")] {
        let event_id = format!("{id}{}", Uuid::now_v7().simple());
        stage.tell(&order_id, json!({ "type": kind, "event_id": event_id })).await?;
    }
    completed(stage, &order_id).await
}

async fn notified_in_reverse(stage: &mut Stage) -> Result<Vec<Counted>, SceneError> {
    let order_id = stage.order("pm_card_visa", &json!({})).await?;
    completed(stage, &order_id).await?;
    stage.tell(&order_id, json!({ "type": "payment_intent.processing", "copies": 2 })).await?;
    let mut counted = stage.count(&order_id, ONCE).await?;
    let order = stage.look(&order_id).await?;
    let undone = order["payment"]["status"] != "succeeded" || order["status"] != "completed";
    counted.push(Counted { effect: "payment undone", expected: 0, seen: u64::from(undone) });
    Ok(counted)
}

async fn success_after_refund(stage: &mut Stage) -> Result<Vec<Counted>, SceneError> {
    let order_id = stage.order("pm_card_visa", &json!({})).await?;
    completed(stage, &order_id).await?;
    stage.cancel(&order_id).await?;
    stage.until(&order_id, "the refund", |order| order["payment"]["status"] == "refunded").await?;
    stage.tell(&order_id, json!({ "type": "payment_intent.succeeded", "copies": 2 })).await?;
    let mut counted = stage.count(&order_id, &[("charge", 1), ("refund", 1), ("shipment_request", 1)]).await?;
    let order = stage.look(&order_id).await?;
    let undone = order["payment"]["status"] != "refunded" || order["status"] != "cancelled";
    counted.push(Counted { effect: "refund undone", expected: 0, seen: u64::from(undone) });
    Ok(counted)
}

async fn wrong_amount(stage: &mut Stage) -> Result<Vec<Counted>, SceneError> {
    let mut unpaid = body("", &json!({}));
    unpaid["payment"] = Value::Null;
    let order = stage.insist("/v1/orders", &Uuid::now_v7().to_string(), &unpaid).await?;
    let order_id = order["id"].as_str().unwrap_or_default().to_owned();
    let form = [
        ("amount", "1"),
        ("currency", "jpy"),
        ("confirm", "true"),
        ("error_on_requires_action", "true"),
        ("payment_method", "pm_card_visa"),
        ("metadata[ichido_order_id]", &order_id),
    ];
    let paying = stage.client.post(format!("{}/stripe/v1/payment_intents", stage.world)).form(&form);
    let paid = paying.bearer_auth("sk_test_simulated").send().await?;
    if paid.status() != 200 {
        return Err(SceneError::Answer(paid.status().as_u16(), "the simulated gateway"));
    }
    stage.until(&order_id, "the case", |order| order["needs_reconciliation"] == true).await?;
    let mut counted =
        stage.count(&order_id, &[("charge", 1), ("stock_reservation", 0), ("shipment_request", 0)]).await?;
    let confirmed = stage.look(&order_id).await?["status"] != "received";
    counted.push(Counted { effect: "confirmation", expected: 0, seen: u64::from(confirmed) });
    Ok(counted)
}

async fn restart(stage: &mut Stage) -> Result<(), SceneError> {
    stage.kill_server();
    stage.start_server().await.map_err(|error| SceneError::Stage(error.to_string()))
}
