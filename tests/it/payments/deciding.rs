//! Cases and what people decide about them.

use crate::support::app::{TestApp, order_body};
use crate::support::payments::{open_case, paid_body, start};
use crate::support::work::{work, work_until};
use futures_util::future::join_all;
use serde_json::{Value, json};

/// An order whose charge nobody knows anything of, and its case.
async fn undecided(app: &TestApp, key: &str) -> (String, String) {
    let order_id = app.post(key, &order_body()).await.id();
    let case_id = open_case(&app.sql().await, &app.org, &order_id).await;
    (order_id, case_id)
}

fn decision(decision: &str) -> Value {
    json!({ "decision": decision, "reason": "looked at the dashboard" })
}

#[tokio::test]
async fn a_decision_is_made_once_and_replays() {
    let (app, _world) = start().await;
    let (order_id, case_id) = undecided(&app, "k").await;
    let shown = app.get(&format!("/v1/reconciliation-cases/{case_id}"), "/v1/reconciliation-cases/{case_id}").await;
    assert_eq!((&shown.json()["state"], &shown.json()["decision"]), (&json!("open"), &json!(null)));
    let answers = join_all((0..8).map(|n| app.decide(&case_id, ["d1", "d2"][n % 2], decision("mark_not_done")))).await;
    let of = |status: u16| answers.iter().filter(|answer| answer.status == status).count();
    assert_eq!((of(200), of(409)), (4, 4), "one key decides, the other is told so");
    let refused = answers.iter().find(|answer| answer.status == 409).unwrap();
    assert_eq!((refused.code().as_str(), &refused.json()["executed"]), ("case_resolved", &json!("no")));
    let decided: Vec<_> = answers.iter().filter(|answer| answer.status == 200).collect();
    assert!(decided.iter().all(|answer| answer.body == decided[0].body));
    let case = decided[0].json();
    assert_eq!((&case["state"], &case["decision"]), (&json!("resolved"), &json!("mark_not_done")));
    assert_eq!(case["decided_by"].as_str().unwrap(), app.org.token.split('_').nth(2).unwrap());
    let order = app.order(&order_id).await;
    assert_eq!((&order["status"], &order["needs_reconciliation"]), (&json!("payment_failed"), &json!(false)));
    let journal =
        "SELECT count(*) FROM journal WHERE what = 'case_decided' AND details->>'reason' = 'looked at the dashboard'";
    assert_eq!(app.sql().await.query_one(journal, &[]).await.unwrap().get::<_, i64>(0), 1);
}

#[tokio::test]
async fn what_happened_needs_a_proof_and_confirms_the_order() {
    let (app, world) = start().await;
    let (order_id, case_id) = undecided(&app, "k").await;
    let without = app.decide(&case_id, "d", decision("mark_done")).await;
    assert_eq!((without.status, &without.json()["errors"][0]["pointer"]), (400, &json!("/proof")));
    let done = json!({ "decision": "mark_done", "reason": "seen", "proof": "pi_1seen" });
    assert_eq!(app.decide(&case_id, "d", done).await.status, 200);
    let order = app.order(&order_id).await;
    assert_eq!((&order["status"], &order["payment"]["gateway_reference"]), (&json!("confirmed"), &json!("pi_1seen")));
    assert_eq!(world.charges().await, 0);
}

#[tokio::test]
async fn what_is_given_up_is_looked_up_first_and_then_paid_anew() {
    let (app, world) = start().await;
    let first = app.post("k", &paid_body("pm_sim_lost_answer")).await.id();
    let stuck = "UPDATE operations SET state = 'needs_reconciliation', next_attempt_at = NULL";
    app.sql().await.execute(stuck, &[]).await.unwrap();
    let case = "INSERT INTO reconciliation_cases (org_id, case_id, order_id, kind, fact, reason, state, owner, corrector,
            suggestion, evidence, opened_at, deadline)
        SELECT org_id, gen_random_uuid(), order_id, kind, fact, 'outcome_unknown', 'open', 'payments', 'payments', '', '{\"ours\": {}, \"theirs\": {}}',
            now(), now() FROM operations RETURNING case_id::text";
    let case_id: String = app.sql().await.query_one(case, &[]).await.unwrap().get(0);
    assert_eq!(app.decide(&case_id, "d", decision("start_new")).await.status, 200);
    // It had happened after all: the money is there, so nothing is paid anew.
    let order = work_until(&app, &first, "confirmed", |order| order["status"] == "confirmed").await;
    assert_eq!(order["payment"]["status"], "succeeded");
    assert_eq!(app.pay(&first, "k2", "pm_card_visa").await.code(), "payment_not_possible");
    assert_eq!(world.charges().await, 1);
}

#[tokio::test]
async fn a_decision_that_does_not_fit_is_refused_and_leaves_the_case_open() {
    let (app, _world) = start().await;
    let (_, case_id) = undecided(&app, "k").await;
    for (body, pointer) in [
        (decision("dismiss"), "/decision"),
        (decision("forget"), "/decision"),
        (json!({ "decision": "ask_again" }), "/reason"),
        (json!({ "decision": "ask_again", "reason": "" }), "/reason"),
        (json!({ "decision": "ask_again", "reason": "x", "by": "me" }), "/by"),
    ] {
        let refused = app.decide(&case_id, "d", body).await;
        assert_eq!((refused.status, &refused.json()["errors"][0]["pointer"]), (400, &json!(pointer)));
    }
    // The key was not used.
    assert_eq!(app.decide(&case_id, "d", decision("mark_not_done")).await.status, 200);
    assert_eq!(app.decide("01890000-0000-7000-8000-000000000000", "e", decision("ask_again")).await.status, 404);
}

#[tokio::test]
async fn while_it_is_worked_on_nobody_can_say_that_it_did_not_happen() {
    let (app, _world) = start().await;
    let (order_id, case_id) = undecided(&app, "k").await;
    app.cancel(&order_id, "c").await;
    for wrong in ["mark_not_done", "start_new", "ask_again"] {
        assert_eq!(app.decide(&case_id, wrong, decision(wrong)).await.status, 400, "{wrong}");
    }
    work(&app).await;
    assert_eq!(app.order(&order_id).await["status"], "received");
}

#[tokio::test]
async fn cases_are_listed_newest_first_a_page_at_a_time() {
    let (app, _world) = start().await;
    let mut ids = Vec::new();
    for n in 0..5 {
        ids.insert(0, undecided(&app, &format!("k{n}")).await.1);
    }
    app.decide(&ids[2], "d", decision("mark_not_done")).await;
    let list =
        async |query: &str| app.get(&format!("/v1/reconciliation-cases?{query}"), "/v1/reconciliation-cases").await;
    let of = |page: &Value| -> Vec<String> {
        page["data"].as_array().unwrap().iter().map(|case| case["id"].as_str().unwrap().to_owned()).collect()
    };
    let (mut seen, mut query) = (Vec::new(), "limit=2".to_owned());
    for _ in 0..3 {
        let page = list(&query).await;
        let link = page.header("Link").map(str::to_owned);
        seen.extend(of(&page.json()));
        assert_eq!(link.is_some(), page.json()["next_cursor"].is_string());
        query = link.map_or(String::new(), |link| link.split(['?', '>']).nth(1).unwrap().to_owned());
    }
    assert_eq!((seen, query.as_str()), (ids.clone(), ""));
    assert_eq!(of(&list("state=resolved").await.json()), [ids[2].clone()]);
    assert_eq!(of(&list("state=open&reason=outcome_unknown").await.json()).len(), 4);
    assert!(of(&list("reason=other").await.json()).is_empty());
    for wrong in
        ["state=done", "limit=0", "limit=101", "cursor=x", "order_id=1", "reason=", "more=1", "state=open&state=open"]
    {
        assert_eq!(list(wrong).await.status, 400, "{wrong}");
    }
}
