//! `GET /v1/receipts` and `GET /v1/events`: pages, filters, tenants.

use crate::inbox::endpoint::{Endpoint, event, intent, refund, settled};
use crate::support::app::{TestApp, new_org, order_body};
use serde_json::{Value, json};

async fn page(app: &TestApp, list: &str, query: &str) -> Value {
    app.get(&format!("/v1/{list}?{query}"), &format!("/v1/{list}")).await.json()
}

#[tokio::test]
async fn pages_are_complete_and_newest_first() {
    let app = TestApp::start().await;
    let endpoint = Endpoint::of(&app).await;
    for n in 0..7 {
        endpoint.tell(&app, &event("refund.created", &refund(&format!("re_{n}"), "pi_1", 1, "succeeded"))).await;
    }
    for (list, key) in [("receipts", "arrival"), ("events", "fact_key")] {
        let (mut seen, mut query) = (Vec::new(), "limit=3".to_owned());
        loop {
            let page = page(&app, list, &query).await;
            seen.extend(page["data"].as_array().unwrap().iter().map(|entry| entry[key].clone()));
            match page["next_cursor"].as_str() {
                Some(cursor) => query = format!("limit=3&cursor={cursor}"),
                None => break,
            }
        }
        assert_eq!(seen.len(), 7, "{list}");
        let numbers: Vec<_> = seen.iter().map(ToString::to_string).collect();
        assert!(numbers.is_sorted_by(|newer, older| newer > older), "{numbers:?}");
    }
    let linked = app.get("/v1/events?limit=3&what=refund", "/v1/events").await;
    assert!(linked.header("link").unwrap().contains("what=refund"), "{linked:?}");
}

#[tokio::test]
async fn filters_are_exact_and_combine() {
    let app = TestApp::start().await;
    let (one, two) = (Endpoint::of(&app).await, Endpoint::of(&app).await);
    let id = app.post("k", &order_body()).await.id();
    let paid = event("payment_intent.succeeded", &intent("pi_1", &id, 2400));
    one.tell_and_apply(&app, &paid).await;
    two.tell_and_apply(&app, &paid).await;
    two.tell(&app, &event("invoice.paid", &json!({ "id": "in_1" }))).await;
    one.deliver(&app, b"{}", None).await;
    settled(&app).await;
    let notification = paid["id"].as_str().unwrap();
    for (query, expected) in [
        (String::new(), 4),
        (format!("order_id={id}"), 2),
        (format!("order_id={id}&classification=new"), 1),
        (format!("order_id={id}&notification_id={notification}&endpoint_id={}", two.id), 1),
        (format!("notification_id={notification}"), 2),
        ("notification_id=evt_other".to_owned(), 0),
        ("signature=no_header".to_owned(), 1),
        ("classification=ignored&type=invoice.paid".to_owned(), 1),
        (format!("endpoint_id={}", one.id), 2),
    ] {
        let found = page(&app, "receipts", &query).await["data"].as_array().unwrap().len();
        assert_eq!(found, expected, "{query}");
    }
    for (query, expected) in [
        (format!("order_id={id}"), 1),
        (format!("order_id={id}&outcome=stale"), 0),
        ("fact_key=pi:pi_1:succeeded&outcome=applied&what=succeeded".to_owned(), 1),
        ("what=refund".to_owned(), 0),
    ] {
        assert_eq!(page(&app, "events", &query).await["data"].as_array().unwrap().len(), expected, "{query}");
    }
    let known = page(&app, "events", "").await["data"][0].clone();
    assert_eq!((&known["notification_ids"], &known["amount"]), (&json!([notification]), &json!(2400)));
    for query in ["x=1", "limit=0", "cursor=x", "order_id=x"] {
        for list in ["receipts", "events"] {
            let answer = app.get(&format!("/v1/{list}?{query}"), &format!("/v1/{list}")).await;
            assert_eq!(answer.code(), "invalid_request", "{list} {query}");
        }
    }
}

#[tokio::test]
async fn receipts_of_another_organisation_do_not_exist() {
    let app = TestApp::start().await;
    let other = app.org(new_org()).await;
    let endpoint = Endpoint::of(&app).await;
    let id = endpoint.signed(&app, b"{}").await.json()["receipt_id"].as_str().unwrap().to_owned();
    for (token, status) in [(&app.org.token, 200), (&other.token, 404)] {
        let answer = app.get_as(token, &format!("/v1/receipts/{id}"), "/v1/receipts/{receipt_id}").await;
        assert_eq!(answer.status, status);
    }
}
