//! What is taken as a payment, a cancellation or a decision, and what is refused at which place.

use super::tests::{checked, is_wrong};
use super::*;
use serde_json::{Value, json};

#[test]
fn a_payment_has_a_method_and_a_cancellation_has_nothing() {
    assert_eq!(checked(&json!({ "method": "pm_1" }), validate_payment), Ok("pm_1".to_owned()));
    assert_eq!(checked(&json!({}), validate_cancel), Ok(()));
    is_wrong(&json!({}), validate_payment, "/method", "is required");
    is_wrong(&json!({ "method": 1 }), validate_payment, "/method", "must be a string, not number");
    is_wrong(&json!({ "method": "pm_1", "a": 1 }), validate_payment, "/a", "is not a member of this object");
    is_wrong(&json!({ "a": null }), validate_cancel, "/a", "is not a member of this object");
    is_wrong(&json!(null), validate_payment, "", "must be an object, not null");
    is_wrong(&json!(true), validate_cancel, "", "must be an object, not boolean");
}

#[test]
fn a_decision_has_a_reason_and_what_is_done_has_a_proof() {
    let body = |decision: &str, proof: Value| json!({ "decision": decision, "reason": "seen", "proof": proof });
    for &decision in Decision::ALL {
        let read = checked(&body(decision, json!("pi_1")), validate_decision).unwrap();
        assert_eq!(
            (read.decision.as_str(), read.reason.as_str(), read.proof.as_deref()),
            (decision, "seen", Some("pi_1"))
        );
        if decision == "mark_done" {
            let detail = "is required to mark something as done";
            is_wrong(&body(decision, Value::Null), validate_decision, "/proof", detail);
        } else {
            assert_eq!(checked(&body(decision, Value::Null), validate_decision).unwrap().proof, None);
        }
    }
    let known = "must be one of ask_again, continue, mark_done, mark_not_done, start_new, dismiss";
    is_wrong(&body("MARK_DONE", Value::Null), validate_decision, "/decision", known);
    is_wrong(&json!({ "decision": "dismiss" }), validate_decision, "/reason", "is required");
    is_wrong(&body("dismiss", json!("x".repeat(2_001))), validate_decision, "/proof", "must have 1 to 2000 characters");
    let more = json!({ "decision": "dismiss", "reason": "r", "a": 1 });
    is_wrong(&more, validate_decision, "/a", "is not a member of this object");
}

#[test]
fn a_proof_names_a_payment_or_a_refund_only_in_the_gateways_form() {
    let asked = |proof: &str| AskedDecision {
        decision: Decision::MarkDone,
        reason: "seen".to_owned(),
        proof: Some(proof.to_owned()),
    };
    for rest in ["1", "aZ_09", &"x".repeat(252)] {
        let (payment, refund) = (asked(&format!("pi_{rest}")), asked(&format!("re_{rest}")));
        assert_eq!((payment.reference(), payment.refund_reference()), (payment.proof.as_deref(), None));
        assert_eq!((refund.reference(), refund.refund_reference()), (None, refund.proof.as_deref()));
    }
    for rest in ["", "a-b", "a b", "é", &"x".repeat(253)] {
        assert_eq!(asked(&format!("pi_{rest}")).reference(), None, "{rest}");
        assert_eq!(asked(&format!("re_{rest}")).refund_reference(), None, "{rest}");
    }
    let none = AskedDecision { proof: None, ..asked("") };
    assert_eq!((none.reference(), none.refund_reference(), asked("seen by eye").reference()), (None, None, None));
}
