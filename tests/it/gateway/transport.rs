//! Every way in which an answer can fail to come, and whether the request can have been received.

use super::{SHORT, assert_no_canary, charge, charge_against, intent, stripe, stripe_within, succeeded};
use crate::support::scripted_http::{ScriptedHttp, Step};
use ichido::gateway::outcome::reason;
use ichido::gateway::{ChargeRequest, Lookup, Outcome};
use serde_json::json;
use std::time::{Duration, Instant};

fn good() -> Step {
    Step::json(200, &intent("pi_1", "succeeded", "1"))
}

#[tokio::test]
async fn nobody_listens_so_nothing_was_sent() {
    let base = ScriptedHttp::nobody().await;
    let outcome = stripe(&base).charge(charge()).await;
    assert_eq!(outcome, Outcome::NotSent { reason: reason::NOT_CONNECTED, retry_after: None });
    let again = stripe(&base).charge(ChargeRequest { sent_before: true, ..charge() }).await;
    assert_eq!(again, Outcome::unknown(reason::NOT_SENT_ON_REPEAT));
    let lookup = stripe(&base).retrieve(super::by_reference()).await;
    assert_eq!(lookup, Lookup::unknown(reason::NOT_CONNECTED));
    assert_no_canary(&format!("{outcome:?}"), &base);
}

#[tokio::test]
async fn a_name_that_does_not_resolve_was_not_called() {
    let outcome = stripe("http://no-such-host.invalid").charge(charge()).await;
    assert_eq!(outcome, Outcome::NotSent { reason: reason::NOT_CONNECTED, retry_after: None });
}

#[tokio::test]
async fn a_connection_that_speaks_no_tls_was_not_used() {
    let server = ScriptedHttp::start([Step::Raw(b"HTTP/1.1 200 OK\r\n\r\n".to_vec())]).await;
    // The scripted server waits for a head that never comes; what ends it is the time for connecting.
    let gateway = stripe_within(&server.base.replace("http://", "https://"), Duration::from_secs(30));
    let outcome = tokio::time::timeout(Duration::from_secs(5), gateway.charge(charge())).await.unwrap();
    assert_eq!(outcome, Outcome::NotSent { reason: reason::NOT_CONNECTED, retry_after: None });
    assert!(server.sent().is_empty());
}

#[tokio::test]
async fn broken_answers_leave_it_unknown() {
    let body = intent("pi_1", "succeeded", "1").to_string().into_bytes();
    let cases = [
        (Step::ResetAtOnce, reason::CONNECTION_LOST),
        (Step::ResetAfterRequest, reason::CONNECTION_LOST),
        (Step::CloseAfterRequest, reason::CONNECTION_LOST),
        (Step::Half { promised: body.len() + 1, body: body.clone() }, reason::CONNECTION_LOST),
        (Step::Half { promised: 100, body: Vec::new() }, reason::CONNECTION_LOST),
        (Step::Raw(b"SSH-2.0-OpenSSH_9.9\r\n".to_vec()), reason::UNREADABLE),
        (Step::Raw(b"HTTP/1.1 2".to_vec()), reason::CONNECTION_LOST),
        (Step::Answer { status: 200, headers: Vec::new(), body: vec![b' '; 256 * 1024 + 1] }, reason::OVERSIZED),
        (Step::Endless, reason::OVERSIZED),
        (Step::Answer { status: 200, headers: Vec::new(), body: b"<html>".to_vec() }, reason::UNREADABLE),
        (Step::Answer { status: 200, headers: Vec::new(), body: Vec::new() }, reason::UNREADABLE),
    ];
    for (step, expected) in cases {
        let told: String = format!("{step:?}").chars().take(80).collect();
        let (outcome, server) = charge_against(step).await;
        assert_eq!(outcome, Outcome::unknown(expected), "{told}");
        // None was sent a second time behind our back.
        assert_eq!(server.connections(), 1, "{told}");
        assert_no_canary(&format!("{outcome:?}"), &server.base);
    }
}

#[tokio::test]
async fn an_answer_just_below_the_cap_is_read() {
    let mut body = intent("pi_1", "succeeded", "1").to_string().into_bytes();
    body.resize(256 * 1024, b' ');
    let (outcome, ..) = charge_against(Step::Answer { status: 200, headers: Vec::new(), body }).await;
    assert_eq!(outcome, succeeded("pi_1"));
}

#[tokio::test]
async fn late_and_dripping_answers_are_not_waited_for() {
    let late = Step::Late(Duration::from_secs(20), Box::new(good()));
    for step in [late, Step::Drip(Duration::from_millis(50))] {
        let server = ScriptedHttp::start([step]).await;
        let begun = Instant::now();
        let outcome = stripe_within(&server.base, SHORT).charge(charge()).await;
        assert_eq!(outcome, Outcome::unknown(reason::TIMEOUT));
        assert!((SHORT..SHORT * 10).contains(&begun.elapsed()), "{:?}", begun.elapsed());
        assert_eq!(server.sent().len(), 1);
    }
    let in_time = Step::Late(Duration::from_millis(100), Box::new(good()));
    assert_eq!(charge_against(in_time).await.0, succeeded("pi_1"));
}

#[tokio::test]
async fn a_connection_that_is_never_made_ends_after_three_seconds() {
    // A listener whose queue is full: the system neither refuses nor accepts.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    let mut waiting = Vec::new();
    while let Ok(Ok(stream)) =
        tokio::time::timeout(Duration::from_millis(200), tokio::net::TcpStream::connect(address)).await
    {
        waiting.push(stream);
    }
    let begun = Instant::now();
    let outcome = stripe_within(&format!("http://{address}"), Duration::from_secs(30)).charge(charge()).await;
    assert_eq!(outcome, Outcome::NotSent { reason: reason::NOT_CONNECTED, retry_after: None });
    assert!((2..6).contains(&begun.elapsed().as_secs()), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let elsewhere = ScriptedHttp::start([good()]).await;
    for status in [301, 302, 303, 307, 308] {
        let step = Step::json(status, &json!({})).header("Location", &format!("{}/v1/x", elsewhere.base));
        let (outcome, server) = charge_against(step).await;
        assert_eq!(outcome, Outcome::unknown(reason::UNEXPECTED_STATUS), "{status}");
        assert_eq!(server.connections(), 1);
    }
    assert_eq!(elsewhere.connections(), 0);
}

#[tokio::test]
async fn headers_of_the_answer_are_read() {
    let step = Step::json(429, &json!({"error": {"type": "invalid_request_error"}})).header("Retry-After", "7");
    let seven = Some(Duration::from_secs(7));
    assert_eq!(charge_against(step).await.0, Outcome::NotSent { reason: reason::RATE_LIMITED, retry_after: seven });
    let step = Step::json(503, &json!({})).header("Retry-After", "999999999");
    let hour = Some(Duration::from_hours(1));
    assert_eq!(charge_against(step).await.0, Outcome::Unknown { reason: reason::SERVER_ERROR, retry_after: hour });
    let step = Step::json(500, &json!({})).header("Idempotent-Replayed", "true");
    assert_eq!(charge_against(step).await.0, Outcome::unknown(reason::SERVER_ERROR_STORED));
    let step = Step::json(400, &json!({"error": {"type": "api"}})).header("Stripe-Should-Retry", "true");
    assert_eq!(charge_against(step).await.0, Outcome::unknown(reason::ASKED_TO_RETRY));
}

#[tokio::test]
async fn a_refusal_of_a_repeated_charge_is_definite_only_when_replayed() {
    let refused = || Step::json(400, &json!({"error": {"type": "invalid_request_error", "message": "canary"}}));
    let server = ScriptedHttp::start([refused(), refused(), refused().header("Idempotent-Replayed", "true")]).await;
    let gateway = stripe(&server.base);
    let again = || ChargeRequest { sent_before: true, ..charge() };
    assert_eq!(gateway.charge(charge()).await, Outcome::refused("invalid_request_error"));
    assert_eq!(gateway.charge(again()).await, Outcome::unknown(reason::REFUSED_ON_REPEAT));
    assert_eq!(gateway.charge(again()).await, Outcome::refused("invalid_request_error"));
}
