//! Bodies for `POST /v1/orders`, each one change away from a valid one; and what a refusal of one must look like.

use crate::support::app::{TestApp, order_body};
use serde_json::{Value, json};

/// A valid body with one member set to `value`. A pointer that ends in a new name adds the member.
pub fn with(pointer: &str, value: Value) -> Value {
    let mut body = order_body();
    set(&mut body, pointer, value);
    body
}

/// Sets one member.
pub fn set(body: &mut Value, pointer: &str, value: Value) {
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    let name = name.replace("~1", "/").replace("~0", "~");
    match body.pointer_mut(parent).unwrap() {
        Value::Array(items) => items[name.parse::<usize>().unwrap()] = value,
        parent => parent[name.as_str()] = value,
    }
}

/// A valid body without one member.
pub fn without(pointer: &str) -> Value {
    let mut body = order_body();
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    body.pointer_mut(parent).unwrap().as_object_mut().unwrap().remove(name).unwrap();
    body
}

/// A valid body in which the value at `pointer` is this exact text, for what `serde_json` would not write.
pub fn spelled(pointer: &str, text: &str) -> Vec<u8> {
    with(pointer, json!("@here@")).to_string().replace("\"@here@\"", text).into_bytes()
}

/// A valid body with so many lines.
pub fn with_lines(count: usize) -> Value {
    let line = |number| json!({ "sku": format!("SKU-{number}"), "quantity": 1, "unit_amount": number });
    with("/lines", (0..count).map(line).collect())
}

/// Posts a body that must be 400 `invalid_request`, and gives the pointers it names, sorted.
pub async fn refused(app: &TestApp, body: impl Into<Vec<u8>>) -> Vec<String> {
    let answer = app.post_bytes(&app.org.token, "refused", body.into()).await;
    let problem = answer.json();
    assert_eq!((answer.status, answer.code().as_str()), (400, "invalid_request"), "{problem}");
    assert_eq!((&problem["executed"], &problem["retryable"]), (&json!("no"), &json!(false)));
    let errors = problem["errors"].as_array().unwrap();
    let mut pointers: Vec<_> = errors.iter().map(|each| each["pointer"].as_str().unwrap().to_owned()).collect();
    pointers.sort();
    pointers
}

/// Posts each body and expects it to be refused with exactly these pointers; then that its key is still unused.
pub async fn all_refused(app: &TestApp, table: Vec<(Value, &[&str])>) {
    for (body, expected) in table {
        assert_eq!(refused(app, body.to_string()).await, expected, "{body}");
    }
    key_is_unused(app, "refused").await;
}

/// Proves that a key is unused by using it.
pub async fn key_is_unused(app: &TestApp, key: &str) {
    let answer = app.post(key, &order_body()).await;
    assert_eq!(answer.status, 201, "{}", answer.json());
}

/// Posts each body under a key of its own and expects it to be accepted.
pub async fn all_accepted(app: &TestApp, bodies: impl IntoIterator<Item = Vec<u8>>) {
    for (number, body) in bodies.into_iter().enumerate() {
        let text = String::from_utf8_lossy(&body).into_owned();
        let answer = app.post_bytes(&app.org.token, &format!("accepted-{number}"), body).await;
        assert_eq!(answer.status, 201, "{} for {text}", answer.json());
    }
}
