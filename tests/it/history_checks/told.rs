//! What an HTTP answer becomes in a history.

use crate::history::answer::{sha256, told};
use crate::history::line::Event;

const ID: &str = "01931b66-7d50-7c8a-8e3d-3f0f0a3f3a11";

#[test]
fn answers_are_sorted_by_what_they_say_of_the_effect() {
    let order = format!(r#"{{"id":"{ID}","amount":2400}}"#);
    let problem =
        |code: &str, executed: &str| format!(r#"{{"code":"{code}","executed":"{executed}","order_id":"{ID}"}}"#);
    for (status, body, expected) in [
        (201, order.clone(), "ok"),
        (200, order.clone(), "ok"),
        (402, problem("payment_declined", "yes"), "ok"),
        (202, order.clone(), "no_answer"),
        (409, problem("request_in_flight", "no"), "fail"),
        (422, problem("idempotency_key_reused", "no"), "fail"),
        (503, problem("unavailable", "no"), "fail"),
        (503, problem("outcome_unknown", "unknown"), "no_answer"),
        (500, String::new(), "no_answer"),
        (400, String::from("not from us"), "no_answer"),
    ] {
        let event = told(Some((status, body.as_bytes(), None)));
        let (kind, said) = match event {
            Event::Ok(said) => ("ok", said),
            Event::Fail(said) => ("fail", said),
            Event::NoAnswer(said) => ("no_answer", said),
            Event::Invoke(_) => panic!("an answer is no call"),
        };
        assert_eq!(kind, expected, "{status} {body}");
        assert_eq!((said.status, said.answer), (Some(status), Some(sha256(&[body.as_bytes()]))));
        assert_eq!(said.order_id.is_some(), body.contains(ID), "{status} {body}");
    }
}

#[test]
fn every_id_of_an_answer_is_kept() {
    let other = "01931b66-7d50-7c8a-8e3d-3f0f0a3f3a12";
    let body = format!(r#"{{"id":"{ID}","note":"see {ID}, {ID}0 and deadbeef"}}"#);
    let Event::Ok(said) = told(Some((201, body.as_bytes(), Some(&format!("/v1/orders/{other}"))))) else {
        panic!("201 is an acknowledgement");
    };
    assert_eq!(said.ids, [ID, other]);
    assert!(matches!(told(None), Event::NoAnswer(said) if said.status.is_none()));
}
