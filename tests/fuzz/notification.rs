//! Notifications out of raw bytes: what is kept of them can be stored and shown, and is the same however they are spelled.

use ichido::domain::inbox::fact::{Fact, What};
use ichido::domain::inbox::stripe::{Notification, read};
use serde_json::Value;

/// The longest key that a client may ask for a fact by.
const MAX_KEY: usize = 600;

/// The input is a body.
pub fn check(data: &[u8]) {
    let read_first = read(data);
    let Ok(event) = serde_json::from_slice::<Value>(data) else {
        assert_eq!(read_first, Notification::default(), "what is no JSON tells nothing");
        return;
    };
    assert_eq!(read(event.to_string().as_bytes()), read_first, "spelling does not count");
    for text in [&read_first.id, &read_first.kind, &read_first.object_id, &read_first.org].into_iter().flatten() {
        assert!(is_visible(text, 255), "{text:?}");
    }
    if let Some(fact) = &read_first.fact {
        assert!(read_first.kind.is_some());
        can_be_kept(fact);
        // When it is delivered and by which notification makes no other fact of it.
        let mut other = event;
        other["id"] = "evt_other".into();
        other["created"] = 1.into();
        let again = read(other.to_string().as_bytes()).fact.unwrap();
        assert_eq!(again, Fact { told_at: Some(1), ..fact.clone() });
    }
}

fn can_be_kept(fact: &Fact) {
    assert!(is_visible(&fact.key, MAX_KEY), "{:?}", fact.key);
    assert!(!fact.is_another_word(), "{:?}", fact.key);
    assert!(is_visible(&fact.key_of_another_word(), MAX_KEY), "{:?}", fact.key);
    assert!(
        [&fact.reference, &fact.object].into_iter().flatten().all(|id| !id.contains(':')),
        "parts of a key are apart"
    );
    for text in [&fact.reference, &fact.object, &fact.refund_key].into_iter().flatten() {
        assert!(is_visible(text, 255), "{text:?}");
    }
    for word in [&fact.status, &fact.code].into_iter().flatten() {
        assert!(is_visible(word, 64), "{word:?}");
    }
    assert!(fact.currency.as_ref().is_none_or(|code| code.len() == 3 && is_visible(code, 3)));
    assert!(fact.attempt.is_none_or(|attempt| attempt > 0));
    assert!(fact.amount.is_some() || !matches!(fact.what, What::Succeeded | What::Refund | What::RefundedTotal));
    let kept: Value = serde_json::from_str(&fact.to_value().to_string()).unwrap();
    assert_eq!(&Fact::from_value(fact.key.clone(), fact.what, fact.reference.clone(), &kept), fact);
}

fn is_visible(text: &str, most: usize) -> bool {
    (1..=most).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
}
