//! Which texts the reader refuses, for what reason and at what place.

use super::super::parse;
use super::{Json, JsonErrorKind, MAX_DEPTH};

/// `(kind, pointer, offset)` of the error that `text` must give.
fn refusal(text: &str) -> (JsonErrorKind, String, usize) {
    let error = parse(text.as_bytes()).unwrap_err();
    (error.kind, error.pointer, error.offset)
}

#[test]
fn one_value_and_nothing_else() {
    use JsonErrorKind::Syntax;
    for (text, pointer, offset) in [
        ("", "", 0),
        ("  ", "", 2),
        ("\u{feff}1", "", 0),
        ("1 2", "", 2),
        ("nullx", "", 4),
        ("tru", "", 0),
        ("NaN", "", 0),
        ("[1 2]", "", 3),
        ("[1,]", "/1", 3),
        ("[", "/0", 1),
        ("[1", "", 2),
        ("{", "", 1),
        ("{\"a\"", "/a", 4),
        ("{\"a\" 1}", "/a", 5),
        ("{\"a\":}", "/a", 5),
        ("{\"a\":1,}", "", 7),
        ("{a:1}", "", 1),
        ("{\"a\":[0,{\"b/c\":01}]}", "/a/1/b~1c", 15),
        ("/* no */ 1", "", 0),
        ("\"abc", "", 4),
        ("\"abc\\", "", 5),
        ("\"a\nb\"", "", 2),
        ("'a'", "", 0),
        ("\u{a0}1", "", 0),
        ("1\0", "", 1),
    ] {
        assert_eq!(refusal(text), (Syntax, pointer.to_owned(), offset), "{text:?}");
    }
}

#[test]
fn escapes() {
    let value = parse(br#""\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00""#).unwrap();
    assert_eq!(value, Json::String("\"\\/\u{8}\u{c}\n\r\t\u{e9}\u{1f600}".into()));
    for text in [r#""\x""#, r#""\u12""#, r#""\ud83d""#, r#""\ude00""#, r#""\ud83d\u0041""#, r#""\ud83d\ud83d""#] {
        assert_eq!(refusal(text).0, JsonErrorKind::Syntax, "{text}");
    }
}

#[test]
fn nul_is_refused_wherever_it_hides() {
    for text in ["{\"a\": [\"x\\u0000\"]}", "{\"a\": [\"\\\\\\u0000\"]}", "{\"a\": [\"x\0\"]}"] {
        let (kind, pointer, _) = refusal(text);
        assert_eq!(kind, JsonErrorKind::NulCharacter);
        assert_eq!(pointer, "/a/0");
    }
    for text in ["{\"\\u0000\": 1}", "{\"\0\": 1}"] {
        let (kind, pointer, _) = refusal(text);
        assert_eq!((kind, pointer.as_str()), (JsonErrorKind::NulCharacter, ""));
    }
    // An escaped backslash before the letters is not an escape of U+0000.
    assert!(parse(br#""\\u0000""#).is_ok());
}

#[test]
fn duplicates_are_found_among_few_and_among_many() {
    for members in [2_usize, 15, 16, 17, 18, 40] {
        let names: Vec<_> = (0..members).map(|n| format!("\"m{n}\":{n}")).collect();
        for repeated in 0..members {
            let text = format!("{{{},\"\\u006d{repeated}\":0}}", names.join(","));
            let error = parse(text.as_bytes()).unwrap_err();
            assert_eq!((error.kind, error.pointer), (JsonErrorKind::DuplicateMember, format!("/m{repeated}")));
        }
        assert!(parse(format!("{{{},\"m\":0}}", names.join(",")).as_bytes()).is_ok());
    }
}

#[test]
fn duplicates_are_found_after_unescaping() {
    let expected = (JsonErrorKind::DuplicateMember, "/o/a".to_owned(), 14);
    assert_eq!(refusal(r#"{"o": {"a":1, "a":1}}"#), expected);
    assert_eq!(refusal(r#"{"o": {"a":1, "\u0061":2}}"#), expected);
    assert!(parse(br#"{"a": {"a": 1}, "A": 1, "\u00e1": [{"a": 1}, {"a": 1}]}"#).is_ok());
}

#[test]
fn depth_is_bounded() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    assert!(parse(nested(MAX_DEPTH).as_bytes()).is_ok());
    let (kind, pointer, offset) = refusal(&nested(MAX_DEPTH + 1));
    assert_eq!((kind, offset), (JsonErrorKind::TooDeep, MAX_DEPTH));
    assert_eq!(pointer, "/0".repeat(MAX_DEPTH));
    assert_eq!(refusal(&"[".repeat(200_000)).0, JsonErrorKind::TooDeep);
    let objects = "{\"a\":".repeat(200_000);
    assert_eq!(refusal(&objects).0, JsonErrorKind::TooDeep);
}

#[test]
fn number_limits_have_their_own_kind() {
    assert_eq!(refusal(r#"{"n": 1e10000}"#), (JsonErrorKind::NumberTooLong, "/n".to_owned(), 6));
    assert_eq!(refusal(&"9".repeat(100_000)).0, JsonErrorKind::NumberTooLong);
}

#[test]
fn large_input_is_read_in_linear_time() {
    let array = format!("[{}0]", "1,".repeat(100_000));
    assert!(matches!(parse(array.as_bytes()), Ok(Json::Array(items)) if items.len() == 100_001));
    let members: Vec<String> = (0..20_000).map(|n| format!("\"m{n}\":{n}")).collect();
    let object = format!("{{{}}}", members.join(","));
    assert!(matches!(parse(object.as_bytes()), Ok(Json::Object(all)) if all.len() == 20_000));
}
