//! Lists of the gateway, read page by page, and those that cannot be believed.

use crate::support::payments::{paid_body, start, use_gateway};
use crate::support::scripted_http::{ScriptedHttp, Step};
use crate::sweep::{pay_at_the_gateway, swept};
use ichido::app::sweep::report::Found;
use ichido::app::sweep::sweep;
use serde_json::{Value, json};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

#[tokio::test]
async fn a_list_of_several_pages_is_read_to_its_end() {
    let (app, world) = start().await;
    let id = app.post("k", &paid_body("pm_sim_lost_answer")).await.id();
    for _ in 0..120 {
        pay_at_the_gateway(&world, "100", "jpy", &[]).await;
    }
    let report = swept(&app).await;
    assert_eq!((report.payments, report.count(Found::Others), report.count(Found::Settled)), (121, 120, 1));
    assert_eq!(app.order(&id).await["status"], "confirmed");
}

#[tokio::test]
async fn what_cannot_be_read_is_said_and_proves_nothing() {
    let page = |data: Value, more: bool| Step::json(200, &json!({ "object": "list", "data": data, "has_more": more }));
    let intent = |id: &str| json!({ "id": id, "object": "payment_intent", "status": "succeeded" });
    let error = |status: u16| Step::json(status, &json!({ "error": { "type": "api_error" } }));
    for (steps, reason) in [
        (vec![error(500), page(json!([]), false)], "server_error"),
        (vec![error(401), page(json!([]), false)], "lookup_refused"),
        (vec![error(429), page(json!([]), false)], "rate_limited"),
        (vec![Step::json(200, &json!({ "data": 1 })), page(json!([]), false)], "answer_unreadable"),
        // More, and nothing that it could come after.
        (vec![page(json!([]), true), page(json!([]), false)], "answer_contradictory"),
        (
            vec![page(json!([intent("pi_1")]), true), page(json!([intent("pi_1")]), true), page(json!([]), false)],
            "answer_contradictory",
        ),
    ] {
        let (app, _world) = start().await;
        app.post("k", &paid_body("pm_card_visa")).await;
        let age = "UPDATE payments SET created_at = now() - interval '10 minutes'";
        app.sql().await.execute(age, &[]).await.unwrap();
        let gateway = ScriptedHttp::start(steps).await;
        use_gateway(&app.app, &app.org, &gateway.base).await;
        let day = Duration::from_hours(24);
        let report = sweep(&app.app, app.org.id, day, &CancellationToken::new()).await.unwrap().unwrap();
        assert_eq!((report.stopped_by, report.lines.len()), (Some(reason), 0), "{}", report.text());
    }
}
