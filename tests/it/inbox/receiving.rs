//! Who is believed, what is stored, and what a delivery is answered.

use crate::inbox::endpoint::{Endpoint, SECRET, count, event, intent, now, outcomes, rematch, settled};
use crate::support::app::{TestApp, new_org, order_body};
use crate::support::payments::start;
use crate::support::postgres;
use crate::support::wait::until;
use futures_util::future::join_all;
use ichido::app::inbox::endpoints::retire_secret;
use ichido::db::deadline::Deadline;
use ichido::db::orgs::NewOrg;
use ichido::domain::org::Mode;
use ichido::sim::signature::stripe_signature;
use reqwest::Method;
use secrecy::SecretString;
use serde_json::{Value, json};
use std::time::Duration;

async fn receipts(app: &TestApp, query: &str) -> Vec<Value> {
    let list = app.get(&format!("/v1/receipts?{query}"), "/v1/receipts").await.json();
    list["data"].as_array().unwrap().clone()
}

#[tokio::test]
async fn a_good_signature_in_any_of_several_is_accepted_and_the_receipt_names_its_secret() {
    let app = TestApp::start().await;
    let (first, second) = (Endpoint::of(&app).await, Endpoint::of(&app).await);
    assert_eq!(first.add(&app, "TWO", "whsec_canary_two").await, "TWO");
    assert_eq!(second.add(&app, "ONE", "whsec_canary_three").await, "ONE-2");
    assert_eq!(second.add(&app, "ONE", "whsec_canary_three").await, "ONE-2", "no second one of the same");
    let body = event("invoice.paid", &json!({ "id": "in_1" })).to_string();
    let hex = |secret: &str| {
        stripe_signature(secret.as_bytes(), now(), body.as_bytes()).split_once("v1=").unwrap().1.to_owned()
    };
    for (endpoint, secret, label) in [
        (&first, SECRET, "ONE"),
        (&first, "whsec_canary_two", "TWO"),
        (&second, SECRET, "ONE"),
        (&second, "whsec_canary_three", "ONE-2"),
    ] {
        let header = format!("t={}, v1={},v1={} ,v0=x", now(), "ab".repeat(32), hex(secret));
        let answer = endpoint.deliver(&app, body.as_bytes(), Some(&header)).await;
        assert_eq!((answer.status, &answer.json()["classification"]), (200, &json!("ignored")), "{label}");
        let id = answer.json()["receipt_id"].as_str().unwrap().to_owned();
        let receipt = app.get(&format!("/v1/receipts/{id}"), "/v1/receipts/{receipt_id}").await.json();
        assert_eq!((&receipt["secret_label"], &receipt["signature"]), (&json!(label), &json!("valid")));
        assert_eq!(receipt["endpoint_id"], endpoint.id.to_string());
    }
    let other = endpoint_secret_of_the_other(&app, &first, &body).await;
    assert_eq!(other, 400);
}

async fn endpoint_secret_of_the_other(app: &TestApp, first: &Endpoint, body: &str) -> u16 {
    let header = stripe_signature(b"whsec_canary_three", now(), body.as_bytes());
    first.deliver(app, body.as_bytes(), Some(&header)).await.status
}

#[tokio::test]
async fn what_is_not_signed_is_refused_and_kept_within_bounds() {
    let app = TestApp::start().await;
    let endpoint = Endpoint::of(&app).await;
    let body = event("payment_intent.succeeded", &intent("pi_1", &uuid::Uuid::now_v7().to_string(), 1)).to_string();
    let signed = |secret: &str, at: i64| stripe_signature(secret.as_bytes(), at, body.as_bytes());
    let tries = [
        (None, "no_header"),
        (Some(String::new()), "malformed"),
        (Some("t=1".to_owned()), "malformed"),
        (Some(signed("whsec_other", now())), "mismatch"),
        (Some(signed("", now())), "mismatch"),
        (Some(stripe_signature(SECRET.as_bytes(), now(), format!("{body} ").as_bytes())), "mismatch"),
        (Some(signed(SECRET, now() - 310)), "out_of_tolerance"),
        (Some(signed(SECRET, now() + 310)), "out_of_tolerance"),
        (Some(signed(SECRET, 0)), "out_of_tolerance"),
    ];
    for (header, verdict) in &tries {
        let answer = endpoint.deliver(&app, body.as_bytes(), header.as_deref()).await;
        assert_eq!((answer.status, answer.code().as_str()), (400, "signature_invalid"), "{verdict}");
        let newest = receipts(&app, "limit=1").await[0].clone();
        let seen = (&newest["signature"], &newest["reply_status"], &newest["classification"]);
        assert_eq!(seen, (&json!(verdict), &json!(400), &json!(null)));
    }
    let twice = app.request(Method::POST, &endpoint.path()).header("Stripe-Signature", signed(SECRET, now()));
    let twice = twice.header("Stripe-Signature", signed(SECRET, now())).body(body.clone());
    assert_eq!(app.send(twice, "/v1/webhooks/{endpoint_id}").await.status, 400);
    assert!(outcomes(&app).await.is_empty());
    // Without a secret that counts, nothing is believed.
    let (secret, none) = (SecretString::from(SECRET), Duration::ZERO);
    retire_secret(&app.app, app.org.id, endpoint.id, &secret, none, Deadline::of_request()).await.unwrap();
    assert_eq!(endpoint.signed(&app, body.as_bytes()).await.status, 400);
    assert_eq!(receipts(&app, "limit=1").await[0]["signature"], "no_secret");
    // Large ones are cut, many are not kept.
    let large = vec![b'x'; 100_000];
    for _ in 0..100 {
        assert_eq!(endpoint.deliver(&app, &large, None).await.status, 400);
    }
    assert_eq!(count(&app, "SELECT count(*) FROM receipts WHERE signature <> 'valid'").await, 100);
    assert_eq!(count(&app, "SELECT max(octet_length(body))::bigint FROM receipts").await, 4096);
    assert_eq!(count(&app, "SELECT max(body_bytes)::bigint FROM receipts").await, 100_000);
}

#[tokio::test]
async fn a_secret_that_retires_counts_until_its_time_is_up() {
    let app = TestApp::start().await;
    let endpoint = Endpoint::of(&app).await;
    endpoint.add(&app, "TWO", "whsec_canary_two").await;
    let retire = async |grace| {
        let secret = SecretString::from(SECRET);
        retire_secret(&app.app, app.org.id, endpoint.id, &secret, grace, Deadline::of_request()).await.unwrap()
    };
    assert_eq!(retire(Duration::from_hours(24)).await.0, "ONE");
    assert_eq!(endpoint.signed(&app, b"{}").await.status, 200);
    let until = retire(Duration::ZERO).await.1;
    assert_eq!(retire(Duration::from_hours(24)).await.1, until, "no more time");
    assert_eq!(endpoint.signed(&app, b"{}").await.status, 400);
    let header = stripe_signature(b"whsec_canary_two", now(), b"{}");
    assert_eq!(endpoint.deliver(&app, b"{}", Some(&header)).await.status, 200);
}

#[tokio::test]
async fn bytes_are_verified_as_they_are_and_kept_as_they_are() {
    let app = TestApp::start().await;
    let endpoint = Endpoint::of(&app).await;
    let odd = "{ \"id\" :\n\t\"evt_\\u0031\",\"type\":\"x\",\"z\":\"\\/ \u{00e9} \\ud83d\\ude00\" }\r\n";
    for (body, kind) in [(odd.as_bytes(), json!("x")), (b"\xff\xfe not json", json!(null)), (b"", json!(null))] {
        let answer = endpoint.signed(&app, body).await;
        assert_eq!((answer.status, &answer.json()["classification"]), (200, &json!("ignored")));
        let id = answer.json()["receipt_id"].as_str().unwrap().to_owned();
        let receipt = app.get(&format!("/v1/receipts/{id}"), "/v1/receipts/{receipt_id}").await.json();
        assert_eq!(receipt["type"], kind);
        assert_eq!(receipt["body_bytes"], body.len());
        let client = app.sql().await;
        let kept = client.query_one("SELECT body FROM receipts ORDER BY arrival DESC LIMIT 1", &[]).await.unwrap();
        assert_eq!(kept.get::<_, Vec<u8>>(0), body);
    }
}

#[tokio::test]
async fn size_path_and_encoding_are_checked_first() {
    let app = TestApp::start().await;
    let endpoint = Endpoint::of(&app).await;
    let largest = vec![b' '; 256 * 1024];
    assert_eq!(endpoint.signed(&app, &largest).await.status, 200);
    assert_eq!(endpoint.signed(&app, &[largest, vec![b' ']].concat()).await.status, 413);
    let route = "/v1/webhooks/{endpoint_id}";
    for id in [uuid::Uuid::now_v7().to_string(), "x".to_owned()] {
        let request = app.request(Method::POST, &format!("/v1/webhooks/{id}")).body("{}");
        let signature = stripe_signature(SECRET.as_bytes(), now(), b"{}");
        assert_eq!(app.send(request.header("Stripe-Signature", signature), route).await.code(), "not_found");
    }
    let encoded = app.request(Method::POST, &endpoint.path()).header("Content-Encoding", "gzip").body("{}");
    assert_eq!(app.send(encoded, route).await.status, 415);
    assert_eq!(count(&app, "SELECT count(*) FROM receipts").await, 1);
}

#[tokio::test]
async fn ten_at_once_are_ten_receipts_and_one_event() {
    let (app, _world) = start().await;
    let (one, two) = (Endpoint::of(&app).await, Endpoint::of(&app).await);
    let id = app.post("k", &order_body()).await.id();
    let event = event("payment_intent.succeeded", &intent("pi_1", &id, 2400));
    // A process with a pool of four connections; a provider sends again what is answered with 503.
    let classes = join_all((0..10).map(|n| {
        let endpoint = if n % 2 == 0 { &one } else { &two };
        endpoint.tell(&app, &event)
    }))
    .await;
    assert_eq!(classes.iter().filter(|class| *class == "new").count(), 1, "{classes:?}");
    assert!(classes.iter().all(|class| ["new", "resumable", "already_done"].contains(&class.as_str())), "{classes:?}");
    settled(&app).await;
    assert_eq!(outcomes(&app).await, [("pi:pi_1:succeeded".to_owned(), "applied".to_owned())]);
    assert_eq!(count(&app, "SELECT count(*) FROM receipts").await, 10);
    assert_eq!(count(&app, "SELECT count(*) FROM event_aliases").await, 1);
    assert_eq!(count(&app, "SELECT count(*) FROM payments").await, 1);
    let arrivals = "SELECT count(DISTINCT arrival) FROM receipts";
    assert_eq!(count(&app, arrivals).await, 10);
}

#[tokio::test]
async fn an_order_that_is_locked_holds_nobody_up_and_is_changed_later() {
    let (app, _world) = start().await;
    let endpoint = Endpoint::of(&app).await;
    let id = app.post("k", &order_body()).await.id();
    let client = app.sql().await;
    client.batch_execute("BEGIN; SELECT * FROM orders FOR UPDATE").await.unwrap();
    let event = event("payment_intent.succeeded", &intent("pi_1", &id, 2400));
    assert_eq!(endpoint.tell(&app, &event).await, "new");
    assert_eq!(endpoint.tell(&app, &event).await, "resumable");
    assert_eq!(app.order(&id).await["status"], "received");
    client.batch_execute("COMMIT").await.unwrap();
    until("the worker applies it", Duration::from_secs(20), || async {
        rematch(&app).await;
        app.order(&id).await["status"] == "confirmed"
    })
    .await;
    assert_eq!(endpoint.tell(&app, &event).await, "already_done");
}

#[tokio::test]
async fn what_cannot_be_committed_is_503() {
    let app = TestApp::start().await;
    let endpoint = Endpoint::of(&app).await;
    let client = postgres::connect(&app.url).await;
    client.batch_execute("BEGIN; LOCK TABLE receipts").await.unwrap();
    let answer = endpoint.signed(&app, b"{}").await;
    assert_eq!(answer.status, 503);
    client.batch_execute("ROLLBACK").await.unwrap();
    assert_eq!(endpoint.signed(&app, b"{}").await.status, 200);
}

#[tokio::test]
async fn play_money_pays_nothing_on_a_live_organisation() {
    let app = TestApp::start().await;
    let live = app.org(NewOrg { mode: Mode::Live, ..new_org() }).await;
    let endpoint = Endpoint::of_org(&app, &live).await;
    let id = app.post_as(&live.token, "k", &order_body()).await.id();
    let mut event = event("payment_intent.succeeded", &intent("pi_1", &id, 2400));
    assert_eq!(endpoint.tell(&app, &event).await, "ignored");
    event["livemode"] = json!(true);
    assert_eq!(endpoint.tell_and_apply(&app, &event).await, "new");
    assert_eq!(count(&app, "SELECT count(*) FROM orders WHERE status = 'confirmed'").await, 1);
}
