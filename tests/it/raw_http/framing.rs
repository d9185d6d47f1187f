//! Where a request ends and the next begins.

use super::{ask, assert_bare_400, head, post, probe, refused};
use crate::support::app::{TestApp, order_body};
use crate::support::raw::Raw;

#[tokio::test]
async fn a_body_without_announced_length_is_no_body() {
    let app = TestApp::start().await;
    let mut raw = Raw::connect(&app.base).await;
    raw.send(head(&app, "K", "")).await;
    let answer = raw.answer().await;
    assert_eq!((answer.status, answer.problem().as_str()), (400, "invalid_request"));
    raw.send(probe()).await;
    assert_eq!(raw.answer().await.status, 200);
    assert_eq!(app.counts().await, (0, 0));
}

#[tokio::test]
async fn a_content_length_that_is_no_number_or_is_given_twice_is_refused_by_the_parser() {
    let app = TestApp::start().await;
    let body = order_body().to_string();
    let length = body.len();
    for lines in [
        "Content-Length: -1\r\n".to_owned(),
        "Content-Length: +5\r\n".to_owned(),
        "Content-Length: 0x10\r\n".to_owned(),
        "Content-Length: 1e3\r\n".to_owned(),
        "Content-Length: 99999999999999999999999999\r\n".to_owned(),
        format!("Content-Length: {length}, {length}\r\n"),
        format!("Content-Length: {length}\r\nContent-Length: {length}\r\n"),
        format!("Content-Length: {length}\r\nContent-Length: 0\r\n"),
        format!("Content-Length: {length}\r\nTransfer-Encoding: chunked\r\n"),
        format!("Transfer-Encoding: chunked\r\nContent-Length: {length}\r\n"),
        "Transfer-Encoding: gzip, chunked, gzip\r\n".to_owned(),
        "Transfer-Encoding: gzip, chunked\r\n".to_owned(),
        "Transfer-Encoding: identity\r\n".to_owned(),
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n".to_owned(),
    ] {
        assert_bare_400(&app, head(&app, "K", &lines) + &body).await;
    }
    assert_eq!(app.counts().await, (0, 0));
}

#[tokio::test]
async fn a_body_longer_than_announced_is_cut_there_and_the_rest_is_no_order() {
    let app = TestApp::start().await;
    let body = order_body().to_string();
    let mut raw = Raw::connect(&app.base).await;
    raw.send(head(&app, "K", &format!("Content-Length: {}\r\n", body.len() - 1)) + &body).await;
    let answer = raw.answer().await;
    assert_eq!((answer.status, answer.problem().as_str()), (400, "invalid_request"));
    // The byte that is left over begins the next request, and is none.
    raw.send(post(&app, "L")).await;
    let rest = raw.rest().await;
    assert!(rest.is_empty() || rest.starts_with("HTTP/1.1 400"), "{rest}");
    assert_eq!(app.counts().await, (0, 0));
}

#[tokio::test]
async fn a_body_in_many_small_writes_is_one_body() {
    let app = TestApp::start().await;
    let request = post(&app, "K");
    let mut raw = Raw::connect(&app.base).await;
    for piece in request.as_bytes().chunks(7) {
        raw.send(piece).await;
        tokio::task::yield_now().await;
    }
    let answer = raw.answer().await;
    assert_eq!((answer.status, answer.closes()), (201, false));
    let whole = ask(&app, request).await;
    assert_eq!((whole.status, &whole.body), (200, &answer.body));
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_order() {
    let app = TestApp::start().await;
    let mut raw = Raw::connect(&app.base).await;
    let requests: String = (0..5).map(|n| post(&app, &format!("K{n}"))).collect();
    raw.send(requests + &post(&app, "K0") + probe()).await;
    for n in 0..5 {
        let answer = raw.answer().await;
        assert_eq!((answer.status, answer.headers["idempotency-key"].to_str().unwrap()), (201, &*format!("K{n}")));
    }
    assert_eq!(raw.answer().await.status, 200);
    assert_eq!(raw.answer().await.body, br#"{"status":"ok"}"#);
    assert_eq!(app.counts().await, (5, 5));
}

#[tokio::test]
async fn a_chunked_body_is_411_the_connection_closes_and_what_follows_is_never_executed() {
    let app = TestApp::start().await;
    let body = order_body().to_string();
    let chunked = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
    // With the caller's API key not cached, and cached: the refusal comes later and at once.
    for round in ["first", "second"] {
        for codings in ["chunked", "CHUNKED"] {
            let mut raw = Raw::connect(&app.base).await;
            let smuggled = head(&app, "K", &format!("Transfer-Encoding: {codings}\r\n")) + &chunked + &post(&app, "L");
            raw.send(smuggled + &post(&app, "M")).await;
            let answer = raw.answer().await;
            let code = answer.problem();
            assert_eq!((answer.status, code.as_str(), answer.closes()), (411, "length_required", true), "{round}");
            raw.rest().await;
            assert_eq!(app.counts().await, (0, 0), "{round} {codings}");
        }
    }
}

#[tokio::test]
async fn chunks_that_are_none_end_the_connection_and_nothing_is_executed() {
    let app = TestApp::start().await;
    let body = order_body().to_string();
    let size = format!("{:x}", body.len());
    for (size, end) in [("zz", "0\r\n\r\n"), ("-5", "0\r\n\r\n"), ("ffffffffffffffffff", ""), (&*size, "x\r\n")] {
        let mut raw = Raw::connect(&app.base).await;
        let chunked = format!("{size}\r\n{body}\r\n{end}");
        raw.send(head(&app, "K", "Transfer-Encoding: chunked\r\n") + &chunked + &post(&app, "L")).await;
        // The parser takes it for a broken connection and may not answer at all.
        let rest = raw.rest().await;
        assert!(rest.is_empty() || rest.starts_with("HTTP/1.1 4"), "{size}: {rest}");
        assert_eq!(app.counts().await, (0, 0), "{size}");
    }
}

#[tokio::test]
async fn a_chunked_body_of_any_other_request_closes_the_connection_too() {
    let app = TestApp::start().await;
    let start_lines = ["GET /healthz", "GET /v1/orders", "POST /nowhere", "PUT /v1/orders"];
    for start_line in start_lines {
        let mut raw = Raw::connect(&app.base).await;
        let chunked = format!("{start_line} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
        raw.send(chunked + &post(&app, "L")).await;
        let answer = raw.answer().await;
        assert!(answer.closes(), "{start_line}: {answer:?}");
        raw.rest().await;
        assert_eq!(app.counts().await, (0, 0), "{start_line}");
    }
}

#[tokio::test]
async fn an_early_refusal_with_an_unread_body_does_not_confuse_the_next_request() {
    let app = TestApp::start().await;
    // The unread body itself looks like a request that makes an order.
    let inner = post(&app, "inner");
    let big = inner.repeat(300);
    for body in [&inner, &big] {
        let length = body.len();
        let anonymous = format!("POST /v1/orders HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n");
        let text = format!(
            "POST /v1/orders HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\nIdempotency-Key: K\r\n\
             Content-Type: text/plain\r\nContent-Length: {length}\r\n\r\n",
            app.org.token
        );
        let nowhere = format!("POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n");
        let no_key = text.replace("Idempotency-Key: K\r\n", "");
        for head in [anonymous, text, nowhere, no_key] {
            let mut raw = Raw::connect(&app.base).await;
            raw.send(head + body).await;
            raw.send(probe()).await;
            let answer = raw.answer().await;
            assert!((400..500).contains(&answer.status), "{answer:?}");
            answer.problem();
            // The connection closes, or what comes next is the probe's answer; never that to the body.
            let next = raw.answer_or_end().await;
            assert!(next.is_some() || answer.closes(), "{answer:?}");
            assert!(next.is_none_or(|next| next.body == br#"{"status":"ok"}"#));
        }
    }
    assert_eq!(app.counts().await, (0, 0));
}

#[tokio::test]
async fn a_body_that_is_too_large_is_413_before_it_is_sent() {
    let app = TestApp::start().await;
    let announced = head(&app, "K", "Content-Length: 262145\r\n");
    assert_eq!(refused(&app, announced).await, (413, "body_too_large".to_owned()));
    let absurd = head(&app, "K", "Content-Length: 9223372036854775807\r\n");
    assert_eq!(refused(&app, absurd).await, (413, "body_too_large".to_owned()));
}

#[tokio::test]
async fn expect_100_continue_is_honoured_for_a_good_request_and_the_order_made_once() {
    let app = TestApp::start().await;
    let body = order_body().to_string();
    let mut raw = Raw::connect(&app.base).await;
    raw.send(head(&app, "K", &format!("Content-Length: {}\r\nExpect: 100-continue\r\n", body.len()))).await;
    assert_eq!(raw.head().await.status, 100);
    raw.send(&body).await;
    assert_eq!(raw.answer().await.status, 201);
    assert_eq!(app.counts().await, (1, 1));
}

#[tokio::test]
async fn a_half_closed_client_still_gets_its_answer_and_its_order() {
    let app = TestApp::start().await;
    let mut raw = Raw::connect(&app.base).await;
    raw.send(post(&app, "K")).await;
    raw.half_close().await;
    assert_eq!(raw.answer().await.status, 201);
    assert_eq!(app.counts().await, (1, 1));
}
