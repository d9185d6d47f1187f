//! Holds every answer to `openapi.yaml`: the status is documented, the required headers are there, the body fits.

use jsonschema::Validator;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{LazyLock, Mutex};

/// The contract, as JSON.
pub static OPENAPI: LazyLock<Value> =
    LazyLock::new(|| serde_saphyr::from_str(include_str!("../../../openapi.yaml")).unwrap());

static VALIDATORS: LazyLock<Mutex<HashMap<String, &'static Validator>>> = LazyLock::new(Mutex::default);

/// Panics unless the answer to `method` on the path template `route` is one that the contract describes. A route that is
/// not in the contract may answer 404 or 405 with a problem document.
pub fn check(method: &str, route: &str, status: u16, headers: &reqwest::header::HeaderMap, body: &[u8]) {
    let told = format!("{method} {route} answered {status} {}", String::from_utf8_lossy(body));
    assert!(headers.contains_key("request-id"), "without Request-Id: {told}");
    // HEAD is GET without the body.
    let operation = if method == "HEAD" { "get" } else { &method.to_lowercase() };
    let response = &OPENAPI["paths"][route][operation]["responses"][status.to_string()];
    if response.is_null() {
        assert!(matches!(status, 404 | 405 | 431), "not in the contract: {told}");
        assert_problem(status, headers, body, &told);
        return;
    }
    let response = resolve(response);
    for (name, header) in response["headers"].as_object().into_iter().flatten() {
        let header = resolve(header);
        let value = headers.get(name.to_lowercase().as_str());
        assert!(value.is_some() || header["required"] != true, "without {name}: {told}");
        if let Some(value) = value {
            let schema = validator(&header["schema"]);
            let text = Value::from(value.to_str().unwrap());
            let number = value.to_str().unwrap().parse::<i64>().map(Value::from);
            let fits = schema.is_valid(&text) || number.is_ok_and(|number| schema.is_valid(&number));
            assert!(fits, "header {name}: {text} does not fit: {told}");
        }
    }
    if method == "HEAD" || status == 304 {
        assert!(body.is_empty(), "a body where none may be: {told}");
        return;
    }
    let media = headers["content-type"].to_str().unwrap().split(';').next().unwrap().to_owned();
    let content = &response["content"][&media];
    assert!(!content.is_null(), "media type {media} is not in the contract: {told}");
    if media.ends_with("json") {
        let value: Value = serde_json::from_slice(body).unwrap_or_else(|error| panic!("{error}: {told}"));
        let errors: Vec<_> = validator(&content["schema"]).iter_errors(&value).map(|each| each.to_string()).collect();
        assert!(errors.is_empty(), "{errors:?}: {told}");
        let codes = &response["x-problem-codes"];
        if let (Some(codes), Some(code)) = (codes.as_array(), value.get("code")) {
            assert!(codes.contains(code), "code {code} is not documented there: {told}");
        }
    }
    if status >= 400 && route != "/readyz" {
        assert_problem(status, headers, body, &told);
    }
}

fn assert_problem(status: u16, headers: &reqwest::header::HeaderMap, body: &[u8], told: &str) {
    if body.is_empty() && told.starts_with("HEAD") {
        return;
    }
    assert_eq!(headers["content-type"], "application/problem+json", "{told}");
    let value: Value = serde_json::from_slice(body).unwrap_or_else(|error| panic!("{error}: {told}"));
    let schema = validator(&json!({ "$ref": "#/components/schemas/Problem" }));
    let errors: Vec<_> = schema.iter_errors(&value).map(|each| each.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}: {told}");
    assert_eq!(value["status"], status, "{told}");
    // A stored refusal is repeated byte for byte, with the id of the request that learned of it.
    if !headers.contains_key("idempotent-replayed") {
        assert_eq!(value["request_id"].as_str(), headers["request-id"].to_str().ok(), "{told}");
    }
}

/// Follows one `$ref` inside the contract.
pub fn resolve(value: &Value) -> &Value {
    match value.get("$ref").and_then(Value::as_str) {
        Some(reference) => OPENAPI.pointer(reference.trim_start_matches('#')).unwrap(),
        None => value,
    }
}

/// Compiled once for each schema.
fn validator(schema: &Value) -> &'static Validator {
    let mut validators = VALIDATORS.lock().unwrap();
    validators.entry(schema.to_string()).or_insert_with(|| {
        let whole = json!({ "allOf": [schema], "components": OPENAPI["components"] });
        let built = jsonschema::options()
            .with_draft(jsonschema::Draft::Draft202012)
            .should_validate_formats(true)
            .build(&whole)
            .unwrap();
        Box::leak(Box::new(built))
    })
}
