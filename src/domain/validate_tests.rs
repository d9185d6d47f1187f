//! What is taken as a request for an order, and what is refused at which place: each rule at its edges.

use super::*;
use crate::domain::json::parse;
use serde_json::{Value, json};

type Places = Vec<(String, String)>;
type Check<T> = fn(&Json<'_>) -> Result<T, Vec<FieldError>>;

/// The places that are wrong, each with what is said of it.
pub(super) fn checked<T>(body: &Value, check: Check<T>) -> Result<T, Places> {
    let text = body.to_string();
    let listed = |errors: Vec<FieldError>| errors.into_iter().map(|error| (error.pointer, error.detail)).collect();
    check(&parse(text.as_bytes()).unwrap()).map_err(listed)
}

fn order() -> Value {
    json!({
        "customer": { "reference": "c" },
        "currency": "JPY",
        "lines": [{ "sku": "a", "quantity": 2, "unit_amount": 50 }],
    })
}

/// An order with another value at a place, or with one more.
fn with(at: &str, value: &Value) -> Value {
    let mut order = order();
    let mut place = &mut order;
    for token in at.split('/').skip(1) {
        place = match token.parse::<usize>() {
            Ok(index) => &mut place[index],
            Err(_) => &mut place[token],
        };
    }
    *place = value.clone();
    order
}

fn accepts(at: &str, value: &Value) {
    assert_eq!(checked(&with(at, value), validate).err(), None, "{at} {value}");
}

fn refuses(at: &str, value: &Value, detail: &str) {
    is_wrong(&with(at, value), validate, at, detail);
}

/// One thing is wrong with a body, and nothing else.
pub(super) fn is_wrong<T>(body: &Value, check: Check<T>, at: &str, detail: &str) {
    assert_eq!(checked(body, check).err(), Some(vec![(at.to_owned(), detail.to_owned())]), "{body}");
}

fn letters(count: usize) -> Value {
    json!("茶".repeat(count))
}

#[test]
fn everything_that_was_sent_is_in_the_request() {
    let body = json!({
        "order_reference": "o-1",
        "customer": { "reference": "c-1", "email": "a@b" },
        "currency": "EUR",
        "lines": [
            { "sku": "s-1", "description": "", "quantity": 3, "unit_amount": 70 },
            { "sku": "s-2", "description": null, "quantity": 1.0, "unit_amount": 9e1 },
        ],
        "expected_amount": 300,
        "payment": { "method": "pm_1" },
        "metadata": { "b": "", "a": "1" },
    });
    let line = |sku: &str, description: Option<&str>, quantity, unit_amount| Line {
        sku: sku.to_owned(),
        description: description.map(str::to_owned),
        quantity,
        unit_amount,
    };
    let request = OrderRequest {
        order_reference: Some("o-1".to_owned()),
        customer: Customer { reference: "c-1".to_owned(), email: Some("a@b".to_owned()) },
        currency: "EUR".to_owned(),
        lines: vec![line("s-1", Some(""), 3, 70), line("s-2", None, 1, 90)],
        metadata: Some([("a", "1"), ("b", "")].map(|(name, value)| (name.to_owned(), value.to_owned())).into()),
    };
    assert_eq!(checked(&body, validate), Ok(Valid { request, method: Some("pm_1".to_owned()) }));
}

#[test]
fn what_is_optional_may_be_absent_or_null() {
    let least = checked(&order(), validate).unwrap();
    assert_eq!((&least.request.order_reference, &least.request.metadata, &least.method), (&None, &None, &None));
    for at in ["/order_reference", "/customer/email", "/expected_amount", "/payment", "/metadata"] {
        assert_eq!(checked(&with(at, &Value::Null), validate), Ok(least.clone()), "{at}");
    }
}

#[test]
fn texts_are_counted_in_code_points() {
    for (at, least, most) in [
        ("/order_reference", 1, 64),
        ("/customer/reference", 1, 255),
        ("/payment/method", 1, 255),
        ("/lines/0/sku", 1, 64),
        ("/lines/0/description", 0, 500),
        ("/metadata/name", 0, 500),
    ] {
        let detail = format!("must have {least} to {most} characters");
        accepts(at, &letters(least));
        accepts(at, &letters(most));
        refuses(at, &letters(most + 1), &detail);
        if least > 0 {
            refuses(at, &letters(least - 1), &detail);
        }
        refuses(at, &json!(["a"]), "must be a string, not array");
    }
}

#[test]
fn a_member_that_is_required_and_one_that_is_unknown_are_named() {
    let required = ["/customer", "/currency", "/lines"].map(|at| (at.to_owned(), "is required".to_owned()));
    assert_eq!(checked(&json!({}), validate), Err(required.to_vec()));
    is_wrong(&with("/payment", &json!({})), validate, "/payment/method", "is required");
    refuses("/customer/reference", &Value::Null, "must be a string, not null");
    for at in ["/a", "/customer/a", "/lines/0/a"] {
        refuses(at, &json!(1), "is not a member of this object");
    }
    let escaped = with("/payment", &json!({ "method": "pm_1", "a/b": 1 }));
    is_wrong(&escaped, validate, "/payment/a~1b", "is not a member of this object");
    for at in ["", "/customer", "/lines/0", "/payment", "/metadata"] {
        refuses(at, &json!("x"), "must be an object, not string");
    }
}

#[test]
fn all_that_is_wrong_is_told_at_once_but_at_most_a_hundred() {
    let body = json!({
        "customer": 1, "currency": "jpy", "extra": 1, "metadata": { "a": 1, "": "", "b": false },
        "lines": [{ "quantity": 0, "unit_amount": -1 }, { "sku": "s", "quantity": 1, "unit_amount": 1 }, null],
    });
    let places = checked(&body, validate).unwrap_err();
    let at: Vec<_> = places.iter().map(|(at, _)| at.as_str()).collect();
    let lines = ["/lines/0/sku", "/lines/0/quantity", "/lines/0/unit_amount", "/lines/2"];
    let expected = [&["/customer", "/currency"][..], &lines, &["/metadata/", "/metadata/a", "/metadata/b", "/extra"]];
    assert_eq!(at, expected.concat());
    let crowd: serde_json::Map<_, _> = (0..150).map(|number| (number.to_string(), json!(1))).collect();
    assert_eq!(checked(&Value::Object(crowd), validate).unwrap_err().len(), MAX_ERRORS);
}

#[test]
fn an_address_has_something_on_both_sides_of_one_at_and_no_white_space() {
    for address in ["a@b", "a.b+c@d.example", "\u{85}@b", "茶@茶", &format!("{}@b", "a".repeat(252))] {
        accepts("/customer/email", &json!(address));
    }
    let detail = "must be an e-mail address: something@somewhere, without white space";
    for address in
        ["abc", "@bc", "ab@", "a@b@", "a@b@c", "@a@", " a@b", "a@b ", "a\u{A0}@b", "a@\u{FEFF}b", "a@\u{2028}b"]
    {
        refuses("/customer/email", &json!(address), detail);
    }
    for address in ["@b", &format!("{}@b", "a".repeat(253))] {
        refuses("/customer/email", &json!(address), "must have 3 to 254 characters");
    }
}

#[test]
fn a_currency_has_a_minor_unit_and_upper_case() {
    for code in ["JPY", "EUR", "BHD", "CLF"] {
        assert!(is_currency(code), "{code}");
        accepts("/currency", &json!(code));
    }
    for code in ["jpy", "Eur", "XAU", "XTS", "XXX", "ZZZ", "123"] {
        assert!(!is_currency(code), "{code}");
        refuses("/currency", &json!(code), "must be an ISO 4217 code of a currency with a minor unit, in upper case");
    }
    refuses("/currency", &json!("EU"), "must have 3 to 3 characters");
}

#[test]
fn numbers_are_whole_and_in_their_range() {
    let quantity = "must be an integer from 1 to 1000000";
    let amount = "must be an integer from 0 to 9007199254740991";
    for number in [json!(1), json!(1_000_000), json!(1e6)] {
        accepts("/lines/0/quantity", &number);
    }
    for number in [json!(0), json!(-1), json!(1_000_001), json!(1.5)] {
        refuses("/lines/0/quantity", &number, quantity);
    }
    for at in ["/lines/0/unit_amount", "/expected_amount"] {
        refuses(at, &json!(-1), amount);
        refuses(at, &json!(MAX_AMOUNT + 1), amount);
        refuses(at, &json!("1"), "must be an integer, not string");
    }
}

#[test]
fn an_order_has_one_to_five_hundred_lines() {
    let lines = |count: usize| json!(vec![json!({ "sku": "a", "quantity": 1, "unit_amount": 1 }); count]);
    for count in [1, 2, MAX_LINES] {
        assert_eq!(checked(&with("/lines", &lines(count)), validate).unwrap().request.lines.len(), count);
    }
    for count in [0, MAX_LINES + 1, 2 * MAX_LINES] {
        refuses("/lines", &lines(count), "must have 1 to 500 lines");
    }
    refuses("/lines", &json!({}), "must be an array, not object");
}

#[test]
fn the_sum_is_not_too_large_and_is_what_was_expected() {
    let lines = |amounts: &[(i64, i64)]| {
        let line = |&(quantity, unit): &(i64, i64)| json!({ "sku": "a", "quantity": quantity, "unit_amount": unit });
        amounts.iter().map(line).collect::<Value>()
    };
    for most in [&[(1, MAX_AMOUNT)][..], &[(1, MAX_AMOUNT - 1), (1, 1)], &[(1_000_000, 9_007_199_254)]] {
        accepts("/lines", &lines(most));
    }
    for more in [&[(1, MAX_AMOUNT), (1, 1)][..], &[(1_000_000, MAX_AMOUNT)], &[(1, MAX_AMOUNT), (1, MAX_AMOUNT)]] {
        refuses("/lines", &lines(more), "the sum of the lines is above 9007199254740991");
    }
    accepts("/expected_amount", &json!(100));
    for wrong in [0, 99, 101, 150] {
        let detail = "is not the sum of quantity times unit_amount over the lines";
        refuses("/expected_amount", &json!(wrong), detail);
    }
}

#[test]
fn nothing_is_paid_where_there_is_nothing_to_pay() {
    let mut body = with("/lines/0/unit_amount", &json!(0));
    assert_eq!(checked(&body, validate).unwrap().method, None);
    body["payment"] = json!({ "method": "pm_1" });
    let detail = "there is nothing to pay: the sum of the lines is 0";
    is_wrong(&body, validate, "/payment", detail);
}

#[test]
fn metadata_are_at_most_fifty_named_texts() {
    let labels = |count: usize| (0..count).map(|number| (number.to_string(), json!(""))).collect::<Value>();
    for count in [0, 1, MAX_METADATA] {
        let valid = checked(&with("/metadata", &labels(count)), validate).unwrap();
        assert_eq!(valid.request.metadata.map(|metadata| metadata.len()), Some(count));
    }
    for count in [MAX_METADATA + 1, 2 * MAX_METADATA] {
        refuses("/metadata", &labels(count), "must have at most 50 members");
    }
    let named = |length: usize| format!("/metadata/{}", "é".repeat(length));
    for length in [1, 40] {
        accepts(&named(length), &json!("x"));
    }
    for length in [0, 41] {
        refuses(&named(length), &json!("x"), "the member's name must have 1 to 40 characters");
    }
}
