//! `GET /v1/idempotency-keys/{key}`: what became of a request whose answer was lost.

use crate::support::app::{Answer, TestApp, new_org, order_body};
use crate::support::held::unfinish;
use crate::support::wire::Wire;
use ichido::db::orgs::NewOrg;
use serde_json::json;

const ROUTE: &str = "/v1/idempotency-keys/{idempotency_key}";

/// Asks for what is in the path as it stands.
async fn look_up(app: &TestApp, encoded: &str) -> Answer {
    app.get(&format!("/v1/idempotency-keys/{encoded}"), ROUTE).await
}

#[tokio::test]
async fn a_lost_answer_can_be_looked_up_and_nothing_is_executed() {
    let app = TestApp::start().await;
    assert_eq!(look_up(&app, "K").await.status, 404);
    assert_eq!(app.counts().await, (0, 0));
    let order = app.post("K", &order_body()).await;
    let found = look_up(&app, "K").await;
    let record = found.json();
    assert_eq!((found.status, &record["object"]), (200, &json!("idempotency_key")));
    assert_eq!((&record["idempotency_key"], &record["state"]), (&json!("K"), &json!("completed")));
    assert_eq!((&record["order_id"], &record["response_status"]), (&json!(order.id()), &json!(201)));
    assert_eq!((&record["expires_at"], &record["lease_until"]), (&json!(null), &json!(null)));
    assert_eq!((&record["attempts"], &record["completed_at"]), (&json!(1), &record["created_at"]));
    assert_eq!(app.counts().await, (1, 1));
    assert_eq!(app.post("K", &order_body()).await.body, order.body);
}

#[tokio::test]
async fn the_look_up_tells_when_the_key_expires() {
    let app = TestApp::start().await;
    let org = app.org(NewOrg { keys_kept_for_seconds: Some(86_400), ..new_org() }).await;
    let made = app.post_as(&org.token, "K", &order_body()).await;
    let found = app.get_as(&org.token, "/v1/idempotency-keys/K", ROUTE).await;
    assert_eq!(found.json()["expires_at"].as_str(), made.header("idempotency-expires"));
}

#[tokio::test]
async fn a_key_whose_work_is_still_running_says_so() {
    let app = TestApp::start().await;
    let order = app.post("K", &order_body()).await;
    unfinish(&app, "K").await;
    let record = look_up(&app, "K").await.json();
    assert_eq!((&record["state"], &record["order_id"]), (&json!("in_progress"), &json!(order.id())));
    assert_eq!((&record["response_status"], &record["completed_at"]), (&json!(null), &json!(null)));
}

#[tokio::test]
async fn odd_keys_are_found_when_they_are_percent_encoded() {
    let app = TestApp::start().await;
    for (key, encoded) in [
        ("a/b", "a%2Fb"),
        ("a/b/", "a%2fb%2F"),
        ("a%b", "a%25b"),
        ("a%2Fb", "a%252Fb"),
        ("a\"b", "a%22b"),
        ("a?b", "a%3Fb"),
        ("a#b", "a%23b"),
        ("a+b", "a+b"),
        ("a+b%20", "a%2Bb%2520"),
        ("a\\b", "a%5Cb"),
        ("a;b=c&d", "a;b=c&d"),
        ("{key}", "%7Bkey%7D"),
        ("~!$'()*,:@", "~!$'()*,:@"),
    ] {
        let order = app.post(key, &order_body()).await;
        let found = look_up(&app, encoded).await;
        assert_eq!(found.status, 200, "{key}: {}", found.json());
        assert_eq!((&found.json()["idempotency_key"], &found.json()["order_id"]), (&json!(key), &json!(order.id())));
    }
}

#[tokio::test]
async fn a_key_that_begins_with_a_quote_is_found_by_its_echo() {
    let app = TestApp::start().await;
    let order = app.post(r#""\"abc""#, &order_body()).await;
    let found = look_up(&app, "%22%5C%22abc%22").await;
    assert_eq!((found.status, &found.json()["order_id"]), (200, &json!(order.id())));
    assert_eq!(found.json()["idempotency_key"], "\"abc");
}

#[tokio::test]
async fn the_string_form_finds_the_same_key() {
    let app = TestApp::start().await;
    let order = app.post("abc", &order_body()).await;
    assert_eq!(look_up(&app, "%22abc%22").await.json()["order_id"], json!(order.id()));
    assert_eq!(look_up(&app, "ABC").await.status, 404);
}

#[tokio::test]
async fn what_is_no_key_is_400_and_a_query_is_not_part_of_it() {
    let app = TestApp::start().await;
    assert_eq!(app.post("abc", &order_body()).await.status, 201);
    let too_long = "k".repeat(256);
    for bad in ["a%20b", "a%00b", "%C3%A9", "a%0Ab", "%22abc", "%FF", too_long.as_str()] {
        let answer = look_up(&app, bad).await;
        assert_eq!((answer.status, answer.code().as_str()), (400, "idempotency_key_invalid"), "{bad}");
    }
    assert_eq!(look_up(&app, &"k".repeat(255)).await.status, 404);
    assert_eq!(look_up(&app, "abc?x=1").await.status, 200);
    // An empty key is another path.
    assert_eq!(look_up(&app, "").await.status, 404);
}

#[tokio::test]
async fn keys_that_look_like_path_segments_are_found() {
    let app = TestApp::start().await;
    for (key, encoded) in [(".", "%2E"), ("..", "%2e%2E"), ("..", "..")] {
        let id = app.post(key, &order_body()).await.id();
        // By hand: a client library would fold the dots away.
        let mut wire = Wire::to(&app).await;
        let token = &app.org.token;
        let target = format!("/v1/idempotency-keys/{encoded}");
        wire.send(format!("GET {target} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n")).await;
        let answer = wire.until("}").await;
        assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains(&id), "{encoded}: {answer}");
    }
}
