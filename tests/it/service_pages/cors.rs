//! What a page of another origin may do: nothing, unless the operator names its origin.

use crate::support::app::{TestApp, order_body};
use crate::support::postgres;
use reqwest::header::{HeaderMap, HeaderName};
use reqwest::{Method, Response};

const SHOP: &str = "https://shop.example";

async fn preflight(app: &TestApp, path: &str, origin: &str, headers: &str) -> Response {
    let request = app.request(Method::OPTIONS, path).header("Origin", origin);
    let request = request.header("Access-Control-Request-Method", "POST");
    request.header("Access-Control-Request-Headers", headers).send().await.unwrap()
}

async fn with_origins(origins: &[&str]) -> TestApp {
    let origins = origins.iter().map(|origin| (*origin).to_owned()).collect();
    TestApp::start_on(postgres::database().await, 2, origins).await
}

/// The names in a header that lists some, in lower case.
fn names(headers: &HeaderMap, header: &str) -> Vec<String> {
    let text = headers.get(header).map(|value| value.to_str().unwrap().to_lowercase()).unwrap_or_default();
    text.split(',').map(|name| name.trim().to_owned()).collect()
}

fn cors_headers(headers: &HeaderMap) -> Vec<&str> {
    headers.keys().map(HeaderName::as_str).filter(|name| name.starts_with("access-control-")).collect()
}

#[tokio::test]
async fn without_origins_a_preflight_is_a_method_that_is_not_there() {
    let app = with_origins(&[]).await;
    for path in ["/v1/orders", "/healthz"] {
        let answer = preflight(&app, path, SHOP, "idempotency-key").await;
        assert_eq!((answer.status().as_u16(), cors_headers(answer.headers())), (405, vec![]), "{path}");
        assert!(answer.headers().contains_key("allow") && answer.headers().contains_key("request-id"));
    }
    let answer = app.send(app.request(Method::GET, "/healthz").header("Origin", SHOP), "/healthz").await;
    assert_eq!((answer.status, cors_headers(&answer.headers)), (200, vec![]));
    assert_eq!(app.counts().await, (0, 0));
}

#[tokio::test]
async fn a_named_origin_may_send_a_key_and_read_what_the_contract_tells() {
    let app = with_origins(&["https://other.example", SHOP]).await;
    let asked = "authorization,content-type,idempotency-key,if-none-match";
    let answer = preflight(&app, "/v1/orders", SHOP, asked).await;
    assert_eq!(answer.status(), 200);
    let headers = answer.headers();
    assert_eq!(headers["access-control-allow-origin"], SHOP);
    let allowed = names(headers, "access-control-allow-headers");
    assert!(asked.split(',').all(|name| allowed.contains(&name.to_owned())), "{allowed:?}");
    let mut methods = names(headers, "access-control-allow-methods");
    methods.sort();
    assert_eq!(methods, ["get", "head", "post"]);
    assert!(!headers.contains_key("access-control-allow-credentials") && headers.contains_key("request-id"));
    assert_eq!(app.counts().await, (0, 0));

    let send = || app.request(Method::POST, "/v1/orders").bearer_auth(&app.org.token).header("Origin", SHOP);
    let send = || send().header("Idempotency-Key", "K").header("Content-Type", "application/json");
    let made = app.send(send().body(order_body().to_string()), "/v1/orders").await;
    assert_eq!((made.status, made.header("access-control-allow-origin")), (201, Some(SHOP)));
    let exposed = names(&made.headers, "access-control-expose-headers");
    for name in ["Idempotent-Replayed", "Retry-After", "Location", "ETag", "Request-Id", "Link", "Idempotency-Expires"]
    {
        assert!(exposed.contains(&name.to_lowercase()), "{name}: {exposed:?}");
    }
    assert!(names(&made.headers, "vary").contains(&"origin".to_owned()));
    // A page can read its refusals too.
    let refused = app.send(send().body("{}"), "/v1/orders").await;
    assert_eq!((refused.status, refused.header("access-control-allow-origin")), (400, Some(SHOP)));
}

#[tokio::test]
async fn every_other_origin_gets_nothing() {
    let app = with_origins(&[SHOP]).await;
    for origin in ["https://shop.example.evil.example", "http://shop.example", "https://shop.example:444", "null"] {
        let answer = preflight(&app, "/v1/orders", origin, "idempotency-key").await;
        assert!(answer.status().is_client_error(), "{origin}: {}", answer.status());
        assert!(!answer.headers().contains_key("access-control-allow-origin"), "{origin}");
        let answer = app.send(app.request(Method::GET, "/healthz").header("Origin", origin), "/healthz").await;
        assert_eq!((answer.status, answer.header("access-control-allow-origin")), (200, None), "{origin}");
    }
    let unknown = preflight(&app, "/v1/orders", SHOP, "x-other").await;
    assert!(unknown.status().is_client_error() && unknown.headers().contains_key("request-id"));
    assert_eq!(app.counts().await, (0, 0));
}
