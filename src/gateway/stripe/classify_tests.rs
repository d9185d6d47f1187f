//! The table: every status, kind of error and state of a payment, and what each means.

use super::*;
use serde_json::{Value, json};

const LIVE: Expected<'_> = Expected { amount: 2_400, stripe_amount: 2_400, currency: "JPY", live: true };
const TEST: Expected<'_> = Expected { live: false, ..LIVE };

fn raw(status: u16, body: &[u8]) -> Answer<'_> {
    Answer { status, should_retry: false, replayed: false, retry_after: None, body }
}

fn pi(status: &str) -> Value {
    json!({"id": "pi_1", "object": "payment_intent", "status": status, "amount": 2400, "amount_received": 2400,
           "currency": "jpy", "livemode": false, "last_payment_error": null, "metadata": {}})
}

fn with(mut object: Value, name: &str, value: Value) -> Value {
    object[name] = value;
    object
}

fn failed_pi(status: &str) -> Value {
    with(pi(status), "last_payment_error", json!({"code": "card_declined", "decline_code": "insufficient_funds"}))
}

fn error_body(kind: &str, code: Option<&str>, intent: impl Into<Option<Value>>) -> Value {
    json!({"error": {"type": kind, "code": code, "message": "canary", "payment_intent": intent.into()}})
}

fn succeeded() -> Outcome {
    Outcome::Succeeded { reference: "pi_1".to_owned(), amount: 2_400, currency: "JPY".to_owned() }
}

fn processing(status: &'static str) -> Outcome {
    Outcome::Processing { reference: "pi_1".to_owned(), status }
}

fn declined(reference: Option<&str>, code: &str) -> Outcome {
    Outcome::Declined { reference: reference.map(str::to_owned), code: code.to_owned() }
}

fn conflict(reason: &'static str, gateway_amount: i64, currency: &str) -> Outcome {
    Outcome::Conflict { reference: "pi_1".to_owned(), reason, gateway_amount, gateway_currency: currency.to_owned() }
}

fn unknown(reason: &'static str) -> Outcome {
    Outcome::unknown(reason)
}

fn check(rows: Vec<(u16, Value, Outcome)>) {
    for (status, body, outcome) in rows {
        let bytes = serde_json::to_vec(&body).unwrap();
        assert_eq!(payment(&raw(status, &bytes), &TEST), outcome, "{status} {body}");
    }
}

#[test]
fn a_payment_that_was_made() {
    check(vec![
        (200, pi("succeeded"), succeeded()),
        (200, pi("processing"), processing("processing")),
        (200, pi("requires_action"), processing("requires_action")),
        (200, pi("requires_confirmation"), processing("requires_confirmation")),
        (200, pi("requires_capture"), processing("requires_capture")),
        (200, pi("requires_payment_method"), processing("requires_payment_method")),
        (200, failed_pi("requires_payment_method"), declined(Some("pi_1"), "insufficient_funds")),
        (200, pi("canceled"), declined(Some("pi_1"), "canceled")),
        (200, pi("something_new"), unknown(reason::UNREADABLE)),
    ]);
}

#[test]
fn a_success_counts_only_as_it_was_asked_for() {
    check(vec![
        (200, with(pi("succeeded"), "amount_received", json!(2399)), conflict(reason::AMOUNT_DIFFERS, 2_399, "JPY")),
        (200, with(pi("succeeded"), "amount_received", json!(0)), conflict(reason::AMOUNT_DIFFERS, 0, "JPY")),
        (200, with(pi("succeeded"), "currency", json!("usd")), conflict(reason::CURRENCY_DIFFERS, 2_400, "USD")),
        (200, with(pi("succeeded"), "currency", json!("<b>")), conflict(reason::CURRENCY_DIFFERS, 2_400, "")),
        (200, with(pi("succeeded"), "amount_received", Value::Null), unknown(reason::UNREADABLE)),
        (200, with(pi("succeeded"), "amount_received", json!("2400")), unknown(reason::UNREADABLE)),
        (200, with(pi("succeeded"), "currency", Value::Null), unknown(reason::UNREADABLE)),
    ]);
    let bytes = pi("succeeded").to_string();
    let answer = raw(200, bytes.as_bytes());
    assert_eq!(payment(&answer, &LIVE), conflict(reason::TEST_MODE, 2_400, "JPY"));
    let bytes = with(pi("succeeded"), "livemode", json!(true)).to_string();
    assert_eq!(payment(&raw(200, bytes.as_bytes()), &LIVE), succeeded());
}

#[test]
fn a_payment_that_failed() {
    let card = |intent| error_body("card_error", Some("card_declined"), intent);
    check(vec![
        (402, card(None), declined(None, "card_declined")),
        (402, card(Some(failed_pi("requires_payment_method"))), declined(Some("pi_1"), "card_declined")),
        (402, card(Some(pi("requires_payment_method"))), declined(Some("pi_1"), "card_declined")),
        (402, card(Some(pi("requires_action"))), declined(Some("pi_1"), "card_declined")),
        (402, card(Some(pi("canceled"))), declined(Some("pi_1"), "card_declined")),
        (402, card(Some(pi("succeeded"))), unknown(reason::CONTRADICTORY)),
        (402, card(Some(pi("processing"))), unknown(reason::CONTRADICTORY)),
        (402, card(Some(pi("requires_capture"))), unknown(reason::CONTRADICTORY)),
        (402, error_body("card_error", Some("Not A Code"), None), declined(None, "card_error")),
        (
            402,
            error_body("invalid_request_error", Some("payment_failed"), Some(failed_pi("requires_payment_method"))),
            declined(Some("pi_1"), "payment_failed"),
        ),
        (402, error_body("invalid_request_error", None, None), unknown(reason::UNEXPECTED_STATUS)),
        (402, json!({}), unknown(reason::UNREADABLE)),
    ]);
}

#[test]
fn a_request_that_was_refused() {
    let invalid = |code, intent| error_body("invalid_request_error", code, intent);
    check(vec![
        (400, invalid(Some("parameter_missing"), None), Outcome::refused("parameter_missing")),
        (400, invalid(None, None), Outcome::refused("invalid_request_error")),
        (
            400,
            invalid(Some("resource_missing"), Some(pi("requires_confirmation"))),
            Outcome::refused("resource_missing"),
        ),
        (400, invalid(Some("x"), Some(failed_pi("requires_payment_method"))), Outcome::refused("x")),
        (400, invalid(Some("x"), Some(pi("succeeded"))), unknown(reason::CONTRADICTORY)),
        (400, invalid(Some("x"), Some(pi("processing"))), unknown(reason::CONTRADICTORY)),
        (400, error_body("idempotency_error", None, None), unknown(reason::KEY_REUSED)),
        (400, error_body("api_error", None, None), unknown(reason::SERVER_ERROR)),
        (401, invalid(None, None), credentials()),
        (401, error_body("authentication_error", Some("api_key_expired"), None), credentials()),
        (403, error_body("permission_error", None, None), credentials()),
        (404, invalid(Some("resource_missing"), None), Outcome::refused("resource_missing")),
    ]);
}

#[test]
fn anything_else_may_have_happened() {
    let ok = || error_body("invalid_request_error", None, None);
    check(vec![
        (409, ok(), unknown(reason::KEY_IN_USE)),
        (409, json!("garbage"), unknown(reason::KEY_IN_USE)),
        (429, ok(), Outcome::NotSent { reason: reason::RATE_LIMITED, retry_after: None }),
        (500, error_body("api_error", None, None), unknown(reason::SERVER_ERROR)),
        (502, json!(null), unknown(reason::SERVER_ERROR)),
        (503, ok(), unknown(reason::SERVER_ERROR)),
        (504, ok(), unknown(reason::SERVER_ERROR)),
        (599, ok(), unknown(reason::SERVER_ERROR)),
    ]);
    for status in [100, 201, 202, 204, 206, 301, 302, 303, 307, 308, 405, 408, 410, 413, 422, 424, 425, 600] {
        check(vec![(status, pi("succeeded"), unknown(reason::UNEXPECTED_STATUS))]);
    }
}

#[test]
fn garbage_is_never_definite() {
    let not_an_intent = with(pi("succeeded"), "object", json!("charge")).to_string();
    let odd_id = with(pi("succeeded"), "id", json!("../v1")).to_string();
    let no_status = json!({"id": "pi_1", "object": "payment_intent"}).to_string();
    let bodies: [&[u8]; 9] = [
        b"",
        b"<html>",
        b"null",
        b"[]",
        b"{}",
        b"{\"id\":\"pi_1\"",
        not_an_intent.as_bytes(),
        odd_id.as_bytes(),
        no_status.as_bytes(),
    ];
    for status in [200, 400, 401, 402, 403, 404] {
        for body in bodies {
            let told = String::from_utf8_lossy(body);
            assert_eq!(payment(&raw(status, body), &TEST), unknown(reason::UNREADABLE), "{status} {told}");
            assert_eq!(refund(&raw(status, body), &TEST), unknown(reason::UNREADABLE), "{status} {told}");
        }
    }
}

fn credentials() -> Outcome {
    Outcome::NotSent { reason: reason::CREDENTIALS_REFUSED, retry_after: None }
}

#[test]
fn headers_count() {
    let wait = Some(Duration::from_secs(9));
    let body = error_body("invalid_request_error", None, None).to_string();
    let answer = |status| Answer { retry_after: wait, should_retry: true, ..raw(status, body.as_bytes()) };
    let unknown = |reason| Outcome::Unknown { reason, retry_after: wait };
    assert_eq!(payment(&answer(400), &TEST), unknown(reason::ASKED_TO_RETRY));
    assert_eq!(payment(&answer(409), &TEST), unknown(reason::KEY_IN_USE));
    assert_eq!(payment(&answer(429), &TEST), Outcome::NotSent { reason: reason::RATE_LIMITED, retry_after: wait });
    assert_eq!(payment(&answer(500), &TEST), unknown(reason::SERVER_ERROR));
    let stored = Answer { replayed: true, ..answer(500) };
    assert_eq!(payment(&stored, &TEST), unknown(reason::SERVER_ERROR_STORED));
    let bytes = pi("succeeded").to_string();
    let replayed = Answer { replayed: true, should_retry: true, ..raw(200, bytes.as_bytes()) };
    assert_eq!(payment(&replayed, &TEST), succeeded());
}

#[test]
fn refunds() {
    let made =
        |status: &str| json!({"id": "re_1", "object": "refund", "status": status, "amount": 2400, "currency": "jpy"});
    let reference = "re_1".to_owned();
    let failed = with(made("failed"), "failure_reason", json!("lost_or_stolen_card"));
    let declined_by = |reason: &str| error_body("card_error", Some(reason), None);
    let rows = vec![
        (
            200,
            made("succeeded"),
            Outcome::Succeeded { reference: reference.clone(), amount: 2_400, currency: "JPY".into() },
        ),
        (200, made("pending"), Outcome::Processing { reference: reference.clone(), status: "pending" }),
        (200, made("requires_action"), Outcome::Processing { reference: reference.clone(), status: "requires_action" }),
        (200, failed, declined(Some("re_1"), "lost_or_stolen_card")),
        (200, made("failed"), declined(Some("re_1"), "failed")),
        (200, made("canceled"), declined(Some("re_1"), "canceled")),
        (200, made("odd"), unknown(reason::UNREADABLE)),
        (200, pi("succeeded"), unknown(reason::UNREADABLE)),
        (402, declined_by("refund_failed"), declined(None, "refund_failed")),
        (
            400,
            error_body("invalid_request_error", Some("charge_already_refunded"), None),
            Outcome::refused("charge_already_refunded"),
        ),
        (500, json!({}), unknown(reason::SERVER_ERROR)),
    ];
    for (status, body, outcome) in rows {
        let bytes = body.to_string();
        assert_eq!(refund(&raw(status, bytes.as_bytes()), &LIVE), outcome, "{status} {body}");
    }
    let other = with(made("succeeded"), "amount", json!(1)).to_string();
    let found = refund(&raw(200, other.as_bytes()), &LIVE);
    assert!(matches!(found, Outcome::Conflict { reason: reason::AMOUNT_DIFFERS, gateway_amount: 1, .. }));
}

#[test]
fn questions_by_reference() {
    let missing = error_body("invalid_request_error", Some("resource_missing"), None);
    let other_missing = error_body("invalid_request_error", None, None);
    let rows = vec![
        (200, pi("succeeded"), Lookup::Found(succeeded())),
        (200, pi("canceled"), Lookup::Found(declined(Some("pi_1"), "canceled"))),
        (200, with(pi("succeeded"), "id", json!("pi_2")), Lookup::unknown(reason::UNREADABLE)),
        (200, json!({}), Lookup::unknown(reason::UNREADABLE)),
        (404, missing, Lookup::NotFound),
        (404, other_missing, Lookup::unknown(reason::UNREADABLE)),
        (404, json!("<html>"), Lookup::unknown(reason::UNREADABLE)),
        (401, json!({}), Lookup::unknown(reason::LOOKUP_REFUSED)),
        (403, json!({}), Lookup::unknown(reason::LOOKUP_REFUSED)),
        (429, json!({}), Lookup::unknown(reason::RATE_LIMITED)),
        (500, json!({}), Lookup::unknown(reason::SERVER_ERROR)),
        (302, json!({}), Lookup::unknown(reason::UNEXPECTED_STATUS)),
    ];
    for (status, body, lookup) in rows {
        let bytes = body.to_string();
        assert_eq!(retrieved(&raw(status, bytes.as_bytes()), "pi_1", &TEST), lookup, "{status} {body}");
    }
}

#[test]
fn cancellations() {
    let unknown = |reason| CancelOutcome::Unknown { reason, retry_after: None };
    let state = |intent| error_body("invalid_request_error", Some("payment_intent_unexpected_state"), Some(intent));
    let rows = vec![
        (200, pi("canceled"), CancelOutcome::Cancelled { reference: "pi_1".into() }),
        (200, pi("succeeded"), CancelOutcome::Stands(succeeded())),
        (200, json!({}), unknown(reason::UNREADABLE)),
        (200, with(pi("canceled"), "id", json!("pi_2")), unknown(reason::UNREADABLE)),
        (400, state(pi("succeeded")), CancelOutcome::Stands(succeeded())),
        (400, state(pi("processing")), CancelOutcome::Stands(processing("processing"))),
        (400, state(pi("canceled")), CancelOutcome::Cancelled { reference: "pi_1".into() }),
        (400, state(with(pi("canceled"), "id", json!("pi_2"))), unknown(reason::UNREADABLE)),
        (400, error_body("invalid_request_error", Some("x"), None), CancelOutcome::Refused { code: "x".into() }),
        (
            404,
            error_body("invalid_request_error", Some("resource_missing"), None),
            CancelOutcome::Refused { code: "resource_missing".into() },
        ),
        (409, json!({}), unknown(reason::KEY_IN_USE)),
        (429, json!({}), CancelOutcome::NotSent { reason: reason::RATE_LIMITED, retry_after: None }),
        (500, json!({}), unknown(reason::SERVER_ERROR)),
        (302, json!({}), unknown(reason::UNEXPECTED_STATUS)),
    ];
    for (status, body, outcome) in rows {
        let bytes = body.to_string();
        assert_eq!(cancelled(&raw(status, bytes.as_bytes()), "pi_1", &TEST), outcome, "{status} {body}");
    }
}
