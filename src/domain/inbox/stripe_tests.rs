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
        ("charge.updated", json!({ "id": "dp_1", "status": "lost" })),
    ] {
        assert_eq!(told(kind, &object), None, "{kind} {object}");
    }
    for body in [&b"\xff\xfe"[..], b"", b"[]", b"{\"id\":1}", b"null", "{".repeat(200_000).as_bytes()] {
        assert_eq!(read(body), Notification::default());
    }
}

#[test]
fn a_notification_names_its_object_and_its_organisation() {
    for live in [Some(true), Some(false), None] {
        let object = json!({ "id": "in_1", "metadata": { "ichido_org_id": "7" } });
        let event = json!({ "id": "evt_1", "type": "invoice.paid", "livemode": live, "data": { "object": object } });
        let [id, kind, object_id, org] = ["evt_1", "invoice.paid", "in_1", "7"].map(|text| Some(text.to_owned()));
        let expected = Notification { id, kind, object_id, org, live, fact: None };
        assert_eq!(read(event.to_string().as_bytes()), expected);
    }
}

#[test]
fn a_refund_and_a_dispute_say_what_they_are_and_how_they_stand() {
    let refund = json!({ "id": "re_1", "charge": "ch_1", "amount": 4, "status": "failed", "created": 3,
        "failure_reason": "lost_or_stolen_card" });
    let dispute =
        json!({ "id": "dp_1", "charge": "ch_1", "payment_intent": "pi_1", "status": "lost", "reason": "fraudulent" });
    let whole = charge(true, 10, &json!({ "id": "pi_1" }));
    for (kind, object, named, status, code, reference) in [
        ("charge.refund.updated", &refund, "re_1", Some("failed"), Some("lost_or_stolen_card"), "ch_1"),
        ("charge.dispute.closed", &dispute, "dp_1", Some("lost"), Some("fraudulent"), "pi_1"),
        ("charge.refunded", &whole, "ch_1", None, None, "pi_1"),
    ] {
        let fact = told(kind, object).unwrap();
        assert_eq!((fact.object.as_deref(), fact.reference.as_deref()), (Some(named), Some(reference)), "{kind}");
        assert_eq!((fact.status.as_deref(), fact.code.as_deref()), (status, code), "{kind}");
    }
    assert_eq!(told("charge.refund.updated", &refund).unwrap().made_at, Some(3));
    assert_eq!(told("charge.dispute.closed", &dispute).unwrap().amount, None);
}

#[test]
fn a_failure_says_why_and_of_which_charge_as_far_as_that_is_told() {
    for (why, code, charge) in [
        (
            json!({ "charge": { "id": "ch_1" }, "code": "card_declined", "decline_code": "lost_card" }),
            Some("lost_card"),
            "ch_1",
        ),
        (json!({ "charge": "ch_1", "code": "card_declined" }), Some("card_declined"), "ch_1"),
        (json!({ "code": "card_declined", "decline_code": "two words" }), Some("card_declined"), "ch_9"),
        (json!({ "code": "" }), None, "ch_9"),
        (json!({ "code": "a".repeat(64) }), Some("a".repeat(64).as_str()), "ch_9"),
        (json!({ "code": "a".repeat(65) }), None, "ch_9"),
        (json!({ "code": "naïve" }), None, "ch_9"),
        (Value::Null, None, "ch_9"),
    ] {
        let mut object = intent();
        object["last_payment_error"] = why;
        let failed = told("payment_intent.payment_failed", &object).unwrap();
        assert_eq!((failed.code.as_deref(), failed.key), (code, format!("pi:pi_1:failed:{charge}")), "{object}");
    }
}

#[test]
fn only_what_has_its_form_is_read_of_an_object() {
    let read = |change: &dyn Fn(&mut Value)| {
        let mut object = intent();
        change(&mut object);
        let fact = told("payment_intent.succeeded", &object).unwrap();
        (fact.currency, fact.order_id, fact.attempt, fact.amount)
    };
    let (eur, order, nine) = (Some("EUR".to_owned()), OrderId::parse(ORDER), Some(9));
    assert_eq!(read(&|_| {}), (eur.clone(), order, Some(2), nine));
    for currency in [json!("eu"), json!("euro"), json!("e-r"), json!("e€"), json!(5), json!("")] {
        assert_eq!(read(&|object| object["currency"] = currency.clone()), (None, order, Some(2), nine), "{currency}");
    }
    for attempt in [json!("0"), json!("-1"), json!("x"), json!("2147483648"), json!(2)] {
        let told = read(&|object| object["metadata"]["ichido_attempt"] = attempt.clone());
        assert_eq!(told, (eur.clone(), order, None, nine), "{attempt}");
    }
    assert_eq!(read(&|object| object["metadata"]["ichido_attempt"] = json!("1")).2, Some(1));
    assert_eq!(read(&|object| object["metadata"]["ichido_order_id"] = json!("1")).1, None);
    assert_eq!(read(&|object| object["amount_received"] = Value::Null).3, Some(10));
}

#[test]
fn an_id_is_short_and_visible() {
    for (id, is_one) in
        [("x".repeat(255), true), ("x".repeat(256), false), (String::new(), false), ("pi 1".to_owned(), false)]
    {
        let fact = told("payment_intent.canceled", &json!({ "id": id }));
        assert_eq!(fact.and_then(|fact| fact.reference), is_one.then_some(id.clone()), "{id}");
    }
}
