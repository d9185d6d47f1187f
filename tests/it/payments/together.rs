//! First charges are claimed and recorded many at a time; nobody can tell.

use crate::steps::{KINDS, policy, set};
use crate::support::app::TestApp;
use crate::support::payments::{paid_body, start};
use crate::support::wait::until;
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};
use std::time::Duration;
use tokio_postgres::Client;
use uuid::Uuid;

/// All that is kept of an order but names, moments and tokens.
const KEPT: &str = "SELECT jsonb_build_object(
    'order', (SELECT to_jsonb(orders) - ARRAY['order_id', 'created_at', 'updated_at', 'payment_reference'] FROM orders
        WHERE order_id = $1),
    'payments', (SELECT jsonb_agg(to_jsonb(payments) - ARRAY['order_id', 'created_at', 'updated_at', 'gateway_reference'])
        FROM payments WHERE order_id = $1),
    'references', (SELECT count(DISTINCT reference) FROM (
        SELECT gateway_reference AS reference FROM payments WHERE order_id = $1
        UNION ALL SELECT payment_reference FROM orders WHERE order_id = $1
        UNION ALL SELECT external_reference FROM operations WHERE order_id = $1 AND kind = 'charge') AS every),
    'operations', (SELECT jsonb_agg(to_jsonb(operations) - ARRAY['order_id', 'created_at', 'updated_at', 'operation_key',
            'idempotency_key', 'external_reference', 'first_sent_at', 'last_sent_at', 'deadline_at', 'next_attempt_at']
            || jsonb_build_object('due', next_attempt_at IS NOT NULL, 'sent', last_sent_at IS NOT NULL,
                'time', extract(epoch FROM deadline_at - created_at)::int / 60) ORDER BY kind)
        FROM operations WHERE order_id = $1),
    'claim', (SELECT jsonb_build_object('state', state, 'status', response_status, 'headers', response_headers - 'Location' - 'ETag',
            'expires', expires_at IS NOT NULL) FROM idempotency_keys WHERE order_id = $1),
    'story', (SELECT jsonb_agg(jsonb_build_object('actor', actor, 'what', what,
            'details', details - 'operation_key' - 'gateway_reference') ORDER BY entry_id) FROM journal WHERE order_id = $1))";

async fn kept(sql: &Client, order_id: &str) -> Value {
    sql.query_one(KEPT, &[&Uuid::parse_str(order_id).unwrap()]).await.unwrap().get(0)
}

/// How often a statement ran.
fn ran(app: &TestApp, statement: &str) -> u64 {
    let line = format!("ichido_statement_duration_seconds_count{{statement=\"{statement}\"}} ");
    let page = app.app.metrics.render(true);
    page.lines().find_map(|each| each.strip_prefix(&line)?.parse().ok()).unwrap_or(0)
}

/// Waits for the only order.
async fn until_placed(sql: &Client) -> String {
    let placed = || async { sql.query_opt("SELECT order_id::text FROM orders", &[]).await.unwrap() };
    until("the order is placed", Duration::from_secs(5), || async { placed().await.is_some() }).await;
    placed().await.unwrap().get(0)
}

#[tokio::test]
async fn a_payment_recorded_with_others_leaves_what_one_recorded_alone_leaves() {
    let (app, world) = start().await;
    for kind in KINDS {
        set(&app, &app.org, policy(&world, kind, true, true)).await;
    }
    let (sql, locking) = (app.sql().await, app.sql().await);
    // Locked, an order is left out of what is recorded together, and whoever waits for it records it alone.
    let request =
        app.request(Method::POST, "/v1/orders").bearer_auth(&app.org.token).header("Idempotency-Key", "alone");
    let alone = tokio::spawn(request.json(&paid_body("pm_sim_slow_400")).send());
    let order_id = until_placed(&sql).await;
    locking.batch_execute("BEGIN; SELECT FROM orders FOR UPDATE").await.unwrap();
    until("somebody waits for the order", Duration::from_secs(5), || async {
        let waiting =
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
        sql.query_one(waiting, &[]).await.unwrap().get::<_, i64>(0) == 1
    })
    .await;
    locking.batch_execute("ROLLBACK").await.unwrap();
    let answer = alone.await.unwrap().unwrap();
    assert_eq!(answer.status().as_u16(), 201);
    let expected = kept(&sql, &order_id).await;
    assert_eq!(expected["order"]["status"], "confirmed", "{expected}");
    assert_eq!(expected["operations"].as_array().unwrap().len(), 5);
    assert_eq!((ran(&app, "orders/lock"), ran(&app, "orders/get_many")), (1, 0));

    let body = paid_body("pm_card_visa");
    let keys: Vec<_> = (0..40).map(|n| format!("k{n}")).collect();
    let answers = join_all(keys.iter().map(|key| app.post(key, &body))).await;
    for answer in &answers {
        assert_eq!(answer.status, 201, "{}", answer.json());
        let mut kept = kept(&sql, &answer.id()).await;
        // The method's name is part of the request.
        kept["order"]["request"] = expected["order"]["request"].clone();
        assert_eq!(kept, expected);
        assert_eq!(world.count("charge", &answer.id()).await, 1);
    }
    // Otherwise this would prove nothing.
    assert!(ran(&app, "idempotency_keys/claim_with_charge_batch") > 0);
    assert_eq!(ran(&app, "orders/lock"), 1);
    assert!((1..40).contains(&ran(&app, "orders/get_many")), "{}", ran(&app, "orders/get_many"));
    for (key, answer) in keys.iter().zip(&answers) {
        let replay = app.post(key, &body).await;
        assert_eq!((replay.status, &replay.body), (200, &answer.body));
    }
}

#[tokio::test]
async fn what_does_not_fit_is_settled_beside_its_neighbours() {
    let (app, world) = start().await;
    let sql = app.sql().await;
    let with = |method: &str, reference: Option<&str>| {
        let mut body = paid_body(method);
        body["order_reference"] = json!(reference);
        body
    };
    let mut asked = vec![
        ("declined", with("pm_card_chargeDeclined", None), 402),
        ("processing", with("pm_sim_processing", None), 202),
        ("lost", with("pm_sim_lost_answer", None), 202),
        ("again", with("pm_card_visa", None), 201),
        ("again", with("pm_card_visa", None), 0),
        ("one", with("pm_card_visa", Some("ref")), 0),
        ("two", with("pm_card_visa", Some("ref")), 0),
    ];
    let others: Vec<_> = (0..30).map(|n| format!("k{n}")).collect();
    asked.extend(others.iter().map(|key| (key.as_str(), with("pm_card_visa", None), 201)));
    let answers = join_all(asked.iter().map(|(key, body, _)| app.post(key, body))).await;
    let mut statuses: Vec<_> = asked.iter().zip(&answers).map(|((key, ..), answer)| (*key, answer.status)).collect();
    for ((key, _, expected), answer) in asked.iter().zip(&answers).filter(|((.., expected), _)| *expected != 0) {
        // Of two with one key either may be first.
        let fits = answer.status == *expected || *key == "again" && matches!(answer.status, 200 | 409);
        assert!(fits, "{key}: {} {}", answer.status, answer.json());
    }
    statuses.retain(|(key, _)| *key == "one" || *key == "two");
    statuses.sort_by_key(|(_, status)| *status);
    let [(first, 201), (_, 409)] = statuses[..] else { panic!("{statuses:?}") };
    let charges = "SELECT count(*) FROM payments WHERE state = 'succeeded'";
    let paid: i64 = sql.query_one(charges, &[]).await.unwrap().get(0);
    // The lost one is paid, and not known to be.
    assert_eq!((paid, world.charges().await), (32, 33));
    let claims = "SELECT count(*) FROM idempotency_keys WHERE state = 'in_progress'";
    assert_eq!(sql.query_one(claims, &[]).await.unwrap().get::<_, i64>(0), 2);
    let order = "SELECT count(*) FROM orders JOIN idempotency_keys USING (order_id) WHERE order_reference = 'ref'
        AND idempotency_key = $1";
    assert_eq!(sql.query_one(order, &[&first]).await.unwrap().get::<_, i64>(0), 1);
}

#[tokio::test]
async fn an_order_that_is_to_be_cancelled_is_not_confirmed_with_the_others() {
    let (app, world) = start().await;
    let slow = paid_body("pm_sim_slow_600");
    let cancelling = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        let order_id: Uuid = app.sql().await.query_one("SELECT order_id FROM orders", &[]).await.unwrap().get(0);
        (app.cancel(&order_id.to_string(), "cancel").await, order_id.to_string())
    };
    let (paid, (cancelled, order_id)) = tokio::join!(app.post("k", &slow), cancelling);
    assert_eq!(cancelled.json()["status"], "received", "{}", cancelled.json());
    assert_eq!((paid.status, &paid.json()["status"]), (201, &json!("cancelled")), "{}", paid.json());
    let order = app.order(&order_id).await;
    let refunds = order["steps"].as_array().unwrap().iter().filter(|step| step["kind"] == "refund").count();
    assert_eq!((&order["status"], refunds), (&json!("cancelled"), 1), "{order}");
    assert_eq!(world.count("charge", &order_id).await, 1);
}

/// What else may happen to an order while the gateway works: then its success is no longer the straight case.
const MEANWHILE: [(&str, &str); 4] = [
    (
        "another attempt",
        "INSERT INTO payments (org_id, order_id, attempt, provider, amount, currency, state, created_at, updated_at)
        SELECT org_id, order_id, 2, 'stripe', amount, currency, 'processing', now(), now() FROM orders",
    ),
    ("a name that is known", "UPDATE payments SET gateway_reference = 'pi_before'"),
    (
        "a lease of somebody else",
        "UPDATE operations SET lease_token = gen_random_uuid(), lease_until = now() + interval '1 minute'",
    ),
    ("a question", "UPDATE operations SET questions = 1"),
];

#[tokio::test]
async fn an_order_to_which_anything_else_has_happened_is_settled_alone() {
    for (what, change) in MEANWHILE {
        let (app, world) = start().await;
        let sql = app.sql().await;
        let changing = async {
            let order_id = until_placed(&sql).await;
            sql.batch_execute(change).await.unwrap();
            order_id
        };
        let body = paid_body("pm_sim_slow_500");
        let (_, order_id) = tokio::join!(app.post("k", &body), changing);
        assert_eq!((ran(&app, "orders/get_many"), ran(&app, "orders/lock") > 0), (0, true), "{what}");
        assert_eq!(world.count("charge", &order_id).await, 1, "{what}");
    }
}

#[tokio::test]
async fn an_order_with_an_open_case_is_settled_alone_and_its_case_is_closed() {
    let (app, _world) = start().await;
    let sql = app.sql().await;
    let opening = async {
        until_placed(&sql).await;
        let case = "INSERT INTO reconciliation_cases (org_id, case_id, order_id, kind, fact, reason, state, owner, corrector,
                suggestion, evidence, opened_at, deadline)
            SELECT org_id, order_id, order_id, 'charge', '1', 'outcome_unknown', 'open', 'payments', 'payments', 'ask_again',
                '{\"ours\": {}, \"theirs\": {}}', now(), now() + interval '1 day' FROM orders";
        sql.batch_execute(case).await.unwrap();
    };
    let body = paid_body("pm_sim_slow_500");
    let (paid, ()) = tokio::join!(app.post("k", &body), opening);
    assert_eq!((paid.status, ran(&app, "orders/get_many")), (201, 0), "{}", paid.json());
    let state = "SELECT state FROM reconciliation_cases";
    assert_eq!(sql.query_one(state, &[]).await.unwrap().get::<_, String>(0), "resolved");
}
