//! What only a person can end: each case that comes up is decided, under a key of its own.

use crate::case::{Case, PERSISTENCE, policy};
use crate::scenarios::{ROUNDS, pays};
use crate::support::payments::paid_body;
use crate::support::postgres;
use ichido::app::steps::set_policy::set_step_policy;
use ichido::db::deadline::Deadline;
use ichido::db::step_policies::StepPolicy;
use ichido::domain::step::StepKind;
use serde_json::json;
use std::collections::HashSet;
use std::time::{Duration, Instant};
use tokio::time::sleep;
use tokio_postgres::Client;
use uuid::Uuid;

const POLL: Duration = Duration::from_millis(200);

/// A partner who does not honour keys loses requests; a person, who was told so, lets them be sent again.
pub async fn forgetful(case: &Case) {
    let good = policy(&case.world, StepKind::ConfirmationMail);
    let forgetful = StepPolicy { url: format!("{}?honours_keys=false", good.url), honours_keys: false, ..good };
    set_step_policy(&case.app, case.org.id, forgetful, None, Deadline::of_request()).await.unwrap();
    let mut orders = Vec::new();
    for n in 0..ROUNDS {
        let mut body = paid_body("pm_card_visa");
        body["metadata"]["sim_confirmation_mail"] = "lost_request".into();
        let id = pays(case, &format!("forgetful-{n}"), &body).await.order_id();
        case.expect(&id, "completed", (1, 0), true);
        orders.push(id);
    }
    decide_all(case, "continue", &orders).await;
}

/// Money for orders that never come.
pub async fn strangers(case: &Case) {
    for n in 0..ROUNDS {
        let object = json!({ "id": format!("pi_stranger_{n}"), "object": "payment_intent", "amount": 2_400,
            "amount_received": 2_400, "currency": "jpy", "metadata": { "ichido_order_id": Uuid::now_v7().to_string() } });
        let at = ichido::clock::Clock::System.now().unix_timestamp();
        let event = json!({ "id": format!("evt_{n}"), "object": "event", "type": "payment_intent.succeeded", "created": at,
            "livemode": false, "data": { "object": object } });
        case.notify(&event.to_string()).await;
    }
    // As if they had been waited for long enough.
    let sql = postgres::connect(&case.url).await;
    let past = "UPDATE events SET deadline = now() - interval '1 minute', next_attempt_at = now()";
    assert_eq!(sql.execute(past, &[]).await.unwrap(), ROUNDS as u64);
    decide_all(case, "dismiss", &[]).await;
}

/// Payments whose amount is another one by our books.
pub async fn contradicted(case: &Case) {
    let mut orders = Vec::new();
    for n in 0..ROUNDS {
        let id = pays(case, &format!("contradicted-{n}"), &paid_body("pm_card_visa")).await.order_id();
        case.expect(&id, "completed", (1, 0), true);
        orders.push(id);
    }
    let sql = postgres::connect(&case.url).await;
    assert_eq!(sql.execute("UPDATE payments SET amount = 1000", &[]).await.unwrap(), ROUNDS as u64);
    case.command(&["reconcile", "--sweep", "--org", &case.org.id.0.to_string()]).await;
    decide_all(case, "dismiss", &orders).await;
}

/// Decides whatever comes up, until there was a case for each round and these orders are completed.
async fn decide_all(case: &Case, decision: &str, orders: &[String]) {
    let (sql, began) = (postgres::connect(&case.url).await, Instant::now());
    let mut decided = HashSet::new();
    while decided.len() < ROUNDS || !are_completed(&sql, orders).await {
        assert!(began.elapsed() < PERSISTENCE, "{} cases were decided, and it does not end", decided.len());
        let open = "SELECT case_id::text FROM reconciliation_cases WHERE state = 'open'";
        for row in sql.query(open, &[]).await.unwrap() {
            let id: String = row.get(0);
            if !decided.contains(&id) {
                let body = json!({ "decision": decision, "reason": "asked them" });
                let path = format!("/v1/reconciliation-cases/{id}/decisions");
                assert_eq!(case.insist(&path, &format!("decide-{id}"), &body).await.status, 200);
                decided.insert(id);
            }
        }
        sleep(POLL).await;
    }
}

async fn are_completed(sql: &Client, orders: &[String]) -> bool {
    let text = "SELECT count(*) FROM orders WHERE order_id::text = ANY($1) AND status <> 'completed'";
    sql.query_one(text, &[&orders]).await.unwrap().get::<_, i64>(0) == 0
}
