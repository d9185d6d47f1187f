//! What makes a request the same request, seen through HTTP. The properties of the function itself are in
//! [`crate::fingerprint_properties`].

use crate::support::app::{Answer, TestApp, order_body};
use crate::support::bodies::{set, spelled, with, with_lines, without};
use crate::support::held::set_fingerprint;
use reqwest::Method;
use serde_json::{Value, json};

/// Posts to `/v1/orders` with a query.
async fn post_to(app: &TestApp, target: &str, key: &str) -> Answer {
    let request = app.request(Method::POST, target).bearer_auth(&app.org.token).header("Idempotency-Key", key);
    app.send(request.header("Content-Type", "application/json").body(order_body().to_string()), "/v1/orders").await
}

async fn post_text(app: &TestApp, key: &str, text: impl Into<Vec<u8>>) -> Answer {
    app.post_bytes(&app.org.token, key, text.into()).await
}

/// Expects 422 that names these members.
fn assert_differs(answer: &Answer, pointers: &[&str]) {
    assert_eq!(answer.status, 422, "{}", answer.json());
    assert_eq!(answer.code(), "idempotency_key_reused");
    assert_eq!(answer.json()["differing"], json!(pointers));
}

#[tokio::test]
async fn the_order_of_members_does_not_matter() {
    let app = TestApp::start().await;
    let first = post_text(
        &app,
        "K",
        r#"{"customer":{"reference":"c","email":"a@b"},"currency":"JPY","lines":[{"sku":"S","quantity":1,"unit_amount":2}]}"#,
    )
    .await;
    let second = post_text(
        &app,
        "K",
        r#"{"lines":[{"unit_amount":2,"sku":"S","quantity":1}],"currency":"JPY","customer":{"email":"a@b","reference":"c"}}"#,
    )
    .await;
    assert_eq!((first.status, second.status), (201, 200));
    assert_eq!(first.body, second.body);
}

#[tokio::test]
async fn white_space_does_not_matter() {
    let app = TestApp::start().await;
    let pretty = serde_json::to_vec_pretty(&order_body()).unwrap();
    assert_eq!(post_text(&app, "K", pretty).await.status, 201);
    assert_eq!(post_text(&app, "K", order_body().to_string()).await.status, 200);
    let odd = order_body().to_string().replace("\":", "\" \t:\r\n ");
    let odd = odd.replace(',', " ,\r\n");
    assert_eq!(post_text(&app, "K", odd).await.status, 200);
}

#[tokio::test]
async fn the_spelling_of_a_number_does_not_matter() {
    let app = TestApp::start().await;
    assert_eq!(app.post("K", &order_body()).await.status, 201);
    for two in ["2.0", "2e0", "20e-1", "0.2E1", "2.000"] {
        assert_eq!(post_text(&app, "K", spelled("/lines/0/quantity", two)).await.status, 200, "{two}");
    }
    assert_differs(&post_text(&app, "K", spelled("/lines/0/quantity", "3.0")).await, &["/lines/0/quantity"]);
}

#[tokio::test]
async fn neighbours_at_the_largest_amount_are_different_requests() {
    let app = TestApp::start().await;
    let with_amount = |amount: &str| {
        let text = String::from_utf8(spelled("/expected_amount", amount)).unwrap();
        text.replace("\"quantity\":2", "\"quantity\":1").replace("1200", amount)
    };
    assert_eq!(post_text(&app, "K", with_amount("9007199254740991")).await.status, 201);
    let other = post_text(&app, "K", with_amount("9007199254740990")).await;
    assert_differs(&other, &["/expected_amount", "/lines/0/unit_amount"]);
    // One more would be equal to …992 as a double. Above the largest amount a number is no amount at all.
    for beyond in ["9007199254740992", "9007199254740993"] {
        assert_eq!(post_text(&app, "K", with_amount(beyond)).await.status, 400, "{beyond}");
    }
    assert_eq!(post_text(&app, "K", with_amount("9007199254740991.0")).await.status, 200);
}

#[tokio::test]
async fn the_spelling_of_a_text_does_not_matter_and_its_characters_do() {
    let app = TestApp::start().await;
    let sku = |text: &str| spelled("/lines/0/sku", text);
    assert_eq!(post_text(&app, "K", sku(r#""caf\u00e9 A/\ud83c\udf75""#)).await.status, 201);
    assert_eq!(post_text(&app, "K", sku("\"café \\u0041\\/\u{1f375}\"")).await.status, 200);
    // The same to the eye: no Unicode normalisation.
    assert_differs(&post_text(&app, "K", sku("\"cafe\u{301} A/\u{1f375}\"")).await, &["/lines/0/sku"]);
    assert_differs(&post_text(&app, "K", sku("\"café a/\u{1f375}\"")).await, &["/lines/0/sku"]);
}

#[tokio::test]
async fn null_is_not_the_same_as_absent() {
    let app = TestApp::start().await;
    for pointer in ["/order_reference", "/expected_amount", "/payment"] {
        let null = with(pointer, json!(null));
        assert_eq!(app.post(pointer, &order_body()).await.status, 201);
        assert_differs(&app.post(pointer, &null).await, &[pointer]);
        assert_eq!(app.post(&format!("{pointer}-null"), &null).await.status, 201);
        assert_differs(&app.post(&format!("{pointer}-null"), &order_body()).await, &[pointer]);
    }
    assert_eq!(app.post("email", &without("/customer/email")).await.status, 201);
    assert_differs(&app.post("email", &with("/customer/email", json!(null))).await, &["/customer/email"]);
    assert_eq!(app.post("metadata", &without("/metadata")).await.status, 201);
    assert_differs(&app.post("metadata", &with("/metadata", json!({}))).await, &["/metadata"]);
}

#[tokio::test]
async fn the_same_amount_for_another_article_or_customer_is_another_request() {
    let app = TestApp::start().await;
    let first = app.post("K", &order_body()).await;
    for (pointer, value) in [
        ("/lines/0/sku", json!("TEA-02")),
        ("/customer/reference", json!("cus_43")),
        ("/customer/email", json!("b@example.com")),
        ("/metadata/channel", json!("web")),
        ("/currency", json!("USD")),
        ("/lines/0/description", json!("Sencha 100 g ")),
        ("/expected_amount", json!(2400)),
        ("/order_reference", json!("PO-1")),
    ] {
        let other = app.post("K", &with(pointer, value)).await;
        assert_differs(&other, &[pointer]);
    }
    assert_eq!(app.post("K", &order_body()).await.body, first.body);
    assert_eq!(app.counts().await, (1, 1));
}

#[tokio::test]
async fn swapping_factors_keeps_the_amount_and_is_another_request() {
    let app = TestApp::start().await;
    assert_eq!(app.post("K", &order_body()).await.status, 201);
    let mut swapped = with("/lines/0/quantity", json!(1_200));
    set(&mut swapped, "/lines/0/unit_amount", json!(2));
    assert_differs(&app.post("K", &swapped).await, &["/lines/0/quantity", "/lines/0/unit_amount"]);
}

#[tokio::test]
async fn another_price_alone_is_another_request() {
    let app = TestApp::start().await;
    assert_eq!(app.post("K", &order_body()).await.status, 201);
    let dearer = with("/lines/0/unit_amount", json!(1_201));
    assert_differs(&app.post("K", &dearer).await, &["/lines/0/unit_amount"]);
}

#[tokio::test]
async fn lines_have_an_order_and_a_number() {
    let app = TestApp::start().await;
    let three = with_lines(3);
    assert_eq!(app.post("K", &three).await.status, 201);
    let mut swapped = three.clone();
    swapped["lines"].as_array_mut().unwrap().swap(0, 1);
    let places = ["/lines/0/sku", "/lines/0/unit_amount", "/lines/1/sku", "/lines/1/unit_amount"];
    assert_differs(&app.post("K", &swapped).await, &places);
    assert_differs(&app.post("K", &with_lines(2)).await, &["/lines/2"]);
    assert_differs(&app.post("K", &with_lines(4)).await, &["/lines/3"]);
}

#[tokio::test]
async fn what_differs_is_named_without_any_value_and_at_most_a_hundred_times() {
    let app = TestApp::start().await;
    let hide = |body: &mut Value, text: &str| {
        for line in body["lines"].as_array_mut().unwrap() {
            line["description"] = json!(text);
        }
    };
    let (mut first, mut second) = (with_lines(200), with_lines(200));
    hide(&mut first, "first-secret");
    hide(&mut second, "second-secret");
    assert_eq!(app.post("K", &first).await.status, 201);
    let refused = app.post("K", &second).await;
    assert_eq!((refused.status, refused.json()["differing"].as_array().unwrap().len()), (422, 100));
    assert!(!String::from_utf8(refused.body).unwrap().contains("secret"));
}

#[tokio::test]
async fn another_query_under_the_key_is_422_and_its_order_does_not_matter() {
    let app = TestApp::start().await;
    assert_eq!(post_to(&app, "/v1/orders?a=1&b=2", "K").await.status, 201);
    assert_eq!(post_to(&app, "/v1/orders?b=2&a=%31", "K").await.status, 200);
    for other in ["/v1/orders", "/v1/orders?a=1", "/v1/orders?a=1&b=3", "/v1/orders?a=1&b=2&b=2", "/v1/orders?a=2&b=1"]
    {
        assert_differs(&post_to(&app, other, "K").await, &[]);
    }
    assert_eq!(post_to(&app, "/v1/orders?", "K2").await.status, 201);
    assert_eq!(post_to(&app, "/v1/orders", "K2").await.status, 200);
}

#[tokio::test]
async fn the_same_key_on_another_path_or_method_is_422() {
    let app = TestApp::start().await;
    let body = order_body().to_string().into_bytes();
    for (method, path) in [("POST", "/v1/orders/x/cancel"), ("PUT", "/v1/orders"), ("POST", "/v1/Orders")] {
        assert_eq!(app.post(path, &order_body()).await.status, 201);
        set_fingerprint(&app, path, method, path, &body).await;
        assert_differs(&app.post(path, &order_body()).await, &[]);
    }
    // That the method and path of this very route are what is hashed.
    assert_eq!(app.post("same", &order_body()).await.status, 201);
    set_fingerprint(&app, "same", "POST", "/v1/orders", &body).await;
    assert_eq!(app.post("same", &order_body()).await.status, 200);
}

#[tokio::test]
async fn a_mismatch_says_that_nothing_was_done_and_that_a_new_key_is_not_safe() {
    let app = TestApp::start().await;
    assert_eq!(app.post("K", &order_body()).await.status, 201);
    let refused = app.post("K", &with_lines(1)).await.json();
    assert_eq!((&refused["executed"], &refused["safe_new_key"]), (&json!("no"), &json!(false)));
    assert_eq!((&refused["retryable"], &refused["type"]), (&json!(false), &json!("/problems/idempotency_key_reused")));
}
