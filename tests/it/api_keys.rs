//! Who may do what.

use crate::support::app::{Answer, TestApp, new_org, order_body};
use crate::support::contract::OPENAPI;
use ichido::app::App;
use ichido::app::authenticate::authenticate;
use ichido::app::create_key::create_key;
use ichido::app::key_cache::{BELIEVED_FOR, write_last_used};
use ichido::clock::Clock;
use ichido::db::deadline::Deadline;
use ichido::db::orgs::NewOrg;
use ichido::domain::api_key::ApiKey;
use ichido::domain::org::Mode;
use ichido::domain::scope::Scope;
use reqwest::Method;
use serde_json::{Value, json};
use std::time::Duration;
use time::OffsetDateTime;

fn scopes() -> Vec<Scope> {
    Scope::ALL.iter().filter_map(|scope| Scope::parse(scope)).collect()
}

/// Each operation of the contract that needs a key: method, path template and scope.
fn guarded() -> Vec<(Method, String, Scope)> {
    let mut guarded = Vec::new();
    for (path, operations) in OPENAPI["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            if operation["security"] != json!([]) {
                let scope = Scope::parse(operation["x-required-scope"].as_str().unwrap()).unwrap();
                guarded.push((method.to_uppercase().parse().unwrap(), path.clone(), scope));
            }
        }
    }
    guarded
}

/// One valid request to an operation.
async fn call(app: &TestApp, method: &Method, route: &str, authorization: &[&str]) -> Answer {
    let path = route.replace("{order_id}", "01890000-0000-7000-8000-000000000000").replace("{idempotency_key}", "none");
    let path = path.replace("{case_id}", "01890000-0000-7000-8000-000000000000");
    let path = path.replace("{receipt_id}", "01890000-0000-7000-8000-000000000000");
    let mut request = app.request(method.clone(), &path);
    for line in authorization {
        request = request.header("Authorization", *line);
    }
    if *method == Method::POST {
        request = request.header("Idempotency-Key", uuid::Uuid::now_v7().to_string());
        request = request.header("Content-Type", "application/json").body(order_body().to_string());
    }
    app.send(request, route).await
}

#[tokio::test]
async fn every_operation_needs_exactly_its_scope() {
    let app = TestApp::start().await;
    let guarded = guarded();
    assert_eq!(guarded.len(), 14, "{guarded:?}");
    for (method, route, needed) in guarded {
        let without: Vec<_> = scopes().into_iter().filter(|scope| *scope != needed).collect();
        let without = format!("Bearer {}", app.token(app.org.id, &without).await);
        let refused = call(&app, &method, &route, &[&without]).await;
        assert_eq!((refused.status, refused.code().as_str()), (403, "scope_missing"), "{method} {route}");
        assert!(refused.json()["detail"].as_str().unwrap().contains(needed.as_str()));
        let with = format!("Bearer {}", app.token(app.org.id, &[needed]).await);
        let allowed = call(&app, &method, &route, &[&with]).await;
        // An order's body is none for the other commands.
        assert!(matches!(allowed.status, 200 | 201 | 400 | 404), "{method} {route} {}", allowed.status);
    }
}

#[tokio::test]
async fn no_scope_contains_another() {
    let app = TestApp::start().await;
    let admin = app.token(app.org.id, &[Scope::Admin]).await;
    assert_eq!(app.post_as(&admin, "K", &order_body()).await.status, 403);
    let writer = app.token(app.org.id, &[Scope::OrdersWrite]).await;
    assert_eq!(app.get_as(&writer, "/v1/orders", "/v1/orders").await.status, 403);
    assert_eq!(app.post_as(&writer, "K", &order_body()).await.status, 201);
}

#[tokio::test]
async fn every_operation_is_401_without_a_key() {
    let app = TestApp::start().await;
    for (method, route, _) in guarded() {
        let refused = call(&app, &method, &route, &[]).await;
        assert_eq!((refused.status, refused.code().as_str()), (401, "unauthenticated"), "{method} {route}");
        assert_eq!(refused.header("www-authenticate"), Some("Bearer"));
    }
    assert_eq!(app.counts().await, (0, 0));
}

/// The same token for the other mode.
fn other_mode(token: &str) -> String {
    let other = if token.starts_with("ich_test_") { "ich_live_" } else { "ich_test_" };
    format!("{other}{}", &token["ich_test_".len()..])
}

/// A secret nobody was given, well formed, for a key that exists.
fn wrong_secret(token: &str) -> String {
    ApiKey::assemble(Mode::Test, ApiKey::parse(token).unwrap().key_id(), &"a".repeat(43)).token()
}

#[tokio::test]
async fn whatever_is_wrong_with_a_token_the_answer_is_the_same() {
    let app = TestApp::start().await;
    let token = app.org.token.as_str();
    let past = Clock::System.now() - Duration::from_secs(1);
    let expired =
        create_key(&app.app, app.org.id, &scopes(), Some(past), Deadline::of_request()).await.unwrap().token();
    let revoked = app.token(app.org.id, &scopes()).await;
    revoke(&app, &revoked).await;
    let nobody = ApiKey::assemble(Mode::Test, &"a".repeat(16), &"b".repeat(43)).token();
    let (last, mistyped) = (token.chars().last().unwrap(), &token[..token.len() - 1]);
    let mistyped = format!("{mistyped}{}", if last == 'x' { 'y' } else { 'x' });
    let bearer = |token: &str| vec![format!("Bearer {token}")];
    let table = [
        Vec::new(),
        bearer(&wrong_secret(token)),
        bearer(&mistyped),
        bearer(&expired),
        bearer(&revoked),
        bearer(&nobody),
        bearer(&other_mode(token)),
        bearer(&token[..token.len() - 1]),
        bearer(&format!("{token}x")),
        bearer(""),
        bearer("x"),
        bearer(&token.to_uppercase()),
        vec![format!("Basic {token}")],
        vec![token.to_owned()],
        vec![format!("Bearer {token}"), format!("Bearer {token}")],
    ];
    let mut seen: Vec<Value> = Vec::new();
    for lines in &table {
        let lines: Vec<_> = lines.iter().map(String::as_str).collect();
        let answer = call(&app, &Method::POST, "/v1/orders", &lines).await;
        let mut headers: Vec<_> = answer.headers.keys().map(reqwest::header::HeaderName::as_str).collect();
        // Whether the body was still on its way decides about the connection, not the token.
        headers.retain(|name| *name != "connection");
        headers.sort_unstable();
        let mut problem = answer.json();
        problem.as_object_mut().unwrap().remove("request_id");
        problem["headers"] = json!(headers);
        assert_eq!(answer.status, 401, "{lines:?}");
        seen.push(problem);
    }
    assert!(seen.iter().all(|each| *each == seen[0]), "{seen:?}");
    assert_eq!(app.counts().await, (0, 0));
    for good in [format!("Bearer {token}"), format!("bearer {token}"), format!("BEARER  {token}")] {
        assert_eq!(call(&app, &Method::GET, "/v1/orders", &[&good]).await.status, 200);
    }
}

#[tokio::test]
async fn the_mode_in_a_token_is_that_of_its_organisation() {
    let app = TestApp::start().await;
    let live = app.org(NewOrg { mode: Mode::Live, ..new_org() }).await;
    assert!(live.token.starts_with("ich_live_") && app.org.token.starts_with("ich_test_"));
    for token in [&live.token, &app.org.token] {
        assert_eq!(app.post_as(token, "K", &order_body()).await.status, 201);
        assert_eq!(app.post_as(&other_mode(token), "K", &order_body()).await.status, 401);
    }
}

async fn revoke(app: &TestApp, token: &str) {
    let key = ApiKey::parse(token).unwrap();
    let revoked = app.app.db.revoke_api_key(app.org.id, key.key_id(), Deadline::of_request()).await.unwrap();
    assert!(revoked.is_some());
}

#[tokio::test]
async fn a_revoked_key_ends_within_half_a_minute_and_a_new_process_sees_it_at_once() {
    // A key is believed for this long after it was looked up; see its cache.
    assert!(BELIEVED_FOR <= Duration::from_secs(30));
    let app = TestApp::start().await;
    let token = app.token(app.org.id, &scopes()).await;
    assert_eq!(app.post_as(&token, "K", &order_body()).await.status, 201);
    revoke(&app, &token).await;
    let other = TestApp::start_on(app.url.clone(), 4, Vec::new()).await;
    assert_eq!(other.post_as(&token, "K", &order_body()).await.status, 401, "not even a replay");
    assert_eq!(other.post_as(&app.org.token, "K", &order_body()).await.status, 200);
}

#[tokio::test]
async fn a_key_ends_at_its_time() {
    let app = TestApp::start().await;
    let at = |offset: Duration| Some(Clock::System.now() + offset);
    let make = async |expires_at| {
        create_key(&app.app, app.org.id, &scopes(), expires_at, Deadline::of_request()).await.unwrap().token()
    };
    let (later, ended) = (make(at(Duration::from_hours(1))).await, make(at(Duration::ZERO)).await);
    assert_eq!(app.post_as(&later, "K", &order_body()).await.status, 201);
    assert_eq!(app.post_as(&ended, "K", &order_body()).await.status, 401);
}

async fn last_used(app: &TestApp) -> Option<OffsetDateTime> {
    let key = ApiKey::parse(&app.org.token).unwrap();
    let sql = "SELECT last_used_at FROM api_keys WHERE key_id = $1";
    app.sql().await.query_one(sql, &[&key.key_id()]).await.unwrap().get(0)
}

#[tokio::test]
async fn the_last_use_of_a_key_is_written_in_the_background() {
    let app = TestApp::start().await;
    let before = Clock::System.now().replace_nanosecond(0).unwrap();
    assert_eq!(app.post("K", &order_body()).await.status, 201);
    assert_eq!(last_used(&app).await, None, "a request does not write it itself");
    write_last_used(&app.app).await;
    assert!(last_used(&app).await.unwrap() >= before);
}

#[tokio::test]
async fn the_last_use_of_a_key_is_written_at_most_once_a_minute() {
    let app = TestApp::start().await;
    let start = OffsetDateTime::from_unix_timestamp(1_800_000_000).unwrap();
    for (seconds, written) in [(0, 0), (1, 0), (59, 0), (60, 60), (119, 60), (130, 130)] {
        let then = start + Duration::from_secs(seconds);
        let mut clocked: App = app.app.clone();
        clocked.clock = Clock::Fixed(then);
        authenticate(&clocked, &app.org.token, Deadline::of_request()).await.unwrap();
        write_last_used(&clocked).await;
        assert_eq!(last_used(&app).await, Some(start + Duration::from_secs(written)), "after {seconds} s");
    }
}

#[tokio::test]
async fn a_refused_token_is_not_a_use_of_its_key() {
    let app = TestApp::start().await;
    assert_eq!(app.post_as(&wrong_secret(&app.org.token), "K", &order_body()).await.status, 401);
    write_last_used(&app.app).await;
    assert_eq!(last_used(&app).await, None);
}
