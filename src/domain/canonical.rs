//! The canonical text of a JSON value: RFC 8785 (JCS) with exact numbers.
//!
//! The text is what a fingerprint is taken over, so its bytes may never change for
//! a value that stays the same. It is compared and hashed, never sent.

use crate::domain::json::{Json, Number};
use std::cmp::Ordering;

/// Up to ten to this power ECMAScript writes integers out in full.
const MAX_PLAIN_POINT: usize = 21;

/// Room for an order of a few lines, in bytes.
const USUAL_LENGTH: usize = 512;

/// Below ten to this power ECMAScript writes fractions with an exponent.
const MIN_PLAIN_POINT: i32 = -6;

/// The RFC 8785 layout of `value`: no white space, members sorted by the UTF-16
/// code units of their names, shortest string escapes, ECMAScript number layout.
///
/// Two values have the same text exactly when they are equal but for the order of
/// members. One deliberate deviation: a number is laid out from its exact digits
/// rather than from the nearest double, so 9007199254740993 stays apart from
/// 9007199254740992. Integers of magnitude below 2^53, and doubles in their shortest
/// spelling, give exactly the bytes of RFC 8785.
///
/// Recurses as deep as the value, which [`parse`](crate::domain::json::parse) bounds.
#[must_use]
pub fn canonical(value: &Json<'_>) -> String {
    let mut out = String::with_capacity(USUAL_LENGTH);
    write_value(&mut out, value);
    out
}

fn write_value(out: &mut String, value: &Json<'_>) {
    match value {
        Json::Null => out.push_str("null"),
        Json::Bool(true) => out.push_str("true"),
        Json::Bool(false) => out.push_str("false"),
        Json::Number(number) => write_number(out, number),
        Json::String(text) => write_string(out, text),
        Json::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                write_comma(out, index);
                write_value(out, item);
            }
            out.push(']');
        }
        Json::Object(members) => {
            let mut sorted: Vec<_> = members.iter().collect();
            sorted.sort_by(|(a, _), (b, _)| compare(a, b));
            out.push('{');
            for (index, (name, member)) in sorted.into_iter().enumerate() {
                write_comma(out, index);
                write_string(out, name);
                out.push(':');
                write_value(out, member);
            }
            out.push('}');
        }
    }
}

fn write_comma(out: &mut String, index: usize) {
    if index > 0 {
        out.push(',');
    }
}

/// By UTF-16 code units, which for ASCII are the bytes.
fn compare(a: &str, b: &str) -> Ordering {
    if a.is_ascii() && b.is_ascii() { a.cmp(b) } else { a.encode_utf16().cmp(b.encode_utf16()) }
}

/// `serde_json` escapes exactly what RFC 8785, section 3.2.2.2, asks for; most texts have nothing of it.
fn write_string(out: &mut String, text: &str) {
    if text.bytes().all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\') {
        out.push('"');
        out.push_str(text);
        out.push('"');
    } else {
        out.push_str(&serde_json::Value::from(text).to_string());
    }
}

/// `Number::toString` of ECMAScript (ECMA-262, section 6.1.6.1.20), which RFC 8785
/// refers to; `point` is the `n` of that text.
fn write_number(out: &mut String, number: &Number<'_>) {
    if number.is_negative() {
        out.push('-');
    }
    let (digits, point) = number.digits_and_point();
    match usize::try_from(point) {
        // Only zero has no digits.
        _ if digits.is_empty() => out.push('0'),
        Ok(places) if (digits.len()..=MAX_PLAIN_POINT).contains(&places) => {
            out.push_str(digits);
            out.push_str(&"0".repeat(places - digits.len()));
        }
        Ok(places @ 1..=MAX_PLAIN_POINT) => {
            let (whole, fraction) = digits.split_at(places);
            out.push_str(whole);
            out.push('.');
            out.push_str(fraction);
        }
        _ if (MIN_PLAIN_POINT + 1..=0).contains(&point) => {
            out.push_str("0.");
            for _ in point..0 {
                out.push('0');
            }
            out.push_str(digits);
        }
        _ => write_scientific(out, digits, point - 1),
    }
}

fn write_scientific(out: &mut String, digits: &str, exponent: i32) {
    let (first, rest) = digits.split_at(1);
    out.push_str(first);
    if !rest.is_empty() {
        out.push('.');
        out.push_str(rest);
    }
    out.push_str(if exponent < 0 { "e-" } else { "e+" });
    out.push_str(&exponent.unsigned_abs().to_string());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::json::parse;

    fn canon(text: &str) -> String {
        canonical(&parse(text.as_bytes()).unwrap())
    }

    #[test]
    fn numbers_are_laid_out_as_in_ecmascript() {
        for (text, expected) in [
            ("-0", "0"),
            ("1.0", "1"),
            ("1e0", "1"),
            ("-12.50", "-12.5"),
            ("1e20", "100000000000000000000"),
            ("1e21", "1e+21"),
            ("123456789012345678901", "123456789012345678901"),
            ("1234567890123456789012", "1.234567890123456789012e+21"),
            ("0.000001", "0.000001"),
            ("0.00000123", "0.00000123"),
            ("0.0000001", "1e-7"),
            ("0.000000123", "1.23e-7"),
            ("0.1", "0.1"),
            ("5e-324", "5e-324"),
            ("1.7976931348623157e308", "1.7976931348623157e+308"),
            ("9007199254740993", "9007199254740993"),
            ("9007199254740992", "9007199254740992"),
            ("1e9999", "1e+9999"),
        ] {
            assert_eq!(canon(text), expected);
        }
    }

    #[test]
    fn members_are_sorted_by_utf16_code_units() {
        // The example of RFC 8785, section 3.2.3: the emoji (a surrogate pair) comes
        // before U+FB33, which has the smaller code point but the larger code unit.
        let text = r#"{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"\u00f6":7}"#;
        assert_eq!(
            canon(text),
            "{\"\\r\":2,\"1\":4,\"\u{80}\":6,\"\u{f6}\":7,\"\u{20ac}\":1,\"\u{1f600}\":5,\"\u{fb33}\":3}"
        );
    }

    #[test]
    fn strings_and_structure() {
        assert_eq!(
            canon(r#" { "b" : [ ] , "a" : [ null , true , { } , "\u000f\u000A'B\u0042\u0022\/\\" ] } "#),
            r#"{"a":[null,true,{},"\u000f\n'BB\"/\\"],"b":[]}"#
        );
        // No Unicode normalisation: composed and decomposed stay apart.
        assert_ne!(canon(r#""\u00e9""#), canon(r#""e\u0301""#));
        assert_ne!(canon(r#"{"a":null}"#), canon("{}"));
    }

    #[test]
    fn each_letter_that_is_escaped_is_so_by_itself() {
        for (letter, expected) in [
            ("\"", r#""\"""#),
            ("\\", r#""\\""#),
            ("\u{1f}", r#""\u001f""#),
            ("\n", r#""\n""#),
            (" ", r#"" ""#),
            ("\u{7f}", "\"\u{7f}\""),
        ] {
            assert_eq!(canonical(&Json::String(letter.into())), expected, "{letter:?}");
            let object = Json::Object(vec![(letter.into(), Json::Null)]);
            assert_eq!(canonical(&object), format!("{{{expected}:null}}"), "{letter:?}");
        }
    }
}
