//! `GET /v1/orders`: order, pages, filters, and a strict query.

use crate::support::app::{Answer, TestApp, order_body};
use crate::support::bodies::with;
use reqwest::Method;
use serde_json::{Value, json};

const ROUTE: &str = "/v1/orders";

async fn list(app: &TestApp, query: &str) -> Answer {
    app.get(&format!("/v1/orders?{query}"), ROUTE).await
}

fn ids(page: &Answer) -> Vec<String> {
    assert_eq!(page.status, 200, "{}", page.json());
    page.json()["data"].as_array().unwrap().iter().map(|order| order["id"].as_str().unwrap().to_owned()).collect()
}

/// So many orders, the newest first.
async fn made(app: &TestApp, count: usize) -> Vec<String> {
    let mut made = Vec::new();
    for number in 0..count {
        made.push(app.post(&format!("K{number}"), &order_body()).await.id());
    }
    made.reverse();
    made
}

/// All pages from the one that `query` gives, by `next_cursor`; `between` runs before each further page.
async fn walk(app: &TestApp, query: &str, mut between: impl AsyncFnMut()) -> Vec<String> {
    let mut page = list(app, query).await;
    let mut all = ids(&page);
    while let Some(cursor) = page.json()["next_cursor"].as_str() {
        between().await;
        page = list(app, &format!("{query}&cursor={cursor}")).await;
        assert_ne!(ids(&page), [""; 0], "a next page is never empty");
        all.extend(ids(&page));
    }
    all
}

#[tokio::test]
async fn an_empty_list_is_no_error() {
    let app = TestApp::start().await;
    let page = list(&app, "").await;
    assert_eq!(page.json(), json!({ "data": [], "next_cursor": null }));
    assert_eq!(page.header("link"), None);
}

#[tokio::test]
async fn the_newest_order_comes_first_and_each_is_the_whole_order() {
    let app = TestApp::start().await;
    let made = made(&app, 5).await;
    let page = list(&app, "").await;
    assert_eq!(ids(&page), made);
    assert_eq!((&page.json()["next_cursor"], page.header("link")), (&json!(null), None));
    let one = app.get(&format!("/v1/orders/{}", made[2]), "/v1/orders/{order_id}").await.json();
    assert_eq!(page.json()["data"][2], one);
}

#[tokio::test]
async fn a_page_holds_twenty_orders_or_as_many_as_asked_for_up_to_a_hundred() {
    let app = TestApp::start().await;
    app.post("K", &order_body()).await;
    let copy = "INSERT INTO orders SELECT org_id, gen_random_uuid(), NULL, customer_reference, currency, amount, \
                amount_refunded, status, needs_reconciliation, version, request, created_at, updated_at \
                FROM orders, generate_series(1, 100)";
    assert_eq!(app.sql().await.execute(copy, &[]).await.unwrap(), 100);
    for (query, count) in [("", 20), ("limit=1", 1), ("limit=20", 20), ("limit=99", 99), ("limit=100", 100)] {
        assert_eq!(ids(&list(&app, query).await).len(), count, "{query}");
    }
}

#[tokio::test]
async fn pages_of_any_size_walk_every_order_once() {
    let app = TestApp::start().await;
    let made = made(&app, 7).await;
    for limit in 1..=8 {
        assert_eq!(walk(&app, &format!("limit={limit}"), async || {}).await, made, "limit {limit}");
    }
}

#[tokio::test]
async fn the_last_page_has_no_next_even_when_it_is_full() {
    let app = TestApp::start().await;
    made(&app, 4).await;
    let first = list(&app, "limit=2").await;
    let cursor = first.json()["next_cursor"].as_str().unwrap().to_owned();
    let last = list(&app, &format!("limit=2&cursor={cursor}")).await;
    assert_eq!((ids(&last).len(), &last.json()["next_cursor"], last.header("link")), (2, &json!(null), None));
}

#[tokio::test]
async fn orders_that_arrive_while_paging_neither_repeat_nor_hide_others() {
    let app = TestApp::start().await;
    let made = made(&app, 6).await;
    let mut number = 0;
    let walked = walk(&app, "limit=2", async || {
        number += 1;
        assert_eq!(app.post(&format!("new-{number}"), &order_body()).await.status, 201);
    })
    .await;
    assert_eq!((walked, number), (made, 2));
}

#[tokio::test]
async fn the_link_header_leads_to_the_next_page_with_the_same_filters() {
    let app = TestApp::start().await;
    for number in 0..3 {
        app.post(&format!("K{number}"), &with("/customer/reference", json!("a&b c/é=+%"))).await;
        app.post(&format!("L{number}"), &order_body()).await;
    }
    let first = list(&app, "limit=2&status=received&customer_reference=a%26b+c/%C3%A9%3D%2B%25").await;
    let link = first.header("link").unwrap();
    let target = link.strip_prefix('<').unwrap().strip_suffix(">; rel=\"next\"").unwrap();
    assert!(target.contains(first.json()["next_cursor"].as_str().unwrap()), "{target}");
    let next = app.get(target, ROUTE).await;
    assert_eq!(ids(&next).len(), 1);
    assert_eq!(next.json()["data"][0]["customer"]["reference"], "a&b c/é=+%");
    assert!(!ids(&first).contains(&ids(&next)[0]));
}

/// Eight orders that differ in everything that can be filtered by: bit 0 the customer, bit 1 the status, bit 2 whether
/// they wait for a person.
async fn eight(app: &TestApp) -> Vec<(usize, String)> {
    let client = app.sql().await;
    let mut all = Vec::new();
    for bits in 0..8_usize {
        let mut body = with("/order_reference", json!(format!("PO-{bits}")));
        body["customer"]["reference"] = json!(["alice", "bob"][bits & 1]);
        let id = app.post(&format!("K{bits}"), &body).await.id();
        let sql = "UPDATE orders SET status = $2, needs_reconciliation = $3 WHERE order_reference = $1";
        let (reference, status) = (format!("PO-{bits}"), ["received", "confirmed"][bits >> 1 & 1]);
        assert_eq!(client.execute(sql, &[&reference, &status, &(bits & 4 != 0)]).await.unwrap(), 1);
        all.insert(0, (bits, id));
    }
    all
}

#[tokio::test]
async fn every_combination_of_filters_finds_exactly_what_fits() {
    let app = TestApp::start().await;
    let all = eight(&app).await;
    let choices = |bit: usize, name: &str, values: [&str; 2]| {
        let given = [0, 1].map(|value| (format!("&{name}={}", values[value]), Some((bit, value))));
        [vec![(String::new(), None)], given.into()].concat()
    };
    for (customer, a) in choices(0, "customer_reference", ["alice", "bob"]) {
        for (status, b) in choices(1, "status", ["received", "confirmed"]) {
            for (reconcile, c) in choices(2, "needs_reconciliation", ["false", "true"]) {
                let fits = |bits: usize| [a, b, c].into_iter().flatten().all(|(bit, value)| bits >> bit & 1 == value);
                let expected: Vec<_> = all.iter().filter(|(bits, _)| fits(*bits)).map(|(_, id)| id.clone()).collect();
                let query = format!("limit=3{customer}{status}{reconcile}");
                assert_eq!(walk(&app, &query, async || {}).await, expected, "{query}");
                let query = format!("{query}&order_reference=PO-5");
                let one: Vec<_> =
                    all.iter().filter(|(bits, _)| *bits == 5 && fits(5)).map(|(_, id)| id.clone()).collect();
                assert_eq!(walk(&app, &query, async || {}).await, one, "{query}");
            }
        }
    }
}

#[tokio::test]
async fn a_filter_is_exact() {
    let app = TestApp::start().await;
    app.post("K", &with("/order_reference", json!("PO_1%"))).await;
    assert_eq!(ids(&list(&app, "order_reference=PO_1%25").await).len(), 1);
    for none in [
        "order_reference=PO_1",
        "order_reference=po_1%25",
        "order_reference=%25",
        "order_reference=PO.1%25",
        "customer_reference=cus",
        "customer_reference=CUS_42",
        "customer_reference=cus_42%20",
        "status=cancelled",
    ] {
        assert_eq!(ids(&list(&app, none).await), [""; 0], "{none}");
    }
}

#[tokio::test]
async fn a_bad_parameter_is_refused_by_name() {
    let app = TestApp::start().await;
    let long = |name: &str, length: usize| format!("{name}={}", "x".repeat(length));
    let (reference, customer) = (long("order_reference", 65), long("customer_reference", 256));
    for (query, name) in [
        ("limit=0", "limit"),
        ("limit=101", "limit"),
        ("limit=-1", "limit"),
        ("limit=1.0", "limit"),
        ("limit=", "limit"),
        ("limit", "limit"),
        ("limit=999999999999", "limit"),
        ("limit=1&limit=2", "limit"),
        ("cursor=", "cursor"),
        ("cursor=abc", "cursor"),
        ("cursor=o1_00000000000000000000000000000000x", "cursor"),
        ("status=Received", "status"),
        ("status=received,confirmed", "status"),
        ("needs_reconciliation=1", "needs_reconciliation"),
        ("needs_reconciliation=TRUE", "needs_reconciliation"),
        ("order_reference=", "order_reference"),
        ("order_reference=%00", "order_reference"),
        ("customer_reference=%FF", "customer_reference"),
        (&reference, "order_reference"),
        (&customer, "customer_reference"),
    ] {
        let answer = list(&app, query).await;
        let problem = answer.json();
        assert_eq!((answer.status, &problem["code"]), (400, &json!("invalid_request")), "{query}");
        assert_eq!(problem["errors"][0]["parameter"], json!(name), "{query}");
    }
    let wide = long("order_reference", 64).replace('x', "%F0%9F%8D%B5");
    assert_eq!(list(&app, &wide).await.json()["data"], Value::Array(Vec::new()));
}

#[tokio::test]
async fn an_unknown_parameter_is_refused() {
    let app = TestApp::start().await;
    for query in ["x=1", "Limit=1", "customer=a", "limit=1&offset=2", "tell_nobody=1"] {
        let answer = list(&app, query).await;
        assert_eq!((answer.status, answer.code().as_str()), (400, "invalid_request"), "{query}");
        assert!(!String::from_utf8(answer.body).unwrap().contains("tell_nobody"));
    }
}

#[tokio::test]
async fn head_on_the_list_has_no_body() {
    let app = TestApp::start().await;
    let head = app.send(app.request(Method::HEAD, "/v1/orders").bearer_auth(&app.org.token), ROUTE).await;
    assert_eq!((head.status, head.body.len()), (200, 0));
}
