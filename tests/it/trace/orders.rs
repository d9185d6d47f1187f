//! `GET /v1/orders/{order_id}/trace`.

use crate::support::app::{TestApp, new_org, order_body};
use crate::support::payments::{paid_body, start};
use crate::support::work::{work, work_until};
use serde_json::{Value, json};

const ROUTE: &str = "/v1/orders/{order_id}/trace";

/// An order's trace.
pub async fn trace(app: &TestApp, order_id: &str) -> Value {
    let answer = app.get(&format!("/v1/orders/{order_id}/trace"), ROUTE).await;
    assert_eq!(answer.status, 200, "{}", answer.json());
    answer.json()
}

/// What happened, in order.
pub fn whats(trace: &Value) -> Vec<&str> {
    trace["entries"].as_array().unwrap().iter().map(|entry| entry["what"].as_str().unwrap()).collect()
}

/// The first entry that tells of this.
pub fn entry<'a>(trace: &'a Value, what: &str) -> &'a Value {
    let entries = trace["entries"].as_array().unwrap();
    entries.iter().find(|entry| entry["what"] == what).unwrap_or_else(|| panic!("no {what}: {trace}"))
}

#[tokio::test]
async fn an_order_without_a_payment_was_created_and_nothing_else() {
    let app = TestApp::start().await;
    let order = app.post("k", &order_body()).await.json();
    let trace = trace(&app, order["id"].as_str().unwrap()).await;
    assert_eq!(whats(&trace), ["order_created"]);
    assert_eq!((&trace["truncated"], &trace["effects"]), (&json!(false), &json!([])));
    let first = &trace["entries"][0];
    assert_eq!((&first["at"], &first["details"]["amount"]), (&order["created_at"], &order["amount"]));
    assert_eq!(first["details"]["order"], json!({ "from": null, "to": "received" }));
}

#[tokio::test]
async fn a_payment_tells_its_key_its_answer_and_the_states_before_and_after() {
    let (app, world) = start().await;
    let paid = app.post("k", &paid_body("pm_card_visa")).await.json();
    let id = paid["id"].as_str().unwrap();
    let trace = trace(&app, id).await;
    assert_eq!(whats(&trace), ["order_created", "operation_asked_for", "operation_attempted"]);
    let attempted = &trace["entries"][2];
    let details = &attempted["details"];
    assert_eq!((&attempted["source"], &attempted["actor"]), (&json!("journal"), &json!("request")));
    // The key is the one that the gateway was really called with.
    assert_eq!(details["operation_key"], world.effects(id).await[0]["key"]);
    assert_eq!(details["operation_key"], entry(&trace, "operation_asked_for")["details"]["operation_key"]);
    assert_eq!(
        (&details["outcome"], &details["gateway_reference"]),
        (&json!("succeeded"), &paid["payment"]["gateway_reference"])
    );
    assert_eq!((&details["from"], &details["to"]), (&json!("leased"), &json!("done")));
    assert_eq!(details["payment"], json!({ "attempt": 1, "from": "processing", "to": "succeeded" }));
    assert_eq!(details["order"], json!({ "from": "received", "to": "confirmed" }));
    assert_eq!(trace["effects"], json!([{ "kind": "charge", "fact": "1", "count": 1 }]));
}

#[tokio::test]
async fn attempts_refusals_cancellation_and_refund_are_one_story() {
    let (app, _world) = start().await;
    let declined = app.post("k1", &paid_body("pm_card_chargeDeclined")).await;
    let id = declined.json()["order_id"].as_str().unwrap().to_owned();
    assert_eq!(app.pay(&id, "k2", "pm_card_visa").await.status, 201);
    assert_eq!(app.cancel(&id, "k3").await.status, 200);
    work(&app).await;
    let trace = trace(&app, &id).await;
    let expected = [
        "order_created",
        "operation_asked_for",
        "operation_attempted",
        "payment_attempt_begun",
        "operation_attempted",
        "cancel_requested",
        "operation_asked_for",
        "operation_attempted",
    ];
    assert_eq!(whats(&trace), expected);
    let entries = trace["entries"].as_array().unwrap();
    assert_eq!(
        (&entries[2]["details"]["code"], &entries[2]["details"]["to"]),
        (&json!("generic_decline"), &json!("failed"))
    );
    assert_eq!(entries[2]["details"]["order"], json!({ "from": "received", "to": "payment_failed" }));
    // The person who pays and cancels is named by the key.
    let key_id = app.org.token.split('_').nth(2).unwrap();
    assert_eq!((&entries[3]["actor"], &entries[5]["actor"]), (&json!(key_id), &json!(key_id)));
    assert_eq!(entries[4]["details"]["order"], json!({ "from": "payment_failed", "to": "confirmed" }));
    assert_eq!(entries[5]["details"]["order"], json!({ "from": "confirmed", "to": "cancelled" }));
    let refunded = &entries[7]["details"];
    assert_eq!(
        (&refunded["kind"], &refunded["amount"], &refunded["to"]),
        (&json!("refund"), &json!(2400), &json!("done"))
    );
    assert_eq!(refunded["payment"], json!({ "attempt": 2, "from": "succeeded", "to": "refunded" }));
    let done = json!([{ "kind": "charge", "fact": "2", "count": 1 }, { "kind": "refund", "fact": "2", "count": 1 }]);
    assert_eq!(trace["effects"], done);
}

#[tokio::test]
async fn questions_cases_and_decisions_are_told_with_who_and_why() {
    let (app, _world) = start().await;
    let id = app.post("k", &paid_body("pm_sim_lost_answer")).await.id();
    let hold = "UPDATE operations SET deadline_at = now() - interval '1 hour', next_attempt_at = now()";
    app.sql().await.execute(hold, &[]).await.unwrap();
    work_until(&app, &id, "a case", |order| order["needs_reconciliation"] == true).await;
    let cases = app.get("/v1/reconciliation-cases", "/v1/reconciliation-cases").await.json();
    let case_id = cases["data"][0]["id"].as_str().unwrap();
    let decision = json!({ "decision": "ask_again", "reason": "it is\nquiet now" });
    assert_eq!(app.decide(case_id, "d", decision).await.status, 200);
    work_until(&app, &id, "paid", |order| order["status"] == "confirmed").await;
    let trace = trace(&app, &id).await;
    let expected = [
        "order_created",
        "operation_asked_for",
        "operation_attempted",
        "operation_asked",
        "case_opened",
        "case_decided",
        "operation_moved",
        "case_resolved",
        "operation_asked",
    ];
    assert_eq!(whats(&trace), expected);
    let entries = trace["entries"].as_array().unwrap();
    assert_eq!(
        (&entries[2]["details"]["outcome"], &entries[2]["details"]["to"]),
        (&json!("connection_lost"), &json!("unknown"))
    );
    assert_eq!(
        (&entries[4]["details"]["case_id"], &entries[4]["details"]["reason"]),
        (&json!(case_id), &json!("exhausted"))
    );
    let key_id = json!(app.org.token.split('_').nth(2).unwrap());
    assert_eq!((&entries[5]["actor"], &entries[6]["actor"], &entries[7]["actor"]), (&key_id, &key_id, &key_id));
    assert_eq!(entries[5]["details"]["reason"], "it is\nquiet now");
    let moved = &entries[6]["details"];
    assert_eq!((&moved["from"], &moved["to"]), (&json!("needs_reconciliation"), &json!("unknown")));
    assert_eq!((&entries[8]["actor"], &entries[8]["details"]["to"]), (&json!("recovery"), &json!("done")));
}

#[tokio::test]
async fn a_story_of_more_than_a_thousand_entries_is_cut_and_says_so() {
    let app = TestApp::start().await;
    let id = app.post("k", &order_body()).await.id();
    let fill = "INSERT INTO journal (org_id, order_id, entry_id, at, actor, what, details)
        SELECT org_id, order_id, lpad(to_hex(n), 32, '0')::uuid, now() + n * interval '1 second', 'recovery', 'e' || n, '{}'
        FROM orders, generate_series(1, $1) n";
    let sql = app.sql().await;
    sql.execute(fill, &[&999]).await.unwrap();
    let whole = trace(&app, &id).await;
    assert_eq!((whole["entries"].as_array().unwrap().len(), &whole["truncated"]), (1_000, &json!(false)));
    let one_more =
        "INSERT INTO journal SELECT org_id, order_id, lpad(to_hex(1000), 32, '0')::uuid, now() + interval '1 day',
        'recovery', 'e1000', '{}' FROM orders";
    sql.execute(one_more, &[]).await.unwrap();
    let cut = trace(&app, &id).await;
    assert_eq!((&cut["entries"], &cut["truncated"]), (&whole["entries"], &json!(true)));
}

#[tokio::test]
async fn the_trace_of_another_organisations_order_does_not_exist() {
    let app = TestApp::start().await;
    let other = app.org(new_org()).await;
    let id = app.post("k", &order_body()).await.id();
    let mut told = Vec::new();
    for id in [id.as_str(), "01890000-0000-7000-8000-000000000000", "x"] {
        let answer = app.get_as(&other.token, &format!("/v1/orders/{id}/trace"), ROUTE).await;
        let mut problem = answer.json();
        problem["request_id"].take();
        told.push((answer.status, problem));
    }
    assert!(told.iter().all(|each| *each == told[0]) && told[0].0 == 404, "{told:?}");
}
