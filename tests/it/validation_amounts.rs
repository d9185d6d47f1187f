//! Quantities, amounts, their sum, and currencies.

use crate::support::app::TestApp;
use crate::support::bodies::{all_accepted, all_refused, key_is_unused, refused, set, spelled, with};
use crate::support::contract::OPENAPI;
use ichido::domain::validate::is_currency;
use serde_json::{Value, json};

const MAX: i64 = 9_007_199_254_740_991;

fn lines(lines: &[(i64, i64)]) -> Value {
    let line =
        |(quantity, unit_amount): &(i64, i64)| json!({ "sku": "S", "quantity": quantity, "unit_amount": unit_amount });
    with("/lines", lines.iter().map(line).collect())
}

#[tokio::test]
async fn a_quantity_is_one_to_a_million() {
    let app = TestApp::start().await;
    let bad = [0, -1, 1_000_001, i64::MAX, i64::MIN].map(|bad| with("/lines/0/quantity", json!(bad)));
    all_refused(&app, bad.map(|body| (body, &["/lines/0/quantity"] as &[_])).into()).await;
    all_accepted(&app, [1, 1_000_000].map(|good| with("/lines/0/quantity", json!(good)).to_string().into_bytes()))
        .await;
}

#[tokio::test]
async fn an_amount_is_zero_to_two_to_the_53_minus_1() {
    let app = TestApp::start().await;
    all_accepted(&app, [0, MAX].map(|good| lines(&[(1, good)]).to_string().into_bytes())).await;
    for bad in [-1, MAX + 1, MAX + 2, i64::MAX] {
        assert_eq!(refused(&app, lines(&[(1, bad)]).to_string()).await, ["/lines/0/unit_amount"], "{bad}");
    }
    // Beyond what any integer type holds.
    for bad in ["18446744073709551616", "1e30", "-1e30"] {
        assert_eq!(refused(&app, spelled("/lines/0/unit_amount", bad)).await, ["/lines/0/unit_amount"], "{bad}");
    }
    key_is_unused(&app, "refused").await;
}

#[tokio::test]
async fn a_number_that_doubles_cannot_hold_is_refused_and_not_rounded() {
    let app = TestApp::start().await;
    // As a double, 9007199254740993 is …992.
    for bad in ["9007199254740993", "9007199254740992", "9007199254740991.5", "9007199254740990.999"] {
        assert_eq!(refused(&app, spelled("/expected_amount", bad)).await, ["/expected_amount"], "{bad}");
    }
    let answer = app.post("max", &lines(&[(1, MAX - 1), (1, 1)])).await;
    assert_eq!((answer.status, answer.json()["amount"].as_i64()), (201, Some(MAX)));
}

#[tokio::test]
async fn a_sum_above_the_largest_amount_is_refused_at_the_lines() {
    let app = TestApp::start().await;
    let mut expected = lines(&[(1, MAX), (1, 1)]);
    set(&mut expected, "/expected_amount", json!(MAX));
    let many: Vec<_> = (0..500).map(|_| (1_000_000, MAX)).collect();
    all_refused(
        &app,
        vec![
            (lines(&[(1, MAX), (1, 1)]), &["/lines"]),
            (lines(&[(2, MAX)]), &["/lines"]),
            (lines(&[(1_000_000, MAX)]), &["/lines"]),
            // More than 64 bits hold.
            (lines(&many), &["/lines"]),
            (expected, &["/lines"]),
        ],
    )
    .await;
    all_accepted(&app, [lines(&[(1, MAX), (1_000_000, 0)]).to_string().into_bytes()]).await;
}

#[tokio::test]
async fn the_amount_is_the_sum_of_the_lines() {
    let app = TestApp::start().await;
    let order = app.post("K", &lines(&[(2, 1_200), (1, 5), (1_000_000, 3), (7, 0)])).await.json();
    assert_eq!(order["amount"], json!(3_002_405));
    let amounts: Vec<_> = order["lines"].as_array().unwrap().iter().map(|line| line["amount"].clone()).collect();
    assert_eq!(amounts, [json!(2_400), json!(5), json!(3_000_000), json!(0)]);
}

#[tokio::test]
async fn an_expected_amount_must_be_the_sum() {
    let app = TestApp::start().await;
    let bad = [2_399, 2_401, 0].map(|bad| with("/expected_amount", json!(bad)));
    all_refused(&app, bad.map(|body| (body, &["/expected_amount"] as &[_])).into()).await;
    assert_eq!(refused(&app, with("/expected_amount", json!(-1)).to_string()).await, ["/expected_amount"]);
    all_accepted(&app, ["2400", "2400.0", "2.4e3", "null"].map(|good| spelled("/expected_amount", good))).await;
}

#[tokio::test]
async fn a_currency_is_an_upper_case_code_with_a_minor_unit() {
    let app = TestApp::start().await;
    for bad in ["jpy", "Jpy", "JP", "JPYX", "XXX", "XTS", "XAU", "ZZZ", "¥¥¥", "", " JPY"] {
        assert_eq!(refused(&app, with("/currency", json!(bad)).to_string()).await, ["/currency"], "{bad}");
    }
    for good in ["JPY", "USD", "KWD", "CLF"] {
        assert_eq!(app.post(good, &with("/currency", json!(good))).await.json()["currency"], good);
    }
}

#[test]
fn the_contract_lists_exactly_the_currencies_that_are_accepted() {
    let listed = OPENAPI["components"]["schemas"]["Currency"]["enum"].as_array().unwrap();
    let letters = || 'A'..='Z';
    let codes = letters().flat_map(|a| letters().flat_map(move |b| letters().map(move |c| format!("{a}{b}{c}"))));
    let accepted: Vec<_> = codes.filter(|code| is_currency(code)).map(Value::from).collect();
    assert_eq!(&accepted, listed);
}
