//! Stripe's table, line by line.

use super::*;
use serde_json::json;

const ORDER: &str = "019caddc-4f3a-7d15-9c42-83b6f0e2a917";

fn told(kind: &str, object: &Value) -> Option<Fact> {
    let event = json!({ "id": "evt_1", "type": kind, "created": 7, "livemode": false, "data": { "object": object } });
    let read = read(event.to_string().as_bytes());
    assert_eq!((read.id.as_deref(), read.kind.as_deref(), read.live), (Some("evt_1"), Some(kind), Some(false)));
    read.fact
}

fn intent() -> Value {
    json!({
        "id": "pi_1", "object": "payment_intent", "amount": 10, "amount_received": 9, "currency": "eur", "created": 5,
        "latest_charge": "ch_9", "metadata": { "ichido_order_id": ORDER, "ichido_attempt": "2" },
        "last_payment_error": { "charge": "ch_1", "code": "card_declined", "decline_code": "lost_card" },
    })
}

fn charge(captured: bool, taken: i64, intent: &Value) -> Value {
    json!({
        "id": "ch_1", "object": "charge", "payment_intent": intent, "amount": 10, "amount_captured": taken,
        "amount_refunded": 4, "captured": captured, "currency": "eur",
    })
}

#[test]
fn each_type_tells_its_fact() {
    let refund = json!({
        "id": "re_1", "object": "refund", "charge": "ch_1", "payment_intent": "pi_1", "amount": 4, "status": "succeeded",
        "currency": "eur", "metadata": { "ichido_refund_key": "ichido-1" },
    });
    let dispute = json!({
        "id": "dp_1", "object": "dispute", "charge": "ch_1", "payment_intent": { "id": "pi_1" }, "amount": 10,
        "status": "needs_response", "reason": "fraudulent",
    });
    let session = json!({ "id": "cs_1", "object": "checkout.session", "payment_status": "paid", "amount_total": 9,
        "payment_intent": "pi_1", "currency": "eur" });
    let pi = json!("pi_1");
    for (kind, object, key, what, amount) in [
        ("payment_intent.succeeded", intent(), "pi:pi_1:succeeded", What::Succeeded, Some(9)),
        ("charge.succeeded", charge(true, 10, &pi), "pi:pi_1:succeeded", What::Succeeded, Some(10)),
        ("charge.succeeded", charge(true, 10, &json!(null)), "pi:ch_1:succeeded", What::Succeeded, Some(10)),
        ("checkout.session.completed", session, "pi:pi_1:succeeded", What::Succeeded, Some(9)),
        ("charge.captured", charge(true, 10, &pi), "pi:pi_1:succeeded", What::Succeeded, Some(10)),
        ("charge.captured", charge(true, 6, &pi), "capture:ch_1:6", What::Succeeded, Some(6)),
        ("payment_intent.payment_failed", intent(), "pi:pi_1:failed:ch_1", What::Failed, None),
        ("payment_intent.canceled", intent(), "pi:pi_1:canceled", What::Canceled, None),
        ("payment_intent.processing", intent(), "pi:pi_1:processing", What::Processing, None),
        ("payment_intent.created", intent(), "pi:pi_1:created", What::Processing, None),
        (
            "payment_intent.amount_capturable_updated",
            intent(),
            "pi:pi_1:amount_capturable_updated",
            What::Processing,
            None,
        ),
        ("refund.created", refund.clone(), "refund:re_1:succeeded", What::Refund, Some(4)),
        ("refund.updated", refund.clone(), "refund:re_1:succeeded", What::Refund, Some(4)),
        ("refund.failed", refund.clone(), "refund:re_1:succeeded", What::Refund, Some(4)),
        ("charge.refunded", charge(true, 10, &pi), "charge:ch_1:refunded_total:4", What::RefundedTotal, Some(4)),
        ("charge.dispute.created", dispute.clone(), "dispute:dp_1:needs_response", What::Dispute, Some(10)),
        ("charge.dispute.funds_withdrawn", dispute, "dispute:dp_1:needs_response", What::Dispute, Some(10)),
    ] {
        let fact = told(kind, &object).unwrap_or_else(|| panic!("{kind} tells nothing"));
        assert_eq!((fact.key.as_str(), fact.what, fact.amount, fact.told_at), (key, what, amount, Some(7)), "{kind}");
    }
    let failed = told("payment_intent.payment_failed", &intent()).unwrap();
    assert_eq!((failed.code.as_deref(), failed.attempt), (Some("lost_card"), Some(2)));
    assert_eq!((failed.order_id, failed.currency.as_deref()), (OrderId::parse(ORDER), Some("EUR")));
    assert_eq!(told("refund.updated", &refund).unwrap().refund_key.as_deref(), Some("ichido-1"));
}

/// Else it could be the key of another fact, or of another word on it.
#[test]
fn no_part_of_a_key_has_a_colon() {
    let mut object = intent();
    object["last_payment_error"]["charge"] = json!("ch_1:otherwise:4:EUR");
    let failed = told("payment_intent.payment_failed", &object).unwrap();
    assert_eq!(failed.key.matches(':').count(), 3, "{}", failed.key);
    assert!(!failed.is_another_word());
}

#[test]
fn what_means_nothing_is_no_fact() {
    let unpaid = json!({ "id": "cs_1", "payment_status": "unpaid", "amount_total": 9, "payment_intent": "pi_1" });
    for (kind, object) in [
        ("charge.succeeded", charge(false, 0, &json!("pi_1"))),
        ("checkout.session.completed", unpaid),
        ("invoice.paid", json!({ "id": "in_1" })),
        ("payment_intent.succeeded", json!({ "amount_received": 1 })),
        ("payment_intent.succeeded", json!({ "id": "pi_\u{0}", "amount_received": 1 })),
        ("payment_intent.succeeded", json!({ "id": "pi_1", "amount_received": 1.5 })),
        ("payment_intent.canceled", json!({ "id": "pi_1:otherwise:1" })),
        ("refund.created", json!({ "id": "re_1", "amount": 1 })),
        ("charge.dispute.created", json!([])),
    ] {
        assert_eq!(told(kind, &object), None, "{kind} {object}");
    }
    for body in [&b"\xff\xfe"[..], b"", b"[]", b"{\"id\":1}", b"null", "{".repeat(200_000).as_bytes()] {
        assert_eq!(read(body), Notification::default());
    }
}
