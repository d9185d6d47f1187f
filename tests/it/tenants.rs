//! Organisations do not see, disturb or learn of each other; and no secret is ever stored.

mod asking;
mod books;
mod every;
mod filled;
mod isolation;
mod judge;
mod random;
mod slots;

use crate::support::app::{Answer, TestApp, new_org, order_body};
use crate::support::bodies::{with, with_lines};
use serde_json::json;
use std::fmt::Write;

const ORDER: &str = "/v1/orders/{order_id}";

#[tokio::test]
async fn the_same_key_in_two_organisations_is_two_keys() {
    let app = TestApp::start().await;
    let other = app.org(new_org()).await;
    let a = app.post("K", &order_body()).await;
    let b = app.post_as(&other.token, "K", &order_body()).await;
    assert_eq!((a.status, b.status), (201, 201));
    assert_ne!(a.id(), b.id());
    // Another body in one is no mismatch in the other, and each replays its own.
    assert_eq!(app.post_as(&other.token, "K2", &with_lines(1)).await.status, 201);
    assert_eq!(app.post("K2", &order_body()).await.status, 201);
    assert_eq!(app.post("K", &order_body()).await.id(), a.id());
    assert_eq!(app.post_as(&other.token, "K", &order_body()).await.id(), b.id());
}

#[tokio::test]
async fn two_organisations_may_use_one_key_at_once() {
    let app = TestApp::start().await;
    let other = app.org(new_org()).await;
    let body = order_body();
    for round in 0..8 {
        let key = format!("K{round}");
        let (a, b) = tokio::join!(app.post(&key, &body), app.post_as(&other.token, &key, &body));
        assert_eq!((a.status, b.status), (201, 201));
        assert_ne!(a.id(), b.id());
    }
}

#[tokio::test]
async fn an_order_of_another_organisation_is_like_one_that_does_not_exist() {
    let app = TestApp::start().await;
    let other = app.org(new_org()).await;
    let id = app.post("K", &order_body()).await.id();
    let foreign = app.get_as(&other.token, &format!("/v1/orders/{id}"), ORDER).await;
    let missing = app.get_as(&other.token, "/v1/orders/01890000-0000-7000-8000-000000000000", ORDER).await;
    let malformed = app.get_as(&other.token, "/v1/orders/x", ORDER).await;
    let told = |answer: &Answer| {
        let mut problem = answer.json();
        assert!(problem.as_object_mut().unwrap().remove("request_id").is_some());
        (answer.status, problem)
    };
    assert_eq!((foreign.status, foreign.code().as_str()), (404, "not_found"));
    assert_eq!(told(&foreign), told(&missing));
    assert_eq!(told(&foreign), told(&malformed));
    assert_eq!(app.get(&format!("/v1/orders/{id}"), ORDER).await.status, 200);
}

#[tokio::test]
async fn a_list_holds_only_the_own_orders_whatever_the_filter_or_cursor() {
    let app = TestApp::start().await;
    let other = app.org(new_org()).await;
    let reference = with("/order_reference", json!("PO-1"));
    for number in 0..3 {
        app.post(&format!("K{number}"), &order_body()).await;
    }
    app.post("R", &reference).await;
    let cursor = app.get("/v1/orders?limit=1", "/v1/orders").await.json()["next_cursor"].as_str().unwrap().to_owned();
    let filters =
        ["order_reference=PO-1", "customer_reference=cus_42", "status=received", "needs_reconciliation=false"];
    let cursor = format!("cursor={cursor}");
    for query in filters.into_iter().chain([cursor.as_str(), ""]) {
        let page = app.get_as(&other.token, &format!("/v1/orders?{query}"), "/v1/orders").await;
        assert_eq!((page.status, &page.json()["data"]), (200, &json!([])), "{query}");
    }
    let mine = app.post_as(&other.token, "K", &order_body()).await.id();
    let page = app.get_as(&other.token, "/v1/orders", "/v1/orders").await.json();
    let ids: Vec<_> = page["data"].as_array().unwrap().iter().map(|order| order["id"].clone()).collect();
    assert_eq!(ids, [json!(mine)]);
}

#[tokio::test]
async fn a_key_of_another_organisation_is_not_found() {
    let app = TestApp::start().await;
    let other = app.org(new_org()).await;
    app.post("K", &order_body()).await;
    let route = "/v1/idempotency-keys/{idempotency_key}";
    assert_eq!(app.get_as(&other.token, "/v1/idempotency-keys/K", route).await.status, 404);
    assert_eq!(app.get("/v1/idempotency-keys/K", route).await.status, 200);
}

#[tokio::test]
async fn an_order_reference_is_unique_in_its_organisation_only() {
    let app = TestApp::start().await;
    let other = app.org(new_org()).await;
    let body = with("/order_reference", json!("PO-1"));
    let a = app.post("K1", &body).await;
    let b = app.post_as(&other.token, "K2", &body).await;
    assert_eq!((a.status, b.status), (201, 201));
    let taken = app.post_as(&other.token, "K3", &body).await.json();
    assert_eq!((&taken["code"], &taken["order_id"]), (&json!("order_reference_taken"), &json!(b.id())));
}

#[tokio::test]
async fn a_request_with_a_bad_token_leaves_the_key_to_the_next_with_a_good_one() {
    let app = TestApp::start().await;
    assert_eq!(app.post_as("ich_test_x", "K", &order_body()).await.status, 401);
    assert_eq!(app.post("K", &order_body()).await.status, 201);
}

#[tokio::test]
async fn no_stored_row_holds_a_secret() {
    let app = TestApp::start().await;
    assert_eq!(app.post("K", &order_body()).await.status, 201);
    let secret = app.org.token.rsplit('_').next().unwrap();
    let client = app.sql().await;
    let tables = client
        .query("SELECT relname::text FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace", &[])
        .await
        .unwrap();
    let mut rows = Vec::new();
    for table in &tables {
        let name: String = table.get(0);
        let sql = format!("SELECT t::text FROM {name} AS t");
        rows.extend(client.query(&sql, &[]).await.unwrap().iter().map(|row| row.get::<_, String>(0)));
    }
    let answer =
        client.query_one("SELECT response_body, response_headers::text FROM idempotency_keys", &[]).await.unwrap();
    rows.push(String::from_utf8(answer.get::<_, Vec<u8>>(0)).unwrap());
    rows.push(answer.get(1));
    assert!(rows.iter().any(|row| row.contains("cus_42")), "the dump shows what is stored");
    // What bytea looks like as text.
    let mut hex = String::new();
    for byte in secret.bytes() {
        write!(hex, "{byte:02x}").unwrap();
    }
    for row in &rows {
        assert!(!row.contains(secret) && !row.to_lowercase().contains("bearer"), "{row}");
        assert!(!row.contains(&hex), "{row}");
    }
}
