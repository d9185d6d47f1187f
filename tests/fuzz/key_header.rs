//! The value of one `Idempotency-Key` line: every value is one key or refused, and a key has one meaning however it is sent.

use ichido::domain::key::{IdempotencyKey, KeyError};

/// The input is the value, byte for byte.
pub fn check(data: &[u8]) {
    let read = IdempotencyKey::parse(data);
    assert_eq!(
        read.as_ref().map(IdempotencyKey::as_str).map_err(|error| *error),
        meant(data).as_deref().map_err(|e| *e)
    );
    let around = [b" \t", data, b"\t "].concat();
    assert_eq!(IdempotencyKey::parse(&around), read, "white space around it is no part of it");
    let Ok(key) = read else {
        return;
    };
    let sent_again = key.field_value();
    assert!(sent_again.bytes().all(|byte| byte.is_ascii_graphic()), "a header may hold it");
    for spelling in [sent_again.as_ref(), &quoted(key.as_str())] {
        let again = IdempotencyKey::parse(spelling.as_bytes());
        assert_eq!(again.as_ref(), Ok(&key), "{spelling}");
        assert_eq!(again.map(|again| again.log_hash()), Ok(key.log_hash()));
    }
    let other_case: String = key.as_str().chars().map(swap_case).collect();
    let other = IdempotencyKey::parse(quoted(&other_case).as_bytes());
    assert_eq!(other.as_ref() == Ok(&key), other_case == key.as_str(), "its case counts");
    assert_eq!(key.log_hash().len(), 16);
}

/// The value's meaning by the words of the contract: the key itself or an RFC 9651 String, then its limits.
fn meant(data: &[u8]) -> Result<String, KeyError> {
    let from = data.iter().position(|byte| !is_blank(*byte)).unwrap_or(data.len());
    let to = data.iter().rposition(|byte| !is_blank(*byte)).map_or(from, |last| last + 1);
    let value = &data[from..to];
    let content = if value.first() == Some(&b'"') { inside(value)? } else { value.to_vec() };
    match content.len() {
        0 => Err(KeyError::Empty),
        256.. => Err(KeyError::TooLong),
        _ if content.iter().any(|byte| !(0x21..=0x7e).contains(byte)) => Err(KeyError::InvalidCharacter),
        _ => Ok(String::from_utf8(content).unwrap()),
    }
}

/// What a quoted string holds: backslashes come in pairs or before a quote, and the first bare quote is the last byte.
fn inside(value: &[u8]) -> Result<Vec<u8>, KeyError> {
    let mut content = Vec::new();
    let mut at = 1;
    while let Some(&byte) = value.get(at) {
        match (byte, value.get(at + 1)) {
            (b'"', None) => return Ok(content),
            (b'\\', Some(&escaped @ (b'"' | b'\\'))) => {
                content.push(escaped);
                at += 1;
            }
            (b'"', Some(_)) | (b'\\', _) => break,
            _ => content.push(byte),
        }
        at += 1;
    }
    Err(KeyError::MalformedQuotedString)
}

fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

fn quoted(key: &str) -> String {
    let escaped: String =
        key.chars().flat_map(|c| ['\\', c].into_iter().skip(usize::from(c != '"' && c != '\\'))).collect();
    format!("\"{escaped}\"")
}

fn swap_case(letter: char) -> char {
    if letter.is_ascii_lowercase() { letter.to_ascii_uppercase() } else { letter.to_ascii_lowercase() }
}
