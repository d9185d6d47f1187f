//! What is sent, to the byte.

use super::{ORDER, by_reference, charge, intent, stripe, succeeded};
use crate::support::scripted_http::{ScriptedHttp, Sent, Step};
use ichido::domain::ids::{OrderId, OrgId};
use ichido::gateway::stripe::API_VERSION;
use ichido::gateway::{CancelOutcome, ChargeRequest, Lookup, Outcome, RefundRequest};
use serde_json::json;

fn assert_headers(sent: &Sent, key: Option<&str>) {
    assert_eq!(sent.header("authorization"), Some("Bearer sk_test_canary"));
    assert_eq!(sent.header("stripe-version"), Some(API_VERSION));
    assert_eq!(sent.header("user-agent"), Some(concat!("ichido/", env!("CARGO_PKG_VERSION"))));
    assert_eq!(sent.header("idempotency-key"), key);
    let form = key.map(|_| "application/x-www-form-urlencoded");
    assert_eq!(sent.header("content-type"), form);
}

#[tokio::test]
async fn a_charge() {
    let server = ScriptedHttp::start([Step::json(200, &intent("pi_1", "succeeded", "1"))]).await;
    assert_eq!(stripe(&format!("{}/stripe/", server.base)).charge(charge()).await, succeeded("pi_1"));
    let sent = server.sent();
    assert_eq!(sent[0].line, "POST /stripe/v1/payment_intents");
    assert_headers(&sent[0], Some("ichido-7-1"));
    let expected = format!(
        "amount=2400&currency=jpy&payment_method=pm_canary&confirm=true&error_on_requires_action=true\
         &automatic_payment_methods%5Benabled%5D=true&automatic_payment_methods%5Ballow_redirects%5D=never\
         &metadata%5Bichido_order_id%5D={ORDER}&metadata%5Bichido_org_id%5D=7&metadata%5Bichido_attempt%5D=1"
    );
    assert_eq!(sent[0].body, expected);
}

#[tokio::test]
async fn the_same_charge_is_the_same_bytes() {
    let answer = Step::json(200, &intent("pi_1", "succeeded", "1"));
    let server = ScriptedHttp::start([answer.clone(), answer]).await;
    for gateway in [stripe(&server.base), stripe(&server.base)] {
        gateway.charge(charge()).await;
    }
    let sent = server.sent();
    assert_eq!((&sent[0].line, &sent[0].headers, &sent[0].body), (&sent[1].line, &sent[1].headers, &sent[1].body));
}

#[tokio::test]
async fn amounts_are_in_the_gateways_unit_and_come_back_in_ours() {
    let mut answer = intent("pi_1", "succeeded", "1");
    answer["amount_received"] = json!(500);
    answer["currency"] = json!("isk");
    let server = ScriptedHttp::start([Step::json(200, &answer)]).await;
    let request = ChargeRequest { amount: 5, currency: "ISK".to_owned(), ..charge() };
    let outcome = stripe(&server.base).charge(request).await;
    assert!(server.sent()[0].body.starts_with("amount=500&currency=isk&"));
    let expected = Outcome::Succeeded { reference: "pi_1".to_owned(), amount: 5, currency: "ISK".to_owned() };
    assert_eq!(outcome, expected);
}

#[tokio::test]
async fn a_question_by_reference() {
    let server = ScriptedHttp::start([Step::json(200, &intent("pi_1", "succeeded", "1"))]).await;
    assert_eq!(stripe(&server.base).retrieve(by_reference()).await, Lookup::Found(succeeded("pi_1")));
    let sent = server.sent();
    assert_eq!((sent[0].line.as_str(), sent[0].body.as_str()), ("GET /v1/payment_intents/pi_1", ""));
    assert_headers(&sent[0], None);
}

#[tokio::test]
async fn a_cancellation() {
    let server = ScriptedHttp::start([Step::json(200, &intent("pi_1", "canceled", "1"))]).await;
    let outcome = stripe(&server.base).cancel(by_reference(), "cancel-1".to_owned()).await;
    assert_eq!(outcome, CancelOutcome::Cancelled { reference: "pi_1".to_owned() });
    let sent = server.sent();
    assert_eq!(sent[0].line, "POST /v1/payment_intents/pi_1/cancel");
    assert_eq!(sent[0].body, "cancellation_reason=abandoned");
    assert_headers(&sent[0], Some("cancel-1"));
}

#[tokio::test]
async fn a_refund() {
    let answer = json!({"id": "re_1", "object": "refund", "status": "succeeded", "amount": 1000, "currency": "jpy"});
    let server = ScriptedHttp::start([Step::json(200, &answer)]).await;
    let request = RefundRequest {
        key: "refund-1".to_owned(),
        org_id: OrgId(7),
        order_id: OrderId::parse(ORDER).unwrap(),
        reference: "pi_1".to_owned(),
        amount: 1_000,
        currency: "JPY".to_owned(),
        sent_before: false,
    };
    let outcome = stripe(&server.base).refund(request).await;
    let expected = Outcome::Succeeded { reference: "re_1".to_owned(), amount: 1_000, currency: "JPY".to_owned() };
    assert_eq!(outcome, expected);
    let sent = server.sent();
    assert_eq!(sent[0].line, "POST /v1/refunds");
    let expected = format!(
        "payment_intent=pi_1&amount=1000&metadata%5Bichido_order_id%5D={ORDER}&metadata%5Bichido_org_id%5D=7\
         &metadata%5Bichido_refund_key%5D=refund-1"
    );
    assert_eq!(sent[0].body, expected);
    assert_headers(&sent[0], Some("refund-1"));
}
