//! What a body must have: members and their types, each refusal with the pointer of its place.

use crate::support::app::{TestApp, order_body};
use crate::support::bodies::{all_accepted, all_refused, key_is_unused, refused, spelled, with, with_lines, without};
use ichido::domain::validate::MAX_ERRORS;
use serde_json::{Value, json};

#[tokio::test]
async fn required_members_are_required() {
    let app = TestApp::start().await;
    for pointer in ["/customer", "/customer/reference", "/currency", "/lines"] {
        assert_eq!(refused(&app, without(pointer).to_string()).await, [pointer]);
        assert_eq!(refused(&app, with(pointer, json!(null)).to_string()).await, [pointer], "null");
    }
    for name in ["sku", "quantity", "unit_amount"] {
        let mut body = with_lines(2);
        body["lines"][1].as_object_mut().unwrap().remove(name).unwrap();
        assert_eq!(refused(&app, body.to_string()).await, [format!("/lines/1/{name}")]);
    }
    key_is_unused(&app, "refused").await;
}

#[tokio::test]
async fn optional_members_may_be_null_or_absent() {
    let app = TestApp::start().await;
    let absent = json!({
        "customer": { "reference": "cus" }, "currency": "USD",
        "lines": [{ "sku": "S", "quantity": 1, "unit_amount": 0 }]
    });
    let null = json!({
        "order_reference": null, "customer": { "reference": "cus", "email": null }, "currency": "USD",
        "lines": [{ "sku": "S", "description": null, "quantity": 1, "unit_amount": 0 }],
        "expected_amount": null, "payment": null, "metadata": null
    });
    let (absent, null) = (app.post("absent", &absent).await, app.post("null", &null).await);
    for answer in [&absent, &null] {
        assert_eq!(answer.status, 201, "{}", answer.json());
        let order = answer.json();
        assert_eq!(order["order_reference"], json!(null));
        assert_eq!(order["customer"], json!({ "reference": "cus", "email": null }));
        assert_eq!(order["lines"][0]["description"], json!(null));
        assert_eq!((&order["payment"], &order["metadata"]), (&json!(null), &json!({})));
    }
}

#[tokio::test]
async fn an_order_says_everything_that_was_asked_for() {
    let app = TestApp::start().await;
    let mut body = order_body();
    body["order_reference"] = json!("PO-1");
    body["expected_amount"] = json!(2400);
    let order = app.post("K", &body).await.json();
    for name in ["order_reference", "customer", "currency", "metadata"] {
        assert_eq!(order[name], body[name], "{name}");
    }
    let mut line = body["lines"][0].clone();
    line["amount"] = json!(2400);
    assert_eq!(order["lines"], json!([line]));
    assert_eq!((&order["amount"], &order["amount_refunded"]), (&json!(2400), &json!(0)));
    assert_eq!((&order["object"], &order["status"]), (&json!("order"), &json!("received")));
    assert_eq!((&order["payment"], &order["steps"]), (&json!(null), &json!([])));
    assert_eq!(order["created_at"], order["updated_at"]);
}

#[tokio::test]
async fn a_value_of_another_type_is_refused_at_its_place() {
    let app = TestApp::start().await;
    let wrong = |pointer: &str, others: &[Value]| {
        others.iter().map(|other| (with(pointer, other.clone()), pointer.to_owned())).collect::<Vec<_>>()
    };
    let no_text = [json!(1), json!(true), json!([]), json!({})];
    let no_integer = [json!("1"), json!(true), json!([]), json!({}), json!(1.5)];
    let no_object = [json!("a"), json!(1), json!(false), json!([])];
    let mut table = Vec::new();
    for pointer in ["/order_reference", "/customer/reference", "/customer/email", "/currency", "/lines/0/sku"] {
        table.extend(wrong(pointer, &no_text));
    }
    table.extend(wrong("/lines/0/description", &no_text));
    table.extend(wrong("/metadata/channel", &no_text));
    table.extend(wrong("/metadata/channel", &[json!(null)]));
    for pointer in ["/lines/0/quantity", "/lines/0/unit_amount", "/expected_amount"] {
        table.extend(wrong(pointer, &no_integer));
    }
    for pointer in ["/customer", "/lines/0", "/payment", "/metadata"] {
        table.extend(wrong(pointer, &no_object));
    }
    table.extend(wrong("/lines", &[json!({}), json!("a"), json!(1)]));
    for (body, pointer) in table {
        assert_eq!(refused(&app, body.to_string()).await, [pointer], "{body}");
    }
    key_is_unused(&app, "refused").await;
}

#[tokio::test]
async fn the_whole_body_must_be_an_object() {
    let app = TestApp::start().await;
    for body in ["null", "[]", "\"a\"", "1", "true"] {
        assert_eq!(refused(&app, body).await, [""], "{body}");
    }
    key_is_unused(&app, "refused").await;
}

#[tokio::test]
async fn unknown_members_are_refused_wherever_they_are() {
    let app = TestApp::start().await;
    all_refused(
        &app,
        vec![
            (with("/amount", json!(2400)), &["/amount"]),
            (with("/Currency", json!("JPY")), &["/Currency"]),
            (with("/customer/name", json!("x")), &["/customer/name"]),
            (with("/lines/0/amount", json!(2400)), &["/lines/0/amount"]),
            (with("/a~1b~0c", json!(1)), &["/a~1b~0c"]),
            (with("/", json!(1)), &["/"]),
            (with("/payment", json!({ "method": "pm", "x": 1 })), &["/payment/x"]),
        ],
    )
    .await;
}

#[tokio::test]
async fn every_fault_is_named_at_once() {
    let app = TestApp::start().await;
    let body = json!({
        "order_reference": "", "customer": { "email": "nobody" }, "currency": "yen", "x": 1,
        "lines": [{ "sku": "S", "quantity": 0, "unit_amount": -1 }, 7], "metadata": { "": "v" }
    });
    let expected = [
        "/currency",
        "/customer/email",
        "/customer/reference",
        "/lines/0/quantity",
        "/lines/0/unit_amount",
        "/lines/1",
        "/metadata/",
        "/order_reference",
        "/x",
    ];
    assert_eq!(refused(&app, body.to_string()).await, expected);
    key_is_unused(&app, "refused").await;
}

#[tokio::test]
async fn at_most_a_hundred_faults_are_listed() {
    let app = TestApp::start().await;
    let mut body = with_lines(500);
    for line in body["lines"].as_array_mut().unwrap() {
        line["quantity"] = json!(0);
    }
    assert_eq!(refused(&app, body.to_string()).await.len(), MAX_ERRORS);
}

#[tokio::test]
async fn a_refusal_never_repeats_a_value_of_the_request() {
    let app = TestApp::start().await;
    let mut body = with("/customer/email", json!("tell-nobody"));
    body["lines"][0]["quantity"] = json!("tell-nobody");
    body["currency"] = json!("tell-nobody");
    let answer = app.post("K", &body).await;
    assert_eq!(answer.status, 400);
    assert!(!String::from_utf8(answer.body).unwrap().contains("tell-nobody"));
}

#[tokio::test]
async fn a_very_long_member_name_does_not_come_back_whole() {
    let app = TestApp::start().await;
    let mut body = order_body();
    body["metadata"] = json!({ "é".repeat(100_000): "v" });
    let pointers = refused(&app, body.to_string()).await;
    assert_eq!(pointers.len(), 1);
    assert!(pointers[0].starts_with("/metadata/éé") && pointers[0].len() <= 300, "{}", pointers[0].len());
}

#[tokio::test]
async fn one_to_five_hundred_lines() {
    let app = TestApp::start().await;
    all_refused(&app, vec![(with_lines(0), &["/lines"]), (with_lines(501), &["/lines"])]).await;
    all_accepted(&app, [with_lines(1), with_lines(500)].map(|body| body.to_string().into_bytes())).await;
}

#[tokio::test]
async fn at_most_fifty_metadata() {
    let app = TestApp::start().await;
    let metadata = |count| with("/metadata", (0..count).map(|n| (format!("k{n}"), json!("v"))).collect());
    all_refused(&app, vec![(metadata(51), &["/metadata"])]).await;
    all_accepted(&app, [metadata(0), metadata(50)].map(|body| body.to_string().into_bytes())).await;
}

#[tokio::test]
async fn payment_is_refused_with_a_code_of_its_own_and_leaves_the_key_unused() {
    let app = TestApp::start().await;
    let body = with("/payment", json!({ "method": "pm_card_visa" }));
    let answer = app.post("K", &body).await;
    assert_eq!((answer.status, answer.code().as_str()), (400, "payment_not_configured"));
    assert_eq!(answer.json()["errors"][0]["pointer"], "/payment");
    // A malformed one is a matter of form first.
    assert_eq!(refused(&app, with("/payment", json!({})).to_string()).await, ["/payment/method"]);
    let mut both = body;
    both["currency"] = json!("yen");
    assert_eq!(refused(&app, both.to_string()).await, ["/currency"]);
    key_is_unused(&app, "K").await;
}

#[tokio::test]
async fn numbers_count_by_value_and_not_by_spelling() {
    let app = TestApp::start().await;
    for (index, one) in ["1", "1.0", "1e0", "1E+0", "10e-1", "0.1e1", "1.000"].into_iter().enumerate() {
        let key = format!("quantity-{index}");
        let answer = app.post_bytes(&app.org.token, &key, spelled("/lines/0/quantity", one)).await;
        assert_eq!((answer.status, &answer.json()["lines"][0]["quantity"]), (201, &json!(1)), "{one}");
    }
    all_accepted(&app, ["0", "-0", "0.0", "0e9"].map(|zero| spelled("/lines/0/unit_amount", zero))).await;
    for other in ["1.5", "1e-1", "-1", "1e99", "1e9999", "0.9999999999999999999999", "1000000.0000000001"] {
        let body = spelled("/lines/0/quantity", other);
        assert_eq!(refused(&app, body).await, ["/lines/0/quantity"], "{other}");
    }
}
