//! Every kind of problem once, with canaries in everything that is sent.

use super::{CANARY, Watched};
use crate::inbox::endpoint::{SECRET, event, named, now};
use crate::support::proxy::{At, Fault, Mode};
use crate::support::raw::{Raw, RawAnswer};
use crate::support::wait::until;
use crate::support::{payments, postgres};
use ichido::app::inbox::endpoints::create_endpoint;
use ichido::clock::Clock;
use ichido::db::deadline::Deadline;
use ichido::sim::signature::stripe_signature;
use reqwest::Method;
use rustix::process::Signal;
use serde_json::json;
use std::time::Duration;

/// What a client can do wrong.
async fn mistakes(watched: &mut Watched) {
    let body = Watched::body();
    let token = watched.org.token.clone();
    assert_eq!(watched.post("K", &body).await, 201);
    assert_eq!(watched.post("K", &body).await, 200);
    assert_eq!(watched.post("L", &body).await, 409);
    assert_eq!(watched.post("K", &Watched::other_body()).await, 422);
    for change in
        [json!({ "currency": CANARY }), json!({ "expected_amount": 7 }), json!({ "payment": { "method": CANARY } })]
    {
        let mut wrong = Watched::other_body();
        wrong.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        assert_eq!(watched.post("M", &wrong).await, 400);
    }
    for wrong in
        [format!("{{\"{CANARY}"), format!("[\"{CANARY}\\u0000\"]"), format!("\"{CANARY}\"{CANARY}"), "{}".to_owned()]
    {
        assert_eq!(watched.post_as(&token, CANARY, wrong, &[]).await, 400);
    }
    let good = Watched::other_body().to_string();
    assert_eq!(watched.post_as(&token, "", good.clone(), &[]).await, 400);
    assert_eq!(watched.post_as(&token, &format!("{CANARY} with spaces"), good.clone(), &[]).await, 400);
    assert_eq!(watched.post_as(CANARY, CANARY, good.clone(), &[]).await, 401);
    let forged = token.replacen(&token[10..14], "AAAA", 1);
    assert_eq!(watched.post_as(&forged, CANARY, good.clone(), &[]).await, 401);
    let reader = watched.reader.clone();
    assert_eq!(watched.post_as(&reader, CANARY, good.clone(), &[]).await, 403);
    for header in [("Content-Type", CANARY), ("Content-Encoding", CANARY)] {
        assert_eq!(watched.post_as(&token, CANARY, good.clone(), &[header]).await, 415);
    }
    assert_eq!(watched.post_as(&token, CANARY, CANARY.repeat(30_000), &[]).await, 413);
    let long = CANARY.repeat(1_700);
    assert_eq!(watched.post_as(&token, CANARY, good, &[("X-Long", &long)]).await, 431);
    for path in ["/v1/orders/", "/", "/problems/", "/v1/idempotency-keys/"] {
        assert_eq!(watched.call(Method::GET, &format!("{path}{CANARY}?{CANARY}={CANARY}")).await, 404);
    }
    assert_eq!(watched.call(Method::GET, &format!("/v1/orders?cursor={CANARY}&status={CANARY}")).await, 400);
    assert_eq!(watched.call(Method::DELETE, "/v1/orders").await, 405);
}

/// What takes an organisation's policy, another server or a slow client.
async fn conditions(watched: &mut Watched) {
    let body = Watched::other_body();
    let limited = watched.limited.token.clone();
    let mut last = 0;
    for n in 0..20 {
        last = watched.post_as(&limited, &format!("{CANARY}-{n}"), body.to_string(), &[]).await;
        if last == 429 {
            break;
        }
    }
    assert_eq!(last, 429);
    let sql = postgres::connect(&watched.direct).await;
    let running = format!(
        "INSERT INTO idempotency_keys
            (org_id, idempotency_key, fingerprint_version, request_sha256, state, order_id, created_at)
        SELECT org_id, '{CANARY}-running', fingerprint_version, request_sha256, 'in_progress', order_id, now()
        FROM idempotency_keys WHERE idempotency_key = '{CANARY}-K'"
    );
    assert_eq!(sql.execute(&running, &[]).await.unwrap(), 1);
    assert_eq!(watched.post("running", &Watched::body()).await, 409);
}

/// What can go wrong with money.
async fn payments(watched: &mut Watched) {
    let app = ichido::startup::app(&watched.direct, 1, Clock::System, payments::settings()).unwrap();
    payments::use_gateway(&app, &watched.org, &watched.world.stripe()).await;
    let paid = |method: &str| {
        let mut body = Watched::other_body();
        body["payment"] = json!({ "method": method });
        body
    };
    assert_eq!(watched.post("refused", &paid(CANARY)).await, 402);
    assert_eq!(watched.post("refused", &paid(CANARY)).await, 402);
    assert_eq!(watched.post("paid", &paid("pm_card_visa")).await, 201);
    let sql = postgres::connect(&watched.direct).await;
    let query = format!("SELECT order_id::text FROM idempotency_keys WHERE idempotency_key = '{CANARY}-paid'");
    let order: String = sql.query_one(&query, &[]).await.unwrap().get(0);
    let pay = format!("/v1/orders/{order}/payments");
    assert_eq!(watched.command(&pay, "again", &json!({ "method": CANARY })).await, 409);
    assert_eq!(watched.command(&pay, "wrong", &json!({ "method": [CANARY] })).await, 400);
    assert_eq!(watched.command(&format!("/v1/orders/{order}/cancel"), "wrong", &json!([CANARY])).await, 400);
    assert_eq!(watched.post("unpaid", &Watched::other_body()).await, 201);
    let query = format!("SELECT order_id::text FROM idempotency_keys WHERE idempotency_key = '{CANARY}-unpaid'");
    let order: String = sql.query_one(&query, &[]).await.unwrap().get(0);
    let decide =
        format!("/v1/reconciliation-cases/{}/decisions", payments::open_case(&sql, &watched.org, &order).await);
    let decision = |reason: &str| json!({ "decision": "mark_not_done", "reason": reason });
    assert_eq!(watched.command(&decide, "undecided", &json!({ "decision": CANARY, "reason": CANARY })).await, 400);
    assert_eq!(watched.command(&decide, "decided", &decision("seen")).await, 200);
    assert_eq!(watched.command(&decide, "late", &decision(CANARY)).await, 409);
    app.db.close();
}

/// What a provider, or somebody who says so, can send.
async fn notifications(watched: &mut Watched) {
    let app = ichido::startup::app(&watched.direct, 1, Clock::System, payments::settings()).unwrap();
    let new = named(CANARY, SECRET);
    let id = create_endpoint(&app, watched.org.id, &new, Deadline::of_request()).await.unwrap();
    let object =
        json!({ "id": CANARY, "amount_received": 1, "currency": CANARY, "metadata": { "ichido_order_id": CANARY } });
    let event = event("payment_intent.succeeded", &object).to_string();
    for (body, secret, status) in [(event.as_str(), SECRET, 200), (&event, CANARY, 400), (CANARY, SECRET, 200)] {
        let signature = stripe_signature(secret.as_bytes(), now(), body.as_bytes());
        let request = watched.client.post(format!("{}/v1/webhooks/{id}", watched.base));
        let request = request.header("Stripe-Signature", signature).body(body.to_owned());
        let response = request.send().await.unwrap();
        assert_eq!(watched.look_at(response).await, status);
    }
    app.db.close();
}

/// A request by hand whose body begins like this and has no end.
async fn endless(watched: &Watched, lines: &str, body: &str) -> Raw {
    let mut raw = Raw::connect(&watched.base).await;
    let head = format!(
        "POST /v1/orders HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\nIdempotency-Key: {CANARY}\r\n\
         Content-Type: application/json\r\n{lines}\r\n{body}",
        watched.org.token
    );
    raw.send(head).await;
    raw
}

fn refused(watched: &mut Watched, answer: &RawAnswer, status: u16) {
    assert_eq!(answer.status, status);
    watched.codes.insert(answer.problem());
    watched.assert_clean(&format!("{:?}{}", answer.headers, String::from_utf8_lossy(&answer.body)), true, "an answer");
}

/// What the database can do wrong.
async fn faults(watched: &mut Watched) {
    let body = Watched::other_body();
    let sql = postgres::connect(&watched.direct).await;
    let breaks = [
        (
            "ALTER TABLE orders ADD CONSTRAINT small CHECK (amount < 10) NOT VALID",
            "ALTER TABLE orders DROP CONSTRAINT small",
        ),
        ("CREATE UNIQUE INDEX one ON orders (org_id, customer_reference, status, currency)", "DROP INDEX one"),
        ("ALTER TABLE orders RENAME COLUMN amount TO gone", "ALTER TABLE orders RENAME COLUMN gone TO amount"),
        ("DROP TABLE IF EXISTS t; ALTER TABLE orders RENAME TO gone", "ALTER TABLE gone RENAME TO orders"),
    ];
    for (n, (breaks, mends)) in breaks.into_iter().enumerate() {
        sql.batch_execute(breaks).await.unwrap();
        let status = watched.post(&format!("fault-{n}"), &body).await;
        assert!(matches!(status, 500 | 503), "{breaks}: {status}");
        sql.batch_execute(mends).await.unwrap();
    }
    sql.batch_execute("BEGIN; LOCK TABLE orders IN ACCESS EXCLUSIVE MODE").await.unwrap();
    assert_eq!(watched.post("locked", &body).await, 503);
    sql.batch_execute("ROLLBACK").await.unwrap();
    watched.proxy.arm("WITH claim", At::Answer, Fault::CutAndRefuse, 1);
    assert_eq!(watched.post("cut", &body).await, 503);
    assert_eq!(watched.post("down", &body).await, 503);
    watched.proxy.set(Mode::Pass);
    watched.proxy.arm("WITH claim", At::Answer, Fault::Cut, 1);
    assert_eq!(watched.post("repeated", &body).await, 201);
    let terminate = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid()";
    sql.execute(terminate, &[]).await.unwrap();
    watched.post("terminated", &body).await;
}

#[tokio::test]
async fn no_answer_and_no_log_line_holds_a_secret_a_value_or_sql() {
    let mut watched = Watched::start().await;
    // Comes after ten seconds, and is read when it comes.
    let mut late = endless(&watched, "Content-Length: 50\r\n", CANARY).await;
    let late = tokio::spawn(async move { late.answer().await });
    let mut chunked = endless(&watched, "Transfer-Encoding: chunked\r\n", &format!("b\r\n{CANARY}\r\n")).await;
    refused(&mut watched, &chunked.answer().await, 411);
    mistakes(&mut watched).await;
    conditions(&mut watched).await;
    faults(&mut watched).await;
    refused(&mut watched, &late.await.unwrap(), 408);
    until("the service is well again", Duration::from_secs(10), || async {
        reqwest::get(format!("{}/readyz", watched.base)).await.unwrap().status() == 200
    })
    .await;
    payments(&mut watched).await;
    notifications(&mut watched).await;
    for path in ["/metrics", "/readyz", "/v1/orders", &format!("/v1/idempotency-keys/{CANARY}-K")] {
        let status = watched.call(Method::GET, path).await;
        assert_eq!(status, 200, "{path}");
    }
    let all: Vec<_> = ichido::http::kinds::KINDS.iter().map(|kind| kind.code).collect();
    let missing: Vec<_> = all.iter().filter(|code| !watched.codes.contains(**code)).collect();
    assert!(missing.is_empty(), "not provoked: {missing:?}");

    let sql = postgres::connect(&watched.direct).await;
    let stored = "SELECT coalesce(convert_from(response_body, 'UTF8'), '') || coalesce(response_headers::text, '')
        FROM idempotency_keys";
    for row in sql.query(stored, &[]).await.unwrap() {
        watched.assert_clean(row.get(0), false, "a stored answer");
    }
    watched.running.signal(Signal::TERM);
    let ended = watched.running.ended_within(Duration::from_secs(20)).await;
    // The log is there at all, with our own finest lines.
    assert!(ended.err.contains("ichido::access") && ended.err.contains("DEBUG"), "{}", ended.err.len());
    watched.assert_clean(&ended.out, true, "standard output");
    watched.assert_clean(&ended.err, true, "a log line");
    let key_hash = ended.err.lines().any(|line| line.contains("claim without an answer"));
    assert!(key_hash, "the repeated claim was not logged");
}
