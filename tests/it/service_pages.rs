//! Health, readiness, metrics, documentation, and what browsers of other origins may do.

mod cors;
mod metrics;

use crate::house_rules::source::root;
use crate::support::app::{Answer, TestApp};
use crate::support::{contract, payments};
use ichido::clock::Clock;
use ichido::http::kinds::KINDS;
use ichido::{http, startup};
use reqwest::Method;
use secrecy::SecretString;
use serde_json::json;
use std::time::{Duration, Instant};
use tokio::net::TcpListener;

/// `GET` without a key, asking for a media type.
async fn get(app: &TestApp, path: &str, route: &str, accept: &str) -> Answer {
    app.send(app.request(Method::GET, path).header("Accept", accept), route).await
}

async fn readiness(app: &TestApp) -> (u16, String) {
    let answer = get(app, "/readyz", "/readyz", "*/*").await;
    (answer.status, answer.json()["status"].as_str().unwrap().to_owned())
}

fn not_ready(status: &str) -> (u16, String) {
    (503, status.to_owned())
}

#[tokio::test]
async fn alive_says_nothing_of_the_database() {
    let app = TestApp::start().await;
    app.app.db.close();
    app.app.drain();
    let answer = get(&app, "/healthz", "/healthz", "*/*").await;
    assert_eq!((answer.status, answer.json()), (200, json!({ "status": "ok" })));
}

#[tokio::test]
async fn ready_until_it_drains() {
    let app = TestApp::start().await;
    assert_eq!(readiness(&app).await, (200, "ready".to_owned()));
    app.app.drain();
    assert_eq!(readiness(&app).await, not_ready("draining"));
    // The requests of clients that have not noticed yet are still answered.
    assert_eq!(app.get("/v1/orders", "/v1/orders").await.status, 200);
}

#[tokio::test]
async fn not_ready_with_a_schema_that_does_not_fit() {
    for change in [
        "DROP TABLE schema_migrations",
        "DELETE FROM schema_migrations WHERE version = (SELECT max(version) FROM schema_migrations)",
        "UPDATE schema_migrations SET sha256 = '\\x00' WHERE version = 1",
    ] {
        let app = TestApp::start().await;
        assert_eq!(readiness(&app).await.0, 200);
        app.sql().await.batch_execute(change).await.unwrap();
        assert_eq!(readiness(&app).await, not_ready("schema_mismatch"), "{change}");
    }
}

#[tokio::test]
async fn ready_while_a_newer_version_has_migrated_already() {
    let app = TestApp::start().await;
    let newer = "INSERT INTO schema_migrations SELECT max(version) + 1, 'newer', '\\x00' FROM schema_migrations";
    app.sql().await.batch_execute(newer).await.unwrap();
    assert_eq!(readiness(&app).await.0, 200);
}

#[tokio::test]
async fn not_ready_without_a_database_and_that_soon() {
    let app = TestApp::start().await;
    app.app.db.close();
    assert_eq!(readiness(&app).await, not_ready("database_unreachable"));
    // Somebody takes the connection and never says a word; and nobody listens at all.
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    for port in [silent.local_addr().unwrap().port(), 1] {
        let url = SecretString::from(format!("postgres://nobody@127.0.0.1:{port}/nothing?sslmode=disable"));
        let app = startup::app(&url, 2, Clock::System, payments::settings()).unwrap();
        let http::server::Started { server, address, .. } =
            http::server::start(app, "127.0.0.1:0".parse().unwrap(), 2, Vec::new()).unwrap();
        let handle = server.handle();
        tokio::spawn(server);
        let started = Instant::now();
        let response = reqwest::get(format!("http://{address}/readyz")).await.unwrap();
        let took = started.elapsed();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let body = response.bytes().await.unwrap();
        contract::check("GET", "/readyz", status, &headers, &body);
        assert_eq!((status, &body[..]), (503, br#"{"status":"database_unreachable"}"#.as_slice()));
        assert!(took < Duration::from_millis(1_500), "{took:?}");
        drop(handle.stop(false));
    }
}

#[tokio::test]
async fn the_contract_is_served_as_it_is_in_the_repository() {
    let app = TestApp::start().await;
    let answer = get(&app, "/openapi.yaml", "/openapi.yaml", "*/*").await;
    assert_eq!(answer.body, std::fs::read(root().join("openapi.yaml")).unwrap());
}

fn assert_page(answer: &Answer) -> String {
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("text/html; charset=utf-8")));
    let policy = answer.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none';") && policy.contains("frame-ancestors 'none'"), "{policy}");
    assert!(!policy.contains("script-src"), "{policy}");
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    let text = String::from_utf8(answer.body.clone()).unwrap();
    assert!(!text.contains("<script"), "a script that the policy forbids");
    text
}

#[tokio::test]
async fn the_documentation_is_a_page_that_names_every_operation() {
    let app = TestApp::start().await;
    for accept in ["text/html", "*/*"] {
        let page = assert_page(&get(&app, "/docs", "/docs", accept).await);
        // What a person reads: paths are allowed to break after a slash.
        let text: String = page.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text)).collect();
        for (_, route) in http::routes() {
            assert!(text.contains(route), "{route} is not on the page");
        }
    }
}

#[tokio::test]
async fn problems_are_json_for_programs_and_pages_for_people() {
    let app = TestApp::start().await;
    let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
    let list = get(&app, "/problems", "/problems", "application/json").await;
    assert_eq!(list.json(), json!({ "data": KINDS }));
    assert_eq!(list.header("vary"), Some("Accept"));
    let page = assert_page(&get(&app, "/problems", "/problems", browser).await);
    for kind in KINDS {
        assert!(page.contains(kind.code) && page.contains(kind.title), "{}", kind.code);
        let path = format!("/problems/{}", kind.code);
        for accept in ["application/json", "*/*"] {
            let one = get(&app, &path, "/problems/{code}", accept).await;
            assert_eq!(one.json(), json!(kind), "{path}");
            assert_eq!(one.header("vary"), Some("Accept"));
        }
        let answer = get(&app, &path, "/problems/{code}", browser).await;
        assert!(assert_page(&answer).contains(kind.title), "{path}");
        assert_eq!(answer.header("vary"), Some("Accept"));
    }
}

#[tokio::test]
async fn the_type_of_a_problem_leads_to_its_page() {
    let app = TestApp::start().await;
    let unknown = get(&app, "/nowhere", "/nowhere", "*/*").await;
    assert_eq!(unknown.status, 404);
    let document = unknown.json();
    let page = get(&app, document["type"].as_str().unwrap(), "/problems/{code}", "*/*").await;
    assert_eq!((page.status, &page.json()["title"]), (200, &document["title"]));
}

#[tokio::test]
async fn a_problem_that_does_not_exist_is_404() {
    let app = TestApp::start().await;
    for code in ["unknown", "NOT_FOUND", "not_found%20", "%00", "not_found/more", "..%2Fhealthz"] {
        for accept in ["application/json", "text/html"] {
            let path = format!("/problems/{code}");
            let answer = get(&app, &path, "/problems/{code}", accept).await;
            assert_eq!((answer.status, answer.code().as_str()), (404, "not_found"), "{path} {accept}");
        }
    }
}
