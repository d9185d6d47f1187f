//! What is sent for the model's requests, and whether what comes back is what the model says.

use crate::machine::answer::{Answer, Kind};
use crate::machine::order::View;
use crate::operation::Body;
use crate::support::app::Answer as Got;
use serde_json::{Value, json};

/// The JSON of an order.
pub fn body_of(body: Body) -> Value {
    let mut json = json!({
        "customer": { "reference": customer(body.customer) },
        "currency": "JPY",
        "lines": [{ "sku": "TEA-01", "quantity": 1, "unit_amount": i64::from(body.price) * 1_000 }],
    });
    if let Some(name) = body.reference {
        json["order_reference"] = reference(name).into();
    }
    if let Some(method) = body.method {
        json["payment"] = json!({ "method": method.name() });
    }
    json
}

/// The text of a customer's reference.
pub fn customer(number: u8) -> String {
    format!("c-{number}")
}

/// The text of an order's reference.
pub fn reference(number: u8) -> String {
    format!("PO-{number}")
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, expected: &T, got: &T) -> Result<(), String> {
    if expected == got { Ok(()) } else { Err(format!("{what} is {got:?} instead of {expected:?}")) }
}

/// Whether an order is shown as it should be.
pub fn view(expected: &View, order: &Value) -> Result<(), String> {
    let reference = expected.body.reference.map(reference);
    let payment = expected.payment.map(|(status, attempt)| json!([status, attempt]));
    let shown = &order["payment"];
    let shown = if shown.is_null() { Value::Null } else { json!([shown["status"], shown["attempt"]]) };
    for (what, expected, got) in [
        ("status", json!(expected.status.as_str()), &order["status"]),
        ("amount", json!(expected.amount), &order["amount"]),
        ("amount_refunded", json!(expected.amount_refunded), &order["amount_refunded"]),
        ("needs_reconciliation", json!(expected.needs_reconciliation), &order["needs_reconciliation"]),
        ("customer", json!(customer(expected.body.customer)), &order["customer"]["reference"]),
        ("order_reference", json!(reference), &order["order_reference"]),
        ("payment", json!(payment), &shown),
    ] {
        same(what, &expected, got).map_err(|why| format!("{why} in {order}"))?;
    }
    Ok(())
}

/// Whether an answer is the one expected; gives the id of the order that it names.
pub fn answer(expected: &Answer, got: &Got, ids: &[String]) -> Result<Option<String>, String> {
    let body = got.json();
    let told = || format!("{} {body}", got.status);
    same("the status", &expected.status, &got.status).map_err(|why| format!("{why}: {}", told()))?;
    same("the code", &expected.code.map(str::to_owned), &body["code"].as_str().map(str::to_owned))?;
    headers(expected, got).map_err(|why| format!("{why}: {}", told()))?;
    if let Some(expected) = &expected.view {
        view(expected, &body)?;
    }
    let differing = body["differing"].as_array().cloned().unwrap_or_default();
    same("differing", &json!(expected.differing), &Value::Array(differing))?;
    let member = if expected.view.is_some() { "id" } else { "order_id" };
    let named = body[member].as_str().map(str::to_owned);
    if let Some(order) = expected.order {
        let named = named.as_ref().ok_or_else(|| format!("names no order: {}", told()))?;
        match ids.get(order) {
            Some(id) => same("the order", id, named)?,
            None if ids.contains(named) => return Err(format!("not a new order: {}", told())),
            None => {}
        }
    }
    Ok(named)
}

/// The headers that say what kind of answer it is.
fn headers(expected: &Answer, got: &Got) -> Result<(), String> {
    let original = match expected.kind {
        Kind::Replay { original } | Kind::Mismatch { original } => Some(original.to_string()),
        Kind::First | Kind::Accepted | Kind::Refused => None,
    };
    let replayed = original.is_some().then(|| "true".to_owned());
    let mismatch = matches!(expected.kind, Kind::Mismatch { .. }).then(|| "true".to_owned());
    let header = |name| got.header(name).map(str::to_owned);
    same("Idempotent-Replayed", &replayed, &header("Idempotent-Replayed"))?;
    same("Idempotent-Original-Status", &original, &header("Idempotent-Original-Status"))?;
    same("Idempotency-Mismatch", &mismatch, &header("Idempotency-Mismatch"))?;
    same("whether Retry-After is there", &(expected.kind == Kind::Accepted), &header("Retry-After").is_some())?;
    let is_about_order = expected.kind != Kind::Refused;
    same("whether Location is there", &is_about_order, &header("Location").is_some())
}
