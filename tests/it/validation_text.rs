//! Lengths and forms of texts. Lengths count Unicode code points.

use crate::support::app::TestApp;
use crate::support::bodies::{all_accepted, all_refused, key_is_unused, refused, with};
use serde_json::{Value, json};

/// Four bytes in UTF-8, two units in UTF-16, one code point.
const WIDE: &str = "\u{1f375}";

/// A text that is `max` long is accepted in ASCII and in wide characters; one more is refused, in both.
async fn longest(app: &TestApp, pointer: &str, max: usize) {
    for (kind, character) in [("narrow", "a"), ("wide", WIDE)] {
        let body = |length: usize| with(pointer, json!(character.repeat(length)));
        let answer = app.post(&format!("{pointer}-{kind}"), &body(max)).await;
        assert_eq!(answer.status, 201, "{pointer} {kind}: {}", answer.json());
        assert_eq!(refused(app, body(max + 1).to_string()).await, [pointer], "{kind}");
    }
}

/// An empty text is refused, one character is accepted.
async fn not_empty(app: &TestApp, pointer: &str) {
    assert_eq!(refused(app, with(pointer, json!("")).to_string()).await, [pointer]);
    let answer = app.post(&format!("{pointer}-one"), &with(pointer, json!("é"))).await;
    assert_eq!(answer.status, 201, "{pointer}: {}", answer.json());
}

#[tokio::test]
async fn an_order_reference_has_1_to_64_characters() {
    let app = TestApp::start().await;
    not_empty(&app, "/order_reference").await;
    longest(&app, "/order_reference", 64).await;
    key_is_unused(&app, "refused").await;
}

#[tokio::test]
async fn a_customer_reference_has_1_to_255_characters() {
    let app = TestApp::start().await;
    not_empty(&app, "/customer/reference").await;
    longest(&app, "/customer/reference", 255).await;
}

#[tokio::test]
async fn a_sku_has_1_to_64_characters() {
    let app = TestApp::start().await;
    not_empty(&app, "/lines/0/sku").await;
    longest(&app, "/lines/0/sku", 64).await;
}

#[tokio::test]
async fn a_description_has_0_to_500_characters() {
    let app = TestApp::start().await;
    all_accepted(&app, [with("/lines/0/description", json!("")).to_string().into_bytes()]).await;
    longest(&app, "/lines/0/description", 500).await;
}

#[tokio::test]
async fn a_metadata_value_has_0_to_500_characters() {
    let app = TestApp::start().await;
    all_accepted(&app, [with("/metadata/channel", json!("")).to_string().into_bytes()]).await;
    longest(&app, "/metadata/channel", 500).await;
}

#[tokio::test]
async fn a_metadata_name_has_1_to_40_characters() {
    let app = TestApp::start().await;
    let named = |name: &str| with("/metadata", json!({ name: "v" }));
    for character in ["a", WIDE] {
        let too_long = character.repeat(41);
        assert_eq!(refused(&app, named(&too_long).to_string()).await, [format!("/metadata/{too_long}")]);
    }
    all_refused(&app, vec![(named(""), &["/metadata/"])]).await;
    let good = ["a".repeat(40), WIDE.repeat(40), "a".to_owned(), "a/b~c".to_owned(), " ".to_owned()];
    all_accepted(&app, good.map(|name| named(&name).to_string().into_bytes())).await;
}

#[tokio::test]
async fn the_pointer_to_a_metadata_value_is_escaped() {
    let app = TestApp::start().await;
    all_refused(&app, vec![(with("/metadata", json!({ "a/b~c": 1 })), &["/metadata/a~1b~0c"])]).await;
}

#[tokio::test]
async fn an_email_address_has_one_at_sign_between_two_parts_without_white_space() {
    let app = TestApp::start().await;
    let local = |length: usize| format!("{}@example.com", "a".repeat(length - "@example.com".len()));
    let bad = ["", "a", "@", "a@", "@b", "a@b@c", "a b@c", "a@b c", "a@b\n", "\u{3000}a@b", &local(255)];
    for bad in bad {
        let body = with("/customer/email", json!(bad)).to_string();
        assert_eq!(refused(&app, body).await, ["/customer/email"], "{bad:?}");
    }
    let good = ["a@b", "o'brien+tag@sub.example.com", "\"x\"@y", "寿司@例え.jp", &local(254)];
    all_accepted(&app, good.map(|good| with("/customer/email", json!(good)).to_string().into_bytes())).await;
}

#[tokio::test]
async fn texts_come_back_exactly_as_they_were_sent() {
    let app = TestApp::start().await;
    // Quotes, escapes, controls, right-to-left, a lone combining mark, both forms of é, SQL, format strings.
    let odd = "\"\\/\u{8}\t\u{1f}\u{7f}\u{202e}\u{301} é e\u{301} '; DROP TABLE orders; -- %s {} \u{10ffff}";
    let mut body = with("/lines/0/description", json!(odd));
    body["order_reference"] = Value::from(odd);
    body["metadata"] = json!({ "odd": odd });
    let answer = app.post("K", &body).await;
    let id = answer.id();
    let order = answer.json();
    let now = app.get(&format!("/v1/orders/{id}"), "/v1/orders/{order_id}").await;
    assert_eq!((answer.status, &now.body), (201, &answer.body));
    for place in ["/lines/0/description", "/order_reference", "/metadata/odd"] {
        assert_eq!(order.pointer(place), Some(&json!(odd)), "{place}");
    }
}
