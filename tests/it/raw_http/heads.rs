//! Odd targets, odd headers.

use super::{ask, assert_bare_400, head, post, refused};
use crate::support::app::{TestApp, order_body};

fn get(target: &str, token: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n")
}

#[tokio::test]
async fn targets_that_name_nothing_are_404_and_never_an_order() {
    let app = TestApp::start().await;
    let long = format!("/v1/{}", "a".repeat(8_000));
    for target in [
        "//v1/orders",
        "/v1//orders",
        "/v1/orders/",
        "/V1/Orders",
        "/v1/orders/..",
        "/v1/./orders",
        "/%00",
        "/v1/orders%00",
        "/v1/orders/%2e%2e",
        "/v1%2Forders",
        "/v1/orders;x=1",
        "/%ff%fe",
        "/v1/orders/%C3%28",
        "*",
        "/v1/orders/%0d%0aX:1",
        &long,
    ] {
        let request = post(&app, "K").replacen("/v1/orders", target, 1);
        let answer = ask(&app, request).await;
        assert!(matches!(answer.status, 404 | 405), "{target}: {answer:?}");
        assert!(matches!(answer.problem().as_str(), "not_found" | "method_not_allowed"), "{target}");
        let answer = ask(&app, get(target, &app.org.token)).await;
        assert_eq!((answer.status, answer.problem().as_str()), (404, "not_found"), "{target}");
    }
    assert_eq!(app.counts().await, (0, 0));
}

#[tokio::test]
async fn percent_encoded_letters_name_the_same_path_or_nothing_but_never_a_second_order() {
    let app = TestApp::start().await;
    assert_eq!(ask(&app, post(&app, "K")).await.status, 201);
    let encoded = ask(&app, post(&app, "K").replacen("/v1/orders", "/v1/%6Frders", 1)).await;
    assert!(matches!(encoded.status, 200 | 404 | 422), "{encoded:?}");
    assert_eq!(app.counts().await, (1, 1));
}

#[tokio::test]
async fn an_absolute_target_is_the_same_resource() {
    let app = TestApp::start().await;
    let absolute = post(&app, "K").replacen("/v1/orders", &format!("{}/v1/orders", app.base), 1);
    assert_eq!(ask(&app, absolute).await.status, 201);
    assert_eq!(ask(&app, post(&app, "K")).await.status, 200);
    assert_eq!(app.counts().await, (1, 1));
}

#[tokio::test]
async fn headers_beyond_16_kib_are_431() {
    let app = TestApp::start().await;
    let long = format!("X-Long: {}\r\n", "a".repeat(17 * 1024));
    let request = head(&app, "K", &format!("{long}Content-Length: 0\r\n"));
    assert_eq!(refused(&app, request).await, (431, "headers_too_large".to_owned()));
    let many = format!("X-Many: {}\r\n", "a".repeat(200)).repeat(90);
    let request = head(&app, "K", &format!("{many}Content-Length: 0\r\n"));
    assert_eq!(refused(&app, request).await, (431, "headers_too_large".to_owned()));
    // Beyond what the parser reads at all, its refusal is bare.
    let request = head(&app, "K", &format!("X-Long: {}\r\n", "a".repeat(300 * 1024)));
    let answer = ask(&app, request).await;
    assert!(matches!(answer.status, 400 | 431), "{answer:?}");
    assert_eq!(app.counts().await, (0, 0));
}

#[tokio::test]
async fn just_below_16_kib_is_served() {
    let app = TestApp::start().await;
    let long = format!("X-Long: {}\r\n", "a".repeat(15 * 1024));
    assert_eq!(ask(&app, post(&app, "K").replacen("Host: x\r\n", &format!("Host: x\r\n{long}"), 1)).await.status, 201);
}

#[tokio::test]
async fn heads_that_are_not_http_are_refused_by_the_parser() {
    let app = TestApp::start().await;
    let good = post(&app, "K");
    for bad in [
        good.replacen("Host: x", "Host: x\r\nX-Nul: a\0b", 1),
        good.replacen("Host: x\r\n", "Host: x\r\n X-Folded: a\r\n", 1),
        good.replacen("Host:", "Host :", 1),
        good.replacen("HTTP/1.1", "HTTP/9.9", 1),
        good.replacen("Host: x\r\n", "Host: x\r\nHost: y\r\n", 1),
        good.replacen("/v1/orders", "/v1/ orders", 1),
        good.replacen("Host: x\r\n", "Host: x\r\nX-Bare: a\rb\r\n", 1),
        "\u{16}\u{3}\u{1}not http at all\r\n\r\n".to_owned(),
    ] {
        assert_bare_400(&app, bad).await;
    }
    assert_eq!(app.counts().await, (0, 0));
}

#[tokio::test]
async fn bare_line_feeds_do_not_change_what_a_request_says() {
    let app = TestApp::start().await;
    let body = order_body().to_string();
    let lines = head(&app, "K", &format!("Content-Length: {}\r\n", body.len())).replace("\r\n", "\n");
    // RFC 9112 allows a server to read them as line ends; to refuse them is as good.
    let answer = ask(&app, lines + &body).await;
    assert!(matches!(answer.status, 201 | 400), "{answer:?}");
    let orders = i64::from(answer.status == 201);
    assert_eq!(app.counts().await, (orders, orders));
}

#[tokio::test]
async fn header_values_that_are_not_ascii_are_refused_where_they_mean_something_only() {
    let app = TestApp::start().await;
    let good = post(&app, "K");
    let with = |from: &str, to: &[u8]| {
        let at = good.find(from).unwrap();
        [&good.as_bytes()[..at], to, &good.as_bytes()[at + from.len()..]].concat()
    };
    let key = refused(&app, with("Idempotency-Key: K", b"Idempotency-Key: caf\xe9")).await;
    assert_eq!(key, (400, "idempotency_key_invalid".to_owned()));
    let token = refused(&app, with("Bearer ich", b"Bearer \xff\xfe")).await;
    assert_eq!(token, (401, "unauthenticated".to_owned()));
    let media = refused(&app, with("application/json", b"application/json\xff")).await;
    assert_eq!(media, (415, "media_type_not_supported".to_owned()));
    assert_eq!(app.counts().await, (0, 0));
    assert_eq!(ask(&app, with("Host: x", b"Host: x\r\nX-Any: \xff\xc3\xa9")).await.status, 201);
}

#[tokio::test]
async fn lines_that_may_come_once_are_refused_twice() {
    let app = TestApp::start().await;
    let good = post(&app, "K");
    let token = format!("Authorization: Bearer {}\r\n", app.org.token);
    let twice = |line: &str| good.replacen(line, &line.repeat(2), 1);
    assert_eq!(refused(&app, twice(&token)).await, (401, "unauthenticated".to_owned()));
    assert_eq!(refused(&app, twice("Idempotency-Key: K\r\n")).await, (400, "idempotency_key_invalid".to_owned()));
    let media = twice("Content-Type: application/json\r\n");
    assert_eq!(refused(&app, media).await, (415, "media_type_not_supported".to_owned()));
    assert_eq!(app.counts().await, (0, 0));
}
