//! What counts as JSON, before its content is looked at.

use crate::support::app::{TestApp, order_body};
use crate::support::bodies::{all_accepted, key_is_unused, refused, spelled};

#[tokio::test]
async fn what_is_not_one_json_value_is_refused() {
    let app = TestApp::start().await;
    let good = order_body().to_string();
    let broken = [
        String::new(),
        " ".to_owned(),
        good[..good.len() - 1].to_owned(),
        format!("{good}x"),
        format!("{good}{good}"),
        format!("\u{feff}{good}"),
        good.replace(":\"JPY\"", ":'JPY'"),
        good.replace("\"JPY\"", "JPY"),
        good.replace("1200", "0x1"),
        good.replace("{\"channel\":\"app\"}", "{\"channel\":\"app\",}"),
        good.replace("{\"channel\":\"app\"}", "{\"channel\":\"a\np\"}"),
        format!("/* x */{good}"),
    ];
    for body in broken {
        assert_ne!(body, good);
        let answer = app.post_bytes(&app.org.token, "refused", body.clone().into_bytes()).await;
        assert_eq!((answer.status, answer.code().as_str()), (400, "invalid_request"), "{body}");
    }
    for quantity in ["01", "+1", "1.", ".5", "NaN", "Infinity", "1e", "--1"] {
        assert_eq!(refused(&app, spelled("/lines/0/quantity", quantity)).await, ["/lines/0/quantity"], "{quantity}");
    }
    key_is_unused(&app, "refused").await;
}

#[tokio::test]
async fn bytes_that_are_not_utf_8_are_refused() {
    let app = TestApp::start().await;
    for broken in [&b"\xff"[..], b"\xc3", b"\xed\xa0\x80", b"\xc0\x80"] {
        let mut body = spelled("/currency", "\"@\"");
        let at = body.iter().position(|byte| *byte == b'@').unwrap();
        body.splice(at..=at, broken.iter().copied());
        assert_eq!(refused(&app, body).await, ["/currency"], "{broken:?}");
    }
    key_is_unused(&app, "refused").await;
}

#[tokio::test]
async fn a_lone_surrogate_is_refused_and_a_pair_is_one_character() {
    let app = TestApp::start().await;
    for lone in [r#""\ud83c""#, r#""\udf75\ud83c""#, r#""\ud83cx""#] {
        assert_eq!(refused(&app, spelled("/lines/0/sku", lone)).await, ["/lines/0/sku"], "{lone}");
    }
    let pair = app.post_bytes(&app.org.token, "K", spelled("/lines/0/sku", r#""\ud83c\udf75""#)).await;
    assert_eq!(pair.json()["lines"][0]["sku"], "\u{1f375}");
}

#[tokio::test]
async fn a_duplicate_member_is_refused_wherever_it_is() {
    let app = TestApp::start().await;
    let good = order_body().to_string();
    for (once, twice, pointer) in [
        ("\"currency\":\"JPY\"", "\"currency\":\"JPY\",\"currency\":\"JPY\"", "/currency"),
        ("\"currency\":\"JPY\"", "\"currency\":\"JPY\",\"curr\\u0065ncy\":\"JPY\"", "/currency"),
        ("\"sku\":\"TEA-01\"", "\"sku\":\"TEA-01\",\"sku\":\"TEA-02\"", "/lines/0/sku"),
        ("\"channel\":\"app\"", "\"channel\":\"app\",\"channel\":\"web\"", "/metadata/channel"),
        ("\"reference\":\"cus_42\"", "\"reference\":\"cus_42\",\"reference\":null", "/customer/reference"),
    ] {
        let body = good.replace(once, twice);
        assert_ne!(body, good);
        assert_eq!(refused(&app, body).await, [pointer], "{twice}");
    }
    key_is_unused(&app, "refused").await;
}

#[tokio::test]
async fn the_character_u_0000_is_refused_and_never_an_error_of_the_server() {
    let app = TestApp::start().await;
    for place in
        ["/lines/0/sku", "/lines/0/description", "/order_reference", "/customer/reference", "/metadata/channel"]
    {
        assert_eq!(refused(&app, spelled(place, r#""a\u0000b""#)).await, [place]);
    }
    let name = order_body().to_string().replace("\"channel\"", r#""chan\u0000nel""#);
    assert_eq!(refused(&app, name).await, ["/metadata"]);
    let raw = order_body().to_string().replace("TEA-01", "TEA\u{0}01");
    assert_eq!(refused(&app, raw).await, ["/lines/0/sku"]);
    // What only looks like it is text.
    all_accepted(&app, [spelled("/lines/0/sku", r#""a\\u0000b""#)]).await;
    key_is_unused(&app, "refused").await;
}

#[tokio::test]
async fn nesting_is_read_32_deep_and_no_deeper() {
    let app = TestApp::start().await;
    // The body itself is one level.
    let nested = |levels: usize| spelled("/x", &format!("{}{}", "[".repeat(levels), "]".repeat(levels)));
    assert_eq!(refused(&app, nested(31)).await, ["/x"]);
    let too_deep = app.post_bytes(&app.org.token, "refused", nested(32)).await;
    assert_eq!((too_deep.status, too_deep.code().as_str()), (400, "invalid_request"));
    assert!(too_deep.json()["errors"][0]["detail"].as_str().unwrap().contains("32 levels"), "{}", too_deep.json());
    // Far deeper than any stack.
    let answer = app.post_bytes(&app.org.token, "refused", "[".repeat(200_000).into_bytes()).await;
    assert_eq!(answer.status, 400);
    key_is_unused(&app, "refused").await;
}

#[tokio::test]
async fn a_number_of_unreasonable_length_is_refused() {
    let app = TestApp::start().await;
    let zeros = |count: usize| format!("1.{}", "0".repeat(count));
    all_accepted(&app, [spelled("/lines/0/quantity", &zeros(398))]).await;
    for bad in [zeros(399), "1e10000".to_owned(), "1".repeat(200_000)] {
        assert_eq!(refused(&app, spelled("/lines/0/quantity", &bad)).await, ["/lines/0/quantity"]);
    }
}
