//! From bytes to canonical form and fingerprint: spelling does not count, everything else does, and other readers agree.

use super::choices::Choices;
use super::spelling::{changed, leaves, respelt};
use ichido::domain::canonical::canonical;
use ichido::domain::differing::differing;
use ichido::domain::fingerprint::{Fingerprint, fingerprint};
use ichido::domain::json::{Json, JsonErrorKind, MAX_DEPTH, parse};
use serde_json::Value;
use std::borrow::Cow;

/// The input is a body.
pub fn check(data: &[u8]) {
    is_read_as_by_serde_json(data);
    let value = match parse(data) {
        Ok(value) => value,
        Err(error) => {
            assert!(error.offset <= data.len());
            assert!(error.pointer.is_empty() || error.pointer.starts_with('/'));
            let opened = data.iter().filter(|byte| matches!(byte, b'[' | b'{')).count();
            assert!(error.kind != JsonErrorKind::TooDeep || opened > MAX_DEPTH);
            return;
        }
    };
    assert!(depth(&value) <= MAX_DEPTH);
    is_laid_out_as_by_rfc_8785(&value);
    // Else it has a number whose canonical exponent is longer than one may be sent: 10e9999.
    if parse(canonical(&value).as_bytes()).is_ok() {
        spelling_does_not_count(&value, &mut Choices::of(data));
        everything_else_counts(&value, &mut Choices::of(data));
    }
}

fn print_of(value: &Json<'_>) -> Fingerprint {
    fingerprint("POST", "/v1/orders", None, &canonical(value))
}

fn spelling_does_not_count(value: &Json<'_>, choices: &mut Choices) {
    for text in [canonical(value), respelt(value, choices), respelt(value, choices)] {
        let again = parse(text.as_bytes()).unwrap_or_else(|error| panic!("{error:?}: {text}"));
        assert_eq!(canonical(&again), canonical(value));
        assert_eq!(print_of(&again), print_of(value));
        assert_eq!(differing(&again, value), Vec::<String>::new());
    }
}

fn everything_else_counts(value: &Json<'_>, choices: &mut Choices) {
    let nth = choices.below(leaves(value));
    let text = changed(value, choices, nth);
    // Inside the deepest container there is no room for another.
    let Ok(other) = parse(text.as_bytes()) else {
        return;
    };
    assert_ne!(print_of(&other), print_of(value), "{text}");
    let pointers = differing(value, &other);
    assert_eq!(pointers.len(), 1, "{text}");
    assert_eq!(differing(&other, value), pointers);
}

fn depth(value: &Json<'_>) -> usize {
    match value {
        Json::Array(items) => 1 + items.iter().map(depth).max().unwrap_or_default(),
        Json::Object(members) => 1 + members.iter().map(|(_, member)| depth(member)).max().unwrap_or_default(),
        _ => 0,
    }
}

/// Whether bytes are JSON, and what they hold, agrees with `serde_json` where the two have the same rules.
pub fn is_read_as_by_serde_json(bytes: &[u8]) {
    match (parse(bytes), serde_json::from_slice::<Value>(bytes)) {
        (Ok(_), Err(error)) => {
            // Doubles have a range, exact numbers do not.
            assert!(error.to_string().starts_with("number out of range"), "{error}");
        }
        (Err(error), Ok(_)) => {
            assert!(!matches!(error.kind, JsonErrorKind::Syntax | JsonErrorKind::InvalidUtf8), "{error:?}");
        }
        (Ok(ours), Ok(theirs)) => assert!(is_same(&ours, &theirs), "{ours:?} {theirs}"),
        (Err(error), Err(_)) => assert!(error.offset <= bytes.len()),
    }
}

fn is_same(ours: &Json<'_>, theirs: &Value) -> bool {
    match (ours, theirs) {
        (Json::Null, Value::Null) => true,
        (Json::Bool(ours), Value::Bool(theirs)) => ours == theirs,
        (Json::String(ours), Value::String(theirs)) => ours == theirs,
        (Json::Array(ours), Value::Array(theirs)) => {
            ours.len() == theirs.len() && ours.iter().zip(theirs).all(|(ours, theirs)| is_same(ours, theirs))
        }
        (Json::Object(ours), Value::Object(theirs)) => {
            let same = |(name, ours)| theirs.get::<str>(name).is_some_and(|theirs| is_same(ours, theirs));
            ours.len() == theirs.len() && ours.iter().map(|(name, ours)| (name.as_ref(), ours)).all(same)
        }
        (Json::Number(_), Value::Number(theirs)) => {
            // It rounds, and not always to the nearest double.
            let (ours, theirs) = (nearest_double(&canonical(ours)), theirs.as_f64().unwrap());
            (ours - theirs).abs() <= ours.abs() * 1e-14 + 1e-300
        }
        _ => false,
    }
}

fn nearest_double(text: &str) -> f64 {
    text.parse().unwrap()
}

/// Where every number is a double in its shortest spelling, or a safe integer, the bytes are those of RFC 8785.
fn is_laid_out_as_by_rfc_8785(value: &Json<'_>) {
    if let Some(rounded) = in_doubles(value) {
        assert_eq!(canonical(value), serde_json_canonicalizer::to_string(&rounded).unwrap());
    }
}

/// The value with doubles for numbers; `None` when one of them is not that very double.
fn in_doubles(value: &Json<'_>) -> Option<Value> {
    Some(match value {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(*value),
        Json::String(text) => Value::String(text.clone().into_owned()),
        Json::Array(items) => Value::Array(items.iter().map(in_doubles).collect::<Option<_>>()?),
        Json::Object(members) => {
            let member = |(name, member): &(Cow<'_, str>, _)| Some((name.clone().into_owned(), in_doubles(member)?));
            Value::Object(members.iter().map(member).collect::<Option<_>>()?)
        }
        Json::Number(number) => {
            let text = canonical(value);
            assert_eq!(number.to_i64(), text.parse().ok(), "{text}");
            let double = nearest_double(&text);
            let theirs = double.is_finite().then(|| serde_json_canonicalizer::to_string(&double).unwrap())?;
            let is_exact = matches!(parse(theirs.as_bytes()), Ok(Json::Number(theirs)) if theirs == *number);
            is_exact.then(|| Value::from(double))?
        }
    })
}
