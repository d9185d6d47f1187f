//! Orders out of raw bytes: what is accepted keeps the contract's limits, and what is not is told where and why.

use super::choices::Choices;
use super::spelling::respelt;
use ichido::domain::canonical::canonical;
use ichido::domain::fields::FieldError;
use ichido::domain::json::{Json, parse};
use ichido::domain::order_request::{MAX_AMOUNT, OrderRequest};
use ichido::domain::validate::{
    MAX_ERRORS, MAX_LINES, MAX_METADATA, Valid, validate, validate_cancel, validate_decision, validate_payment,
};
use serde_json::Value;

/// The input is a body.
pub fn check(data: &[u8]) {
    let Ok(body) = parse(data) else {
        return;
    };
    let text = canonical(&body);
    refused_with_places(&body, validate_payment(&body).err());
    refused_with_places(&body, validate_decision(&body).err());
    let cancel = validate_cancel(&body);
    assert_eq!(cancel.is_ok(), text == "{}");
    refused_with_places(&body, cancel.err());
    let read = validate(&body);
    let spelling = respelt(&body, &mut Choices::of(data));
    // Else a number's canonical exponent is longer than one may be sent; such an order is refused anyway.
    match (&read, parse(spelling.as_bytes()).map(|again| validate(&again))) {
        (Ok(valid), again) => {
            assert_eq!(again.unwrap().as_ref(), Ok(valid), "spelling does not count");
            keeps_the_limits(valid);
            let stored: OrderRequest = serde_json::from_str(&text).unwrap();
            assert_eq!(stored, valid.request, "it is read back from what is stored");
        }
        (Err(errors), Ok(again)) if errors.len() < MAX_ERRORS => {
            assert_eq!(in_order(again.unwrap_err()), in_order(errors.clone()), "spelling does not count");
        }
        (Err(_), _) => {}
    }
    refused_with_places(&body, read.err());
}

fn keeps_the_limits(valid: &Valid) {
    let order = &valid.request;
    assert!((1..=MAX_LINES).contains(&order.lines.len()));
    for line in &order.lines {
        assert!((1..=1_000_000).contains(&line.quantity) && (0..=MAX_AMOUNT).contains(&line.unit_amount));
        assert!((1..=64).contains(&line.sku.chars().count()));
        assert!(line.description.as_ref().is_none_or(|text| text.chars().count() <= 500));
    }
    let sum: i128 = order.lines.iter().map(|line| i128::from(line.quantity) * i128::from(line.unit_amount)).sum();
    assert_eq!(i128::from(order.amount()), sum);
    assert!(sum <= i128::from(MAX_AMOUNT) && (sum > 0 || valid.method.is_none()));
    assert!(order.currency.len() == 3 && order.currency.bytes().all(|byte| byte.is_ascii_uppercase()));
    assert!((1..=255).contains(&order.customer.reference.chars().count()));
    let email = |text: &String| text.split('@').count() == 2 && (3..=254).contains(&text.chars().count());
    assert!(order.customer.email.as_ref().is_none_or(email));
    let metadata = order.metadata.iter().flatten();
    assert!(metadata.clone().count() <= MAX_METADATA);
    for (name, value) in metadata {
        assert!((1..=40).contains(&name.chars().count()) && value.chars().count() <= 500);
    }
    let texts = [order.order_reference.as_deref(), valid.method.as_deref()];
    assert!(texts.into_iter().flatten().all(|text| (1..=255).contains(&text.chars().count())));
}

/// Each error's pointer leads to what is wrong, or to the object in which it is missing.
fn refused_with_places(body: &Json<'_>, errors: Option<Vec<FieldError>>) {
    let Some(errors) = errors else {
        return;
    };
    assert!((1..=MAX_ERRORS).contains(&errors.len()));
    // A number out of a double's range is nothing to serde_json.
    let Ok(plain) = serde_json::from_str::<Value>(&canonical(body)) else {
        return;
    };
    for error in errors {
        let parent = error.pointer.rsplit_once('/').map_or("", |(parent, _)| parent);
        let found = plain.pointer(&error.pointer).or_else(|| plain.pointer(parent).filter(|at| at.is_object()));
        assert!(found.is_some(), "{error:?}");
        assert!(!error.detail.is_empty());
    }
}

fn in_order(mut errors: Vec<FieldError>) -> Vec<FieldError> {
    errors.sort_by(|one, other| (&one.pointer, &one.detail).cmp(&(&other.pointer, &other.detail)));
    errors
}
