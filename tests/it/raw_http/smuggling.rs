//! What a proxy before this server may read otherwise than this server: whatever one of the two makes of it, what stands in a body
//! is never executed, and nothing that follows a request that was refused.

use super::{ask, head, post, probe};
use crate::support::app::{TestApp, order_body};
use crate::support::raw::Raw;

/// Sends a request with another one behind it, in one write. It has to be refused, or not be answered at all; the connection has to
/// end, and nothing may be done.
async fn refused_with_what_follows(app: &TestApp, request: String) {
    let mut raw = Raw::connect(&app.base).await;
    raw.send(request.clone() + &post(app, "smuggled")).await;
    let rest = raw.rest().await;
    assert!(rest.is_empty() || rest.starts_with("HTTP/1.1 4"), "{request}: {rest}");
    assert!(!rest.contains("HTTP/1.1 2"), "{request}: {rest}");
    assert_eq!(app.counts().await, (0, 0), "{request}");
}

#[tokio::test]
async fn codings_that_only_some_would_take_for_chunked_end_the_connection() {
    let app = TestApp::start().await;
    let body = order_body().to_string();
    let chunked = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
    for line in [
        "Transfer-Encoding: xchunked",
        "Transfer-Encoding: chunked;q=1",
        "Transfer-Encoding: \"chunked\"",
        "Transfer-Encoding:\tchunked",
        "Transfer-Encoding: chunked\t",
        "Transfer-Encoding: \u{b}chunked",
        "Transfer-Encoding: x\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding : chunked",
        "Transfer-Encoding: chunked, chunked",
        "Transfer-Encoding:\r\n chunked",
        "Transfer-Encoding:",
    ] {
        refused_with_what_follows(&app, head(&app, "K", &format!("{line}\r\n")) + &chunked).await;
        // Beside a length, in either order.
        let length = format!("Content-Length: {}", chunked.len());
        for lines in [format!("{line}\r\n{length}\r\n"), format!("{length}\r\n{line}\r\n")] {
            refused_with_what_follows(&app, head(&app, "K", &lines) + &chunked).await;
        }
    }
}

#[tokio::test]
async fn lengths_that_only_some_would_read_end_the_connection() {
    let app = TestApp::start().await;
    let body = order_body().to_string();
    let length = body.len();
    for line in [
        format!("Content-Length : {length}"),
        format!("Content-Length:\r\n {length}"),
        format!("Content-Length: {length}\r\n\t0"),
        format!("Content-Length: {length}\r\nContent-Length: {}", length + 1),
        format!("Content-Length: {length};"),
        format!("Content-Length: {length}_0"),
        format!("Content-Length: \u{b}{length}"),
        "Content-Length: ".to_owned(),
        "Content-Length: 18446744073709551616".to_owned(),
    ] {
        refused_with_what_follows(&app, head(&app, "K", &format!("{line}\r\n")) + &body).await;
    }
}

#[tokio::test]
async fn chunks_that_only_some_would_read_are_refused_with_what_follows() {
    let app = TestApp::start().await;
    let body = order_body().to_string();
    let size = format!("{:x}", body.len());
    for chunks in [
        format!("{size};name=value\r\n{body}\r\n0\r\n\r\n"),
        format!("{size};{}\r\n{body}\r\n0\r\n\r\n", "x".repeat(20_000)),
        format!("{size};a=\"\n\"\r\n{body}\r\n0\r\n\r\n"),
        format!("{size}\n{body}\n0\n\n"),
        format!("{size}\r{body}\r0\r\r"),
        format!("10000000000000000{size}\r\n{body}\r\n0\r\n\r\n"),
        format!("0x{size}\r\n{body}\r\n0\r\n\r\n"),
        format!("+{size}\r\n{body}\r\n0\r\n\r\n"),
        format!(" {size}\r\n{body}\r\n0\r\n\r\n"),
        format!("{size}\r\n{body}0\r\n\r\n"),
        format!("{size}\r\n{body}\r\n0\r\nContent-Length: 0\r\n\r\n"),
        format!("{size}\r\n{body}\r\n00\r\n\r\n"),
    ] {
        refused_with_what_follows(&app, head(&app, "K", "Transfer-Encoding: chunked\r\n") + &chunks).await;
    }
}

#[tokio::test]
async fn nothing_that_follows_a_head_that_is_none_is_executed() {
    let app = TestApp::start().await;
    let good = post(&app, "K");
    for bad in [
        good.replacen("Host: x\r\n", "Host: x\r\n X-Folded: a\r\n", 1),
        good.replacen("Host:", "Host :", 1),
        good.replacen("Host: x\r\n", "Host: x\r\nHost: y\r\n", 1),
        good.replacen("HTTP/1.1", "HTTP/1.2", 1),
        good.replacen("HTTP/1.1", "HTTP/2.0", 1),
        good.replacen("POST ", "POST  ", 1),
        good.replacen("Host: x\r\n", "Host: x\r\n: nameless\r\n", 1),
        good.replacen("Host: x\r\n", "Host: x\r\nX-Bare: a\rContent-Length: 0\r\n", 1),
        "GARBAGE\r\n\r\n".to_owned(),
    ] {
        refused_with_what_follows(&app, bad).await;
    }
}

#[tokio::test]
async fn bare_line_feeds_end_a_line_or_the_connection_and_hide_nothing() {
    let app = TestApp::start().await;
    // Who takes LF for a part of the line's text sees no length here.
    let hidden = post(&app, "K").replacen("\r\nContent-Length", "\nContent-Length", 1);
    let mut raw = Raw::connect(&app.base).await;
    raw.send(hidden + probe()).await;
    let first = raw.answer().await;
    if first.status == 201 {
        assert_eq!(raw.answer().await.body, br#"{"status":"ok"}"#);
    } else {
        assert_eq!(first.status, 400, "{first:?}");
        raw.closed().await;
    }
    let orders = i64::from(first.status == 201);
    assert_eq!(app.counts().await, (orders, orders));
}

#[tokio::test]
async fn the_host_that_a_request_names_decides_nothing() {
    let app = TestApp::start().await;
    assert_eq!(ask(&app, post(&app, "K")).await.status, 201);
    let target = |host: &str| post(&app, "K").replacen("/v1/orders", &format!("http://{host}/v1/orders"), 1);
    let good = post(&app, "K");
    for request in [
        target("somewhere.else"),
        target("user:password@x:1"),
        good.replacen("Host: x", "Host: somewhere.else", 1),
        good.replacen("Host: x\r\n", "Host: \r\n", 1),
        good.replacen("Host: x\r\n", "Host: x\r\nX-Forwarded-Host: y\r\nX-HTTP-Method-Override: DELETE\r\n", 1),
    ] {
        let answer = ask(&app, &request).await;
        assert_eq!(answer.status, 200, "{request}: {answer:?}");
        // Nothing that is sent leads elsewhere.
        let location = answer.headers["location"].to_str().unwrap();
        assert!(location.starts_with("/v1/orders/"), "{location}");
    }
    assert_eq!(app.counts().await, (1, 1));
}

#[tokio::test]
async fn http_1_1_without_a_host_is_refused() {
    let app = TestApp::start().await;
    let without = post(&app, "K").replacen("Host: x\r\n", "", 1);
    refused_with_what_follows(&app, without).await;
}

/// RFC 9112, section 9.6.
#[tokio::test]
async fn nothing_that_follows_a_request_that_said_close_is_executed() {
    let app = TestApp::start().await;
    let good = post(&app, "K");
    let said = |line: &str| good.replacen("Host: x\r\n", &format!("Host: x\r\n{line}\r\n"), 1);
    for request in [
        said("Connection: close"),
        said("Connection: Close"),
        said("Connection: x, close"),
        said("Connection: x\r\nConnection: close"),
        good.replacen("HTTP/1.1", "HTTP/1.0", 1),
    ] {
        let mut raw = Raw::connect(&app.base).await;
        raw.send(request.clone() + &post(&app, "L") + &post(&app, "M")).await;
        let answer = raw.answer().await;
        assert!(matches!(answer.status, 200 | 201), "{request}: {answer:?}");
        assert!(answer.closes(), "{request}: {answer:?}");
        let rest = raw.rest().await;
        assert!(!rest.contains("HTTP/1.1 2"), "{request}: {rest}");
        assert_eq!(app.counts().await, (1, 1), "{request}");
    }
}

/// The same when the server says it, since it is about to stop.
#[tokio::test]
async fn nothing_that_follows_an_answer_that_said_close_is_executed() {
    let app = TestApp::start().await;
    app.app.drain();
    let mut raw = Raw::connect(&app.base).await;
    raw.send(post(&app, "K") + &post(&app, "L") + &post(&app, "M")).await;
    let answer = raw.answer().await;
    assert_eq!((answer.status, answer.closes()), (201, true));
    let rest = raw.rest().await;
    assert!(!rest.contains("HTTP/1.1 2"), "{rest}");
    assert_eq!(app.counts().await, (1, 1));
}

#[tokio::test]
async fn http_1_0_is_kept_alive_where_it_is_said() {
    let app = TestApp::start().await;
    let old = |key: &str, lines: &str| {
        let request = post(&app, key).replacen("HTTP/1.1", "HTTP/1.0", 1);
        request.replacen("Host: x\r\n", &format!("Host: x\r\n{lines}"), 1)
    };
    let mut raw = Raw::connect(&app.base).await;
    raw.send(old("K", "Connection: keep-alive\r\n")).await;
    let answer = raw.answer().await;
    assert_eq!((answer.status, answer.headers["connection"].to_str().unwrap()), (201, "keep-alive"));
    raw.send(old("L", "") + &post(&app, "M")).await;
    let answer = raw.answer().await;
    assert_eq!((answer.status, answer.closes()), (201, true));
    raw.rest().await;
    assert_eq!(app.counts().await, (2, 2));
    // A coding of HTTP/1.1's is none there.
    let chunked = old("N", "Transfer-Encoding: chunked\r\n");
    let mut raw = Raw::connect(&app.base).await;
    raw.send(chunked + &post(&app, "O")).await;
    let rest = raw.rest().await;
    assert!(rest.starts_with("HTTP/1.1 400") && !rest.contains(" 201 "), "{rest}");
    assert_eq!(app.counts().await, (2, 2));
}
