//! Which `Idempotency-Key` headers are keys, and which spellings are the same key.

use crate::support::app::{Answer, TestApp, order_body};
use crate::support::bodies::key_is_unused;
use crate::support::wire::{Wire, post_head};
use reqwest::Method;
use reqwest::header::HeaderValue;
use serde_json::json;

/// Posts with these `Idempotency-Key` lines.
async fn post(app: &TestApp, lines: &[&[u8]]) -> Answer {
    let request = app.request(Method::POST, "/v1/orders").bearer_auth(&app.org.token);
    let request = lines.iter().fold(request.header("Content-Type", "application/json"), |request, line| {
        request.header("Idempotency-Key", HeaderValue::from_bytes(line).unwrap())
    });
    app.send(request.body(order_body().to_string()), "/v1/orders").await
}

/// Expects each line to be 400 `idempotency_key_invalid` and to make nothing.
async fn all_invalid(app: &TestApp, lines: &[&[u8]]) {
    for line in lines {
        let answer = post(app, &[line]).await;
        assert_eq!((answer.status, answer.code().as_str()), (400, "idempotency_key_invalid"), "{line:?}");
        assert_eq!(answer.json()["safe_new_key"], json!(true));
        assert_eq!(app.counts().await, (0, 0));
    }
}

#[tokio::test]
async fn without_a_key_nothing_is_done() {
    let app = TestApp::start().await;
    let answer = post(&app, &[]).await;
    assert_eq!((answer.status, answer.code().as_str()), (400, "idempotency_key_missing"));
    assert_eq!(app.counts().await, (0, 0));
}

#[tokio::test]
async fn an_empty_key_is_invalid() {
    let app = TestApp::start().await;
    all_invalid(&app, &[b"", b"\"\"", b"   "]).await;
}

#[tokio::test]
async fn a_key_has_1_to_255_characters() {
    let app = TestApp::start().await;
    let long = |length: usize| "k".repeat(length);
    let quoted = format!("\"{}\"", long(256));
    all_invalid(&app, &[long(256).as_bytes(), quoted.as_bytes()]).await;
    for good in [long(1), long(255)] {
        let answer = app.post(&good, &order_body()).await;
        assert_eq!((answer.status, answer.header("idempotency-key")), (201, Some(good.as_str())));
    }
    // The quotes of the string form are not counted.
    assert_eq!(app.post(&format!("\"{}\"", long(255)), &order_body()).await.status, 200);
}

#[tokio::test]
async fn four_thousand_random_characters_are_no_key() {
    let app = TestApp::start().await;
    let text: Vec<u8> = (0..4_000_u32).map(|n| b'!' + u8::try_from((n * n + 7 * n) % 94).unwrap()).collect();
    let text: Vec<u8> = text.into_iter().map(|byte| if byte == b'"' { b'a' } else { byte }).collect();
    all_invalid(&app, &[&text]).await;
}

#[tokio::test]
async fn only_visible_ascii_is_a_key() {
    let app = TestApp::start().await;
    all_invalid(&app, &[b"a b", b"a\tb", "é".as_bytes(), b"\xe9", b"a\xff", "鍵".as_bytes(), b"\"a b\""]).await;
    assert_eq!(app.post("!~", &order_body()).await.status, 201);
}

#[tokio::test]
async fn control_bytes_are_refused_and_never_an_error_of_the_server() {
    let app = TestApp::start().await;
    let body = order_body().to_string();
    for control in [0_u8, 1, 7, 0x1b, 0x7f] {
        let mut wire = Wire::to(&app).await;
        let lines = format!("Idempotency-Key: a{}b\r\nContent-Length: {}\r\n", char::from(control), body.len());
        wire.send(post_head(&app, &lines) + &body).await;
        let answer = wire.until("\r\n\r\n").await;
        assert!(answer.starts_with("HTTP/1.1 400 "), "{control}: {answer}");
    }
    assert_eq!(app.counts().await, (0, 0));
}

#[tokio::test]
async fn two_key_lines_are_refused_even_when_they_are_equal() {
    let app = TestApp::start().await;
    for lines in [[&b"K"[..], b"L"], [b"K", b"K"], [b"K", b""]] {
        let answer = post(&app, &lines).await;
        assert_eq!((answer.status, answer.code().as_str()), (400, "idempotency_key_invalid"));
    }
    assert_eq!(app.counts().await, (0, 0));
    key_is_unused(&app, "K").await;
    key_is_unused(&app, "L").await;
}

#[tokio::test]
async fn the_string_form_of_the_ietf_draft_is_the_same_key() {
    let app = TestApp::start().await;
    let first = app.post("\"abc\"", &order_body()).await;
    assert_eq!((first.status, first.header("idempotency-key")), (201, Some("abc")));
    for same in ["abc", "\"abc\"", " abc", "\"abc\"  "] {
        let again = app.post(same, &order_body()).await;
        assert_eq!((again.status, again.header("idempotency-key")), (200, Some("abc")), "{same}");
        assert_eq!(again.body, first.body);
    }
    assert_eq!(app.counts().await, (1, 1));
}

#[tokio::test]
async fn case_and_every_character_count() {
    let app = TestApp::start().await;
    let keys =
        ["abc", "ABC", "Abc", "abc.", "a,b", "a;b=1", "'abc'", "`abc`", "abc\\", "a\"b", "%61bc", "../x", "null"];
    for key in keys {
        let answer = app.post(key, &order_body()).await;
        assert_eq!((answer.status, answer.header("idempotency-key")), (201, Some(key)));
    }
    for key in keys {
        assert_eq!(app.post(key, &order_body()).await.status, 200, "{key}");
    }
}

#[tokio::test]
async fn a_quote_at_the_start_must_begin_a_whole_string() {
    let app = TestApp::start().await;
    all_invalid(&app, &[b"\"", b"\"abc", b"\"a\"b", b"\"abc\";p=1", b"\"a\", \"b\"", b"\"a\\x\"", b"\"a\\\""]).await;
}

#[tokio::test]
async fn the_echo_of_a_key_that_begins_with_a_quote_is_read_as_the_same_key() {
    let app = TestApp::start().await;
    let first = app.post(r#""\"a\\b""#, &order_body()).await;
    let echo = first.header("idempotency-key").unwrap().to_owned();
    assert_eq!((first.status, echo.as_str()), (201, r#""\"a\\b""#));
    assert_eq!(app.post(&echo, &order_body()).await.status, 200);
}
