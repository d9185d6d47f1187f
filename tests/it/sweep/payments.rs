//! Payments that nobody told us of, that are not as we think, or that belong to nobody.

use crate::inbox::endpoint::{Endpoint, charge, event, intent, outcome, rematch};
use crate::support::app::{TestApp, order_body};
use crate::support::payments::{World, paid_body, start, use_gateway};
use crate::support::work::work;
use crate::sweep::{dismiss, found, open_cases, pay_at_the_gateway, swept};
use crate::trace::orders::{entry, trace};
use ichido::app::charge::send::Heard;
use ichido::app::charge::settle::{Finding, settle_charge};
use ichido::app::sweep::report::Found;
use ichido::db::operations::OperationId;
use ichido::domain::ids::OrderId;
use ichido::domain::payment::ChargeFact;
use serde_json::json;

async fn execute(app: &TestApp, sql: &str) {
    assert!(app.sql().await.execute(sql, &[]).await.unwrap() > 0, "{sql}");
}

#[tokio::test]
async fn a_charge_whose_answer_was_lost_is_found_and_a_late_look_adds_nothing() {
    let (app, world) = start().await;
    let first = app.post("k", &paid_body("pm_sim_lost_answer")).await;
    assert_eq!(first.status, 202);
    let report = swept(&app).await;
    assert_eq!((report.payments, found(&report)), (1, vec![Found::Settled]));
    let order = app.order(&first.id()).await;
    assert_eq!((&order["status"], &order["payment"]["status"]), (&json!("confirmed"), &json!("succeeded")));
    // The retry of the request gets the answer that its claim was completed with.
    let retry = app.post("k", &paid_body("pm_sim_lost_answer")).await;
    assert_eq!((retry.status, retry.header("Idempotent-Original-Status")), (200, Some("201")));
    let version = app.order(&first.id()).await;
    for _ in 0..2 {
        let again = swept(&app).await;
        assert_eq!((again.count(Found::Agreed), again.lines.len()), (1, 0));
        work(&app).await;
    }
    assert_eq!((app.order(&first.id()).await, world.charges().await), (version, 1));
    let trace = trace(&app, &first.id()).await;
    let asked = entry(&trace, "operation_asked");
    assert_eq!((&asked["actor"], &asked["details"]["to"]), (&json!("sweep"), &json!("done")));
}

#[tokio::test]
async fn sweeps_at_once_settle_once() {
    let (app, world) = start().await;
    let id = app.post("k", &paid_body("pm_sim_lost_answer")).await.id();
    tokio::join!(swept(&app), swept(&app), swept(&app), work(&app));
    assert_eq!((&app.order(&id).await["status"], world.charges().await), (&json!("confirmed"), 1));
    assert_eq!(trace(&app, &id).await["effects"], json!([{ "kind": "charge", "fact": "1", "count": 1 }]));
    assert!(open_cases(&app).await.is_empty());
}

#[tokio::test]
async fn a_charge_that_somebody_holds_is_left_to_them() {
    let (app, world) = start().await;
    let id = app.post("k", &paid_body("pm_sim_lost_answer")).await.id();
    let hold = "UPDATE operations SET state = 'leased', next_attempt_at = NULL, lease_token = gen_random_uuid(),
        lease_until = now() + interval '1 hour'";
    execute(&app, hold).await;
    assert_eq!(found(&swept(&app).await), [Found::Later]);
    assert_eq!(app.order(&id).await["status"], "received");
    // Its holder is gone.
    execute(&app, "UPDATE operations SET lease_until = now() - interval '1 second'").await;
    assert_eq!(found(&swept(&app).await), [Found::Settled]);
    assert_eq!((&app.order(&id).await["status"], world.charges().await), (&json!("confirmed"), 1));
}

#[tokio::test]
async fn money_for_an_attempt_that_was_given_up_counts() {
    let (app, world) = start().await;
    let declined = app.post("k", &paid_body("pm_card_chargeDeclined")).await.json();
    let id = declined["order_id"].as_str().unwrap();
    execute(&app, "UPDATE payments SET gateway_reference = NULL").await;
    pay_at_the_gateway(&world, "2400", "jpy", &[("ichido_order_id", id), ("ichido_attempt", "1")]).await;
    assert_eq!(found(&swept(&app).await), [Found::Settled]);
    assert_eq!(app.order(id).await["status"], "confirmed");
}

#[tokio::test]
async fn another_amount_or_currency_is_a_case_and_stays_the_one() {
    for (amount, currency) in [("24", "jpy"), ("2400", "eur")] {
        let (app, world) = start().await;
        // The request was lost, so nothing is there but what somebody else makes.
        let id = app.post("k", &paid_body("pm_sim_lost_request")).await.id();
        let metadata = [("ichido_order_id", id.as_str()), ("ichido_attempt", "1")];
        pay_at_the_gateway(&world, amount, currency, &metadata).await;
        assert_eq!(found(&swept(&app).await), [Found::CaseOpened]);
        let order = app.order(&id).await;
        assert_eq!((&order["status"], &order["needs_reconciliation"]), (&json!("received"), &json!(true)));
        let cases = open_cases(&app).await;
        assert_eq!((cases.len(), &cases[0]["reason"]), (1, &json!("amount_conflict")));
        assert_eq!(found(&swept(&app).await), [Found::Later]);
        assert_eq!(open_cases(&app).await, cases);
        assert_eq!(app.order(&id).await, order, "a second look changes nothing");
    }
}

/// What a notification would have told, had it come.
#[tokio::test]
async fn money_that_names_an_order_pays_it_and_a_late_notification_adds_nothing() {
    let (app, world) = start().await;
    let endpoint = Endpoint::of(&app).await;
    let id = app.post("k", &order_body()).await.id();
    let payment = pay_at_the_gateway(&world, "2400", "jpy", &[("ichido_order_id", id.as_str())]).await;
    assert_eq!(found(&swept(&app).await), [Found::Settled]);
    let order = app.order(&id).await;
    assert_eq!((&order["status"], &order["payment"]["gateway_reference"]), (&json!("confirmed"), &json!(payment)));
    assert!(found(&swept(&app).await).is_empty(), "a second sweep agrees");
    let late = event("payment_intent.succeeded", &intent(&payment, &id, 2400));
    assert_eq!(endpoint.tell_and_apply(&app, &late).await, "already_done");
    assert_eq!((app.order(&id).await, open_cases(&app).await), (order, Vec::new()));
}

/// Told of without its order, even until it was given up as somebody else's.
#[tokio::test]
async fn money_that_was_told_of_without_its_order_is_found_by_the_sweep() {
    for given_up in [false, true] {
        let (app, world) = start().await;
        let endpoint = Endpoint::of(&app).await;
        let id = app.post("k", &order_body()).await.id();
        let payment = pay_at_the_gateway(&world, "2400", "jpy", &[("ichido_order_id", id.as_str())]).await;
        endpoint.tell(&app, &event("charge.succeeded", &charge("ch_1", &payment, 2400, 0))).await;
        if given_up {
            execute(&app, "UPDATE events SET deadline = now()").await;
            rematch(&app).await;
            assert_eq!(outcome(&app, &format!("pi:{payment}:succeeded")).await, "ignored");
        }
        assert_eq!(found(&swept(&app).await), [Found::Settled], "{given_up}");
        assert_eq!(app.order(&id).await["status"], "confirmed");
        assert!(found(&swept(&app).await).is_empty() && open_cases(&app).await.is_empty());
    }
}

#[tokio::test]
async fn money_that_came_twice_or_does_not_fit_is_for_a_person_once() {
    let (app, world) = start().await;
    let (paid, unpaid) =
        (app.post("k1", &paid_body("pm_card_visa")).await.id(), app.post("k2", &order_body()).await.id());
    // A second payment for the same attempt, one of an attempt that there is not, and one of another amount.
    for (order_id, attempt, amount) in [(&paid, "1", "2400"), (&paid, "2", "2400"), (&unpaid, "1", "1")] {
        let metadata = [("ichido_order_id", order_id.as_str()), ("ichido_attempt", attempt)];
        pay_at_the_gateway(&world, amount, "jpy", &metadata).await;
    }
    let report = swept(&app).await;
    assert_eq!((found(&report), report.count(Found::Agreed)), (vec![Found::CaseOpened; 3], 1));
    assert!(report.needs_person());
    let cases = open_cases(&app).await;
    let reasons: Vec<_> = cases.iter().map(|case| case["reason"].as_str().unwrap()).collect();
    assert_eq!(reasons.iter().filter(|reason| **reason == "second_success").count(), 2, "{cases:?}");
    assert_eq!(reasons.iter().filter(|reason| **reason == "amount_conflict").count(), 1, "{cases:?}");
    assert_eq!(app.order(&unpaid).await["status"], "received");
    let before = cases.len();
    swept(&app).await;
    assert_eq!(open_cases(&app).await.len(), before, "a second sweep opens none");
    // What was taken twice is given back through the ledger.
    for (n, case) in cases.iter().filter(|case| case["reason"] == "second_success").enumerate() {
        let back = json!({ "decision": "continue", "reason": "paid twice" });
        assert_eq!(app.decide(case["id"].as_str().unwrap(), &format!("d{n}"), back).await.status, 200);
    }
    work(&app).await;
    assert_eq!((world.count("refund", &paid).await, app.order(&paid).await["status"].as_str()), (2, Some("confirmed")));
}

#[tokio::test]
async fn what_is_somebody_elses_is_left_alone_and_what_claims_to_be_ours_is_reported() {
    let (app, world) = start().await;
    let nobody = "01890000-0000-7000-8000-000000000000";
    let org = app.org.id.to_string();
    pay_at_the_gateway(&world, "100", "jpy", &[]).await;
    pay_at_the_gateway(&world, "100", "jpy", &[("ichido_order_id", nobody), ("ichido_org_id", "999")]).await;
    let ours = pay_at_the_gateway(&world, "100", "jpy", &[("ichido_order_id", nobody), ("ichido_org_id", &org)]).await;
    let torn = pay_at_the_gateway(&world, "100", "jpy", &[("ichido_order_id", "?"), ("ichido_org_id", &org)]).await;
    let report = swept(&app).await;
    assert_eq!((report.count(Found::Others), found(&report)), (2, vec![Found::Stranger; 2]));
    let names: Vec<_> = report.lines.iter().map(|line| line.reference.as_str()).collect();
    assert_eq!(names, [torn.as_str(), ours.as_str()], "newest first");
    assert!(report.needs_person() && open_cases(&app).await.is_empty());
}

#[tokio::test]
async fn a_payment_that_the_gateway_sees_otherwise_is_a_case() {
    let (app, _world) = start().await;
    let processing = app.post("k1", &paid_body("pm_sim_processing")).await.json();
    let id = processing["id"].as_str().unwrap();
    // Somebody told us that it succeeded; the gateway says that it is still being decided.
    let reference = processing["payment"]["gateway_reference"].as_str().map(str::to_owned);
    let told = Finding {
        id: OperationId::charge(app.org.id, OrderId::parse(id).unwrap(), 1),
        token: None,
        heard: Heard { fact: ChargeFact::Succeeded { reference }, outcome: "told", retry_after: None },
        asked: false,
        actor: "test".to_owned(),
        request_id: uuid::Uuid::now_v7(),
    };
    settle_charge(&app.app, &told).await.unwrap();
    assert_eq!(found(&swept(&app).await), [Found::CaseOpened]);
    let cases = open_cases(&app).await;
    assert_eq!((&cases[0]["reason"], &cases[0]["fact"]), (&json!("gateway_disagrees"), &json!("1")));
    assert_eq!(cases[0]["evidence"]["theirs"]["outcome"], "processing");
    assert_eq!(dismiss(&app, &cases[0], "d").await, 200);
    assert_eq!(found(&swept(&app).await), [Found::CaseKnown]);
}

#[tokio::test]
async fn a_payment_that_the_gateway_does_not_list_is_asked_for_and_then_a_case() {
    let (app, world) = start().await;
    let id = app.post("k1", &paid_body("pm_card_visa")).await.id();
    // Made when nothing can be missing from the list any more.
    execute(&app, "UPDATE payments SET created_at = now() - interval '10 minutes', gateway_reference = 'pi_gone'")
        .await;
    execute(&app, "UPDATE operations SET external_reference = 'pi_gone'").await;
    let report = swept(&app).await;
    // The one that is there is no longer known to be this one; the one that we know is not there.
    assert_eq!(found(&report), [Found::CaseOpened; 2]);
    let cases = open_cases(&app).await;
    let reasons: Vec<_> = cases.iter().map(|case| case["reason"].as_str().unwrap()).collect();
    assert_eq!(reasons, ["gateway_disagrees", "second_success"]);
    assert_eq!(cases[0]["evidence"]["theirs"], json!({ "gateway_reference": "pi_gone", "outcome": "not_found" }));
    assert_eq!(found(&swept(&app).await), [Found::CaseKnown], "the other one is an attempt of its own by now");
    // Another account knows nothing of it, and is not asked.
    let other = World::start();
    use_gateway(&app.app, &app.org, &other.stripe()).await;
    assert!(swept(&app).await.lines.is_empty());
    assert_eq!(world.count("charge", &id).await, 1);
}
