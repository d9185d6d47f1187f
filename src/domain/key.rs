//! The client's name for one command: the `Idempotency-Key`.
//!
//! Here is only what a single field value means. That the header is there exactly
//! once is for the HTTP layer to check.

use std::borrow::Cow;
use std::fmt;

use sha2::{Digest, Sha256};

/// A valid idempotency key: 1–255 visible ASCII characters, case-sensitive.
///
/// Debug shows its length only, because a key may carry the client's data; use
/// [`log_hash`](Self::log_hash) to tell keys apart in logs.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct IdempotencyKey(String);

/// Why a field value is not an idempotency key; Display is one sentence for an API
/// client and never contains the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// Nothing but white space, or an empty quoted string.
    #[error("The Idempotency-Key must not be empty.")]
    Empty,
    /// More than [`IdempotencyKey::MAX_LENGTH`] characters, once unquoted.
    #[error("The Idempotency-Key must have at most {} characters.", IdempotencyKey::MAX_LENGTH)]
    TooLong,
    /// A space inside, a control character or a byte that is not ASCII.
    #[error("The Idempotency-Key must consist of visible ASCII characters.")]
    InvalidCharacter,
    /// An opening quote without a whole quoted string after it, or with more behind it.
    #[error("An Idempotency-Key that begins with a quote must be one complete quoted string (RFC 9651).")]
    MalformedQuotedString,
}

impl IdempotencyKey {
    /// The longest key, in characters, which are bytes here.
    pub const MAX_LENGTH: usize = 255;

    /// Reads a field value: the key itself, or the key as an RFC 9651 String (the
    /// form of the IETF draft for this header), so that `"abc"` and `abc` are the
    /// same key. Spaces and tabs around it are not part of it (RFC 9110, section 5.5).
    ///
    /// # Errors
    ///
    /// A [`KeyError`] for every value that is not exactly one key.
    pub fn parse(raw: &[u8]) -> Result<Self, KeyError> {
        let trimmed = trim_whitespace(raw);
        let content = match trimmed.strip_prefix(b"\"") {
            Some(rest) => unquote(rest)?,
            None => trimmed.to_vec(),
        };
        if content.is_empty() {
            return Err(KeyError::Empty);
        }
        if content.len() > Self::MAX_LENGTH {
            return Err(KeyError::TooLong);
        }
        if !content.iter().all(u8::is_ascii_graphic) {
            return Err(KeyError::InvalidCharacter);
        }
        let key = String::from_utf8(content).map_err(|_| KeyError::InvalidCharacter)?;
        Ok(Self(key))
    }

    /// The key, unquoted. One that itself begins with a quote (sent as `"\"…"`) is
    /// not its own field value: it must be quoted again to be parsed again.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// A field value that is read as this key again: the key itself where that is one, else quoted.
    #[must_use]
    pub fn field_value(&self) -> Cow<'_, str> {
        if self.0.starts_with('"') {
            return Cow::Owned(format!("\"{}\"", self.0.replace('\\', "\\\\").replace('"', "\\\"")));
        }
        Cow::Borrowed(&self.0)
    }

    /// The first 16 hexadecimal digits of the key's SHA-256, to recognise a key in
    /// logs without showing it.
    #[must_use]
    pub fn log_hash(&self) -> String {
        let digest = Sha256::digest(self.0.as_bytes());
        let first = digest.iter().take(8);
        let number = first.fold(0, |number, &byte| (number << 8) | u64::from(byte));
        format!("{number:016x}")
    }
}

impl fmt::Debug for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IdempotencyKey({} characters)", self.0.len())
    }
}

fn trim_whitespace(mut value: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = value {
        value = rest;
    }
    value
}

/// The content of an sf-string (RFC 9651, section 4.2.5) after its opening quote.
/// A field that is not only this string (parameters, a second value) is malformed.
fn unquote(rest: &[u8]) -> Result<Vec<u8>, KeyError> {
    let mut content = Vec::new();
    let mut bytes = rest.iter().copied();
    loop {
        match bytes.next() {
            Some(b'"') if bytes.len() == 0 => return Ok(content),
            Some(b'"') | None => return Err(KeyError::MalformedQuotedString),
            Some(b'\\') => match bytes.next() {
                Some(byte @ (b'"' | b'\\')) => content.push(byte),
                _ => return Err(KeyError::MalformedQuotedString),
            },
            Some(byte) => content.push(byte),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(raw: &str) -> Result<String, KeyError> {
        IdempotencyKey::parse(raw.as_bytes()).map(|key| key.as_str().to_owned())
    }

    #[test]
    fn bare_and_quoted_are_the_same_key() {
        for raw in ["abc", "\"abc\"", " \tabc\t ", " \"abc\" "] {
            assert_eq!(key(raw), Ok("abc".to_owned()), "{raw:?}");
        }
        assert_ne!(key("ABC"), key("abc"));
        assert_eq!(key(r#""a\"b\\c""#), Ok(r#"a"b\c"#.to_owned()));
        assert_eq!(key(r#"a"b\c"#), Ok(r#"a"b\c"#.to_owned()));
        assert_eq!(key("!~"), Ok("!~".to_owned()));
    }

    #[test]
    fn length_is_counted_without_quotes() {
        let longest = "k".repeat(IdempotencyKey::MAX_LENGTH);
        assert_eq!(key(&longest), Ok(longest.clone()));
        assert_eq!(key(&format!("\"{longest}\"")), Ok(longest.clone()));
        assert_eq!(key(&format!("{longest}k")), Err(KeyError::TooLong));
        assert_eq!(key(&format!("\"{longest}k\"")), Err(KeyError::TooLong));
        assert_eq!(key(&"k".repeat(4000)), Err(KeyError::TooLong));
        let escaped = format!("\"{}\"", "\\\"".repeat(IdempotencyKey::MAX_LENGTH));
        assert!(key(&escaped).is_ok());
        for raw in ["", " ", "\t ", "\"\""] {
            assert_eq!(key(raw), Err(KeyError::Empty), "{raw:?}");
        }
    }

    #[test]
    fn only_visible_ascii() {
        for raw in ["a b", "a\tb", "a\nb", "a\0", "\x7f", "é", "\"a b\"", "\" a\"", "\"é\""] {
            assert_eq!(key(raw), Err(KeyError::InvalidCharacter), "{raw:?}");
        }
        let not_utf8 = IdempotencyKey::parse(b"a\xff");
        assert_eq!(not_utf8, Err(KeyError::InvalidCharacter));
    }

    #[test]
    fn quoted_strings_are_whole() {
        for raw in ["\"", "\"abc", "\"abc\\\"", "\"abc\";p=1", "\"a\", \"b\"", "\"a\"b", "\"\"\"", "\"\\a\"", "\"\\"] {
            assert_eq!(key(raw), Err(KeyError::MalformedQuotedString), "{raw:?}");
        }
    }

    #[test]
    fn a_field_value_is_read_as_the_same_key() {
        for (raw, expected) in [("abc", "abc"), (r#"a"b\c"#, r#"a"b\c"#), (r#""\"b\\c""#, r#""\"b\\c""#)] {
            let key = IdempotencyKey::parse(raw.as_bytes()).unwrap();
            assert_eq!(key.field_value(), expected);
            assert_eq!(IdempotencyKey::parse(key.field_value().as_bytes()), Ok(key));
        }
    }

    #[test]
    fn debug_and_log_hash_hide_the_key() {
        let key = IdempotencyKey::parse(b"abc").unwrap();
        assert_eq!(format!("{key:?}"), "IdempotencyKey(3 characters)");
        assert_eq!(key.log_hash(), "ba7816bf8f01cfea");
    }
}
