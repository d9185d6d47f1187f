//! The order in which a request is checked, and its outer form: media type, encoding, size. Whatever is refused before
//! the claim leaves the key unused.

use crate::support::app::{Answer, TestApp, new_org, order_body};
use crate::support::bodies::{key_is_unused, with};
use crate::support::wire::{self, Wire, post_head};
use ichido::db::orgs::NewOrg;
use ichido::domain::scope::Scope;
use reqwest::Method;
use serde_json::json;

const MAX_BODY: usize = 256 * 1024;

/// A valid body, padded to this many bytes with white space.
fn padded(length: usize) -> Vec<u8> {
    let mut body = order_body().to_string().into_bytes();
    body.resize(length, b' ');
    body
}

async fn post(app: &TestApp, headers: &[(&str, &str)], body: Vec<u8>) -> Answer {
    let request = headers
        .iter()
        .fold(app.request(Method::POST, "/v1/orders"), |request, (name, value)| request.header(*name, *value));
    app.send(request.body(body), "/v1/orders").await
}

#[tokio::test]
async fn each_check_wins_over_all_later_ones() {
    let app = TestApp::start().await;
    let reader = format!("Bearer {}", app.token(app.org.id, &[Scope::OrdersRead]).await);
    let writer = format!("Bearer {}", app.org.token);
    let key = ("Idempotency-Key", "K");
    let (text, json_type) = (("Content-Type", "text/plain"), ("Content-Type", "application/json"));
    let gzip = ("Content-Encoding", "gzip");
    let mut too_large = padded(MAX_BODY + 1);
    too_large[0] = b'x';
    let (reader, writer) = (("Authorization", reader.as_str()), ("Authorization", writer.as_str()));
    let mut no_json = with("/currency", json!("yen")).to_string().into_bytes();
    no_json.push(b'x');
    let mut payment = with("/payment", json!({ "method": "pm" }));
    let unpaid = payment.to_string().into_bytes();
    payment["currency"] = json!("yen");
    let invalid = payment.to_string().into_bytes();
    // Each row mends one fault of the row before.
    let table = [
        (vec![text, gzip], &too_large, 401, "unauthenticated"),
        (vec![reader, text, gzip], &too_large, 403, "scope_missing"),
        (vec![writer, text, gzip], &too_large, 400, "idempotency_key_missing"),
        (vec![writer, ("Idempotency-Key", "\"K"), text, gzip], &too_large, 400, "idempotency_key_invalid"),
        (vec![writer, key, text, gzip], &too_large, 415, "media_type_not_supported"),
        (vec![writer, key, json_type, gzip], &too_large, 415, "encoding_not_supported"),
        (vec![writer, key, json_type], &too_large, 413, "body_too_large"),
        (vec![writer, key, json_type], &no_json, 400, "invalid_request"),
        (vec![writer, key, json_type], &invalid, 400, "invalid_request"),
        (vec![writer, key, json_type], &unpaid, 400, "payment_not_configured"),
    ];
    for (headers, body, status, code) in table {
        let answer = post(&app, &headers, body.clone()).await;
        assert_eq!((answer.status, answer.code().as_str()), (status, code));
        assert_eq!((&answer.json()["executed"], app.counts().await), (&json!("no"), (0, 0)), "{code}");
    }
    key_is_unused(&app, "K").await;
}

#[tokio::test]
async fn json_is_read_before_members_are_checked() {
    let app = TestApp::start().await;
    let mut body = with("/currency", json!("yen")).to_string();
    body.push('x');
    let answer = app.post_bytes(&app.org.token, "K", body.into_bytes()).await;
    assert_eq!((answer.status, &answer.json()["errors"][0]["pointer"]), (400, &json!("")));
}

#[tokio::test]
async fn an_invalid_body_under_a_used_key_is_400_and_the_key_still_replays() {
    let app = TestApp::start().await;
    let first = app.post("K", &order_body()).await;
    let invalid = app.post("K", &with("/currency", json!("yen"))).await;
    assert_eq!((invalid.status, invalid.code().as_str()), (400, "invalid_request"));
    let unpaid = app.post("K", &with("/payment", json!({ "method": "pm" }))).await;
    assert_eq!((unpaid.status, unpaid.code().as_str()), (422, "idempotency_key_reused"));
    assert_eq!(app.post("K", &order_body()).await.body, first.body);
}

#[tokio::test]
async fn an_invalid_body_costs_nothing_of_the_limit() {
    let app = TestApp::start().await;
    let org = app.org(NewOrg { new_claims_per_second: Some(1), ..new_org() }).await;
    for _ in 0..5 {
        assert_eq!(app.post_as(&org.token, "K", &with("/currency", json!("yen"))).await.status, 400);
    }
    assert_eq!(app.post_as(&org.token, "K", &order_body()).await.status, 201);
    assert_eq!(app.post_as(&org.token, "K2", &with("/currency", json!("yen"))).await.status, 400);
}

#[tokio::test]
async fn json_in_any_case_and_utf_8_are_accepted_media_types() {
    let app = TestApp::start().await;
    let token = format!("Bearer {}", app.org.token);
    let send = async |key: &str, media: &[&str]| {
        let mut headers = vec![("Authorization", token.as_str()), ("Idempotency-Key", key)];
        headers.extend(media.iter().map(|media| ("Content-Type", *media)));
        post(&app, &headers, order_body().to_string().into_bytes()).await
    };
    let bad: &[&[&str]] = &[
        &[],
        &[""],
        &["text/json"],
        &["application/x-www-form-urlencoded"],
        &["application/json-patch+json"],
        &["application/problem+json"],
        &["application/json; charset=latin1"],
        &["application/json; charset=utf-16"],
        &["application/json; v=1"],
        &["application/json", "application/json"],
    ];
    for media in bad {
        let answer = send("K", media).await;
        assert_eq!((answer.status, answer.code().as_str()), (415, "media_type_not_supported"), "{media:?}");
    }
    key_is_unused(&app, "K").await;
    let good = [
        "application/json",
        "Application/JSON",
        "application/json; charset=utf-8",
        "application/json;charset=UTF-8",
        "APPLICATION/JSON; CHARSET=\"utf-8\"",
    ];
    for media in good {
        assert_eq!(send(&format!("K-{media}").replace([' ', '"'], ""), &[media]).await.status, 201, "{media}");
    }
}

#[tokio::test]
async fn any_content_encoding_is_refused() {
    let app = TestApp::start().await;
    let token = format!("Bearer {}", app.org.token);
    for encoding in ["gzip", "br", "zstd", "deflate", "identity", "x"] {
        let headers = [
            ("Authorization", token.as_str()),
            ("Idempotency-Key", "K"),
            ("Content-Type", "application/json"),
            ("Content-Encoding", encoding),
        ];
        let answer = post(&app, &headers, order_body().to_string().into_bytes()).await;
        assert_eq!((answer.status, answer.code().as_str()), (415, "encoding_not_supported"), "{encoding}");
    }
    key_is_unused(&app, "K").await;
}

#[tokio::test]
async fn a_body_of_256_kib_is_accepted_and_one_byte_more_is_not() {
    let app = TestApp::start().await;
    let large = app.post_bytes(&app.org.token, "K", padded(MAX_BODY + 1)).await;
    assert_eq!((large.status, large.code().as_str()), (413, "body_too_large"));
    assert_eq!(app.post_bytes(&app.org.token, "K", padded(MAX_BODY)).await.status, 201);
    // White space does not matter, so this is a retry.
    assert_eq!(app.post("K", &order_body()).await.status, 200);
}

#[tokio::test]
async fn a_chunked_body_is_411_and_closes_the_connection() {
    let app = TestApp::start().await;
    let mut wire = Wire::to(&app).await;
    let body = order_body().to_string();
    wire.send(post_head(&app, "Idempotency-Key: K\r\nTransfer-Encoding: chunked\r\n")).await;
    wire.send(format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len())).await;
    let answer = wire.until_closed().await;
    assert!(answer.starts_with("HTTP/1.1 411 ") && answer.contains("\"code\":\"length_required\""), "{answer}");
    assert!(answer.to_lowercase().contains("\r\nconnection: close\r\n"), "{answer}");
    assert_eq!(app.counts().await, (0, 0));
    key_is_unused(&app, "K").await;
}

#[tokio::test]
async fn a_body_with_two_lengths_is_refused_and_its_second_request_never_runs() {
    let app = TestApp::start().await;
    let mut connection = Wire::to(&app).await;
    let smuggled = String::from_utf8(wire::post(&app, "smuggled", order_body().to_string().as_bytes())).unwrap();
    let lines = "Idempotency-Key: K\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n";
    // In one piece: what comes after the server has closed is answered by a reset, which may overtake the answer.
    connection.send(format!("{}0\r\n\r\n{smuggled}", post_head(&app, lines))).await;
    let answer = connection.until_closed().await;
    assert!(answer.starts_with("HTTP/1.1 400 ") || answer.starts_with("HTTP/1.1 411 "), "{answer}");
    assert_eq!(app.counts().await, (0, 0), "{answer}");
}
