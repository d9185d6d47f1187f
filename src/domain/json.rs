//! Strict JSON values that keep what a fingerprint needs: exact numbers, and no
//! member that was silently dropped.
//!
//! `serde_json` rounds numbers to doubles and keeps only the last of two equal
//! member names, so two different bodies could pass for one request. Nothing
//! here knows HTTP, orders or limits on the body's size.

mod number;
mod reader;

pub use number::Number;
use std::borrow::Cow;

/// The deepest nesting of arrays and objects that [`parse`] accepts.
///
/// An order needs three levels. The bound lets everything that walks a parsed
/// value recurse without danger to the stack.
pub const MAX_DEPTH: usize = 32;

/// One JSON value (RFC 8259), at most [`MAX_DEPTH`] deep when it comes from [`parse`].
///
/// Strings are borrowed from the text where it spells them out. `==` compares members in their order; compare
/// [`canonical`](crate::domain::canonical::canonical) forms where order must not matter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Json<'a> {
    /// `null`; not the same as an absent member.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, never rounded.
    Number(Number<'a>),
    /// A string without U+0000, not normalised.
    String(Cow<'a, str>),
    /// The elements in their order.
    Array(Vec<Json<'a>>),
    /// The members in source order, no name twice.
    Object(Vec<(Cow<'a, str>, Json<'a>)>),
}

impl<'a> Json<'a> {
    /// The member `name`; `None` when it is absent or this is not an object.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Json<'a>> {
        let Json::Object(members) = self else {
            return None;
        };
        members.iter().find_map(|(member, value)| (member == name).then_some(value))
    }

    /// The name of the value's JSON type, for messages: `null`, `boolean`,
    /// `number`, `string`, `array` or `object`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Json::Null => "null",
            Json::Bool(_) => "boolean",
            Json::Number(_) => "number",
            Json::String(_) => "string",
            Json::Array(_) => "array",
            Json::Object(_) => "object",
        }
    }
}

/// Why a text was refused, and where.
///
/// Only `pointer` holds text from the input (member names); the message does not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind}")]
pub struct JsonError {
    /// RFC 6901 pointer of the innermost value being read; empty for the whole text.
    pub pointer: String,
    /// Offset from the start of the input, in bytes: where the error is, or where
    /// the string, number or literal that contains it begins.
    pub offset: usize,
    /// What is wrong.
    pub kind: JsonErrorKind,
}

impl JsonError {
    /// The same error, seen from the array or object that holds it under `token`.
    fn within(mut self, token: &str) -> Self {
        let mut pointer = String::new();
        pointer_push(&mut pointer, token);
        pointer.push_str(&self.pointer);
        self.pointer = pointer;
        self
    }
}

/// What is wrong with a text; Display is one sentence for an API client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum JsonErrorKind {
    /// Not one JSON value by RFC 8259; a byte order mark and a lone surrogate count.
    #[error("The text is not valid JSON (RFC 8259).")]
    Syntax,
    /// Bytes that are not UTF-8.
    #[error("JSON must be encoded in UTF-8.")]
    InvalidUtf8,
    /// More than [`MAX_DEPTH`] arrays and objects inside one another.
    #[error("Arrays and objects may be nested at most {MAX_DEPTH} levels deep.")]
    TooDeep,
    /// A member name that the same object already has, once unescaped.
    #[error("A member name may appear only once in an object.")]
    DuplicateMember,
    /// U+0000 in a string or member name, raw or escaped; the database cannot store it.
    #[error("Strings and member names must not contain the character U+0000.")]
    NulCharacter,
    /// Over 400 characters, or an exponent beyond ±9999.
    #[error("A number may have at most 400 characters and an exponent of at most four digits.")]
    NumberTooLong,
}

/// Reads exactly one JSON value (RFC 8259) in time linear in the input's length.
///
/// # Errors
///
/// A [`JsonError`] with the first problem in the input, as [`JsonErrorKind`] lists them.
pub fn parse(bytes: &[u8]) -> Result<Json<'_>, JsonError> {
    let (text, is_utf8) = match std::str::from_utf8(bytes) {
        Ok(text) => (text, true),
        Err(error) => {
            let valid = bytes.get(..error.valid_up_to()).unwrap_or_default();
            (std::str::from_utf8(valid).unwrap_or_default(), false)
        }
    };
    // The part before a broken byte is read all the same: where reading it stops
    // gives the pointer, and a problem before the broken byte comes first.
    let invalid_utf8 = |pointer| JsonError { pointer, offset: text.len(), kind: JsonErrorKind::InvalidUtf8 };
    match reader::read(text) {
        Ok(_) if !is_utf8 => Err(invalid_utf8(String::new())),
        Err(error) if !is_utf8 && error.offset == text.len() => Err(invalid_utf8(error.pointer)),
        result => result,
    }
}

/// Appends one reference token to an RFC 6901 pointer, escaping `~` and `/`.
pub fn pointer_push(pointer: &mut String, token: &str) {
    pointer.push('/');
    for character in token.chars() {
        match character {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            other => pointer.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn get_and_kind() {
        let value = parse(br#"{"a": null, "b": [true, 1, "s"]}"#).unwrap();
        assert_eq!(value.get("a"), Some(&Json::Null));
        assert_eq!(value.get("c"), None);
        assert_eq!(Json::Null.get("a"), None);
        let Some(Json::Array(items)) = value.get("b") else {
            panic!("b is an array");
        };
        let kinds: Vec<_> = items.iter().map(Json::kind).collect();
        assert_eq!(kinds, ["boolean", "number", "string"]);
        assert_eq!(value.kind(), "object");
        assert_eq!(value.get("b").map(Json::kind), Some("array"));
        assert_eq!(Json::Null.kind(), "null");
    }

    #[test]
    fn pointer_tokens_are_escaped() {
        let mut pointer = String::new();
        pointer_push(&mut pointer, "a/b~c");
        pointer_push(&mut pointer, "");
        assert_eq!(pointer, "/a~1b~0c/");
    }

    #[test]
    fn broken_utf8_is_located() {
        let error = parse(b"{\"a\": [1, \"x\xff\"]}").unwrap_err();
        assert_eq!(error.kind, JsonErrorKind::InvalidUtf8);
        assert_eq!((error.pointer.as_str(), error.offset), ("/a/1", 12));
        assert_eq!(parse(b"{} \xc3").unwrap_err().kind, JsonErrorKind::InvalidUtf8);
        // What is wrong before the broken byte is reported first.
        let error = parse(b"[x, \"\xff\"]").unwrap_err();
        assert_eq!((error.kind, error.offset), (JsonErrorKind::Syntax, 1));
    }

    #[test]
    fn the_message_does_not_echo_input() {
        let error = parse(br#"{"secret": 1, "secret": 2}"#).unwrap_err();
        assert_eq!(error.pointer, "/secret");
        assert!(!error.to_string().contains("secret"));
    }
}
