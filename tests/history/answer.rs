//! From an HTTP answer to the line that tells of it.

use crate::history::line::{Event, Said};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// Letters of a UUID.
const UUID_LENGTH: usize = 36;

/// Tells of an answer; `None` when none came. What the service says of its own effect is taken at its word: `executed: "no"`
/// means that this call can never turn out to have been the one that wrote.
pub fn told(answer: Option<(u16, &[u8], Option<&str>)>) -> Event {
    let Some((status, body, location)) = answer else { return Event::NoAnswer(Said::default()) };
    let json: Value = serde_json::from_slice(body).unwrap_or(Value::Null);
    let text = |member: &str| json.get(member).and_then(Value::as_str).map(str::to_owned);
    let id = text(if status < 400 { "id" } else { "order_id" });
    let said = Said {
        status: Some(status),
        code: text("code").filter(|_| status >= 400),
        order_id: id.or_else(|| location.and_then(|path| path.rsplit('/').next()).map(str::to_owned)),
        amount: json.get("amount").and_then(Value::as_i64),
        answer: Some(sha256(&[body])),
        ids: ids_in(&[String::from_utf8_lossy(body).as_ref(), location.unwrap_or_default()]),
    };
    match status {
        200 | 201 | 402 => Event::Ok(said),
        400.. if text("executed").as_deref() == Some("no") => Event::Fail(said),
        _ => Event::NoAnswer(said),
    }
}

/// SHA-256 of some parts, in hex. Each part's length goes in, so that none can borrow from its neighbour.
pub fn sha256(parts: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hash.finalize().iter().fold(String::new(), |mut hex, byte| {
        // Writing into a string cannot fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

fn ids_in(texts: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for text in texts {
        for word in text.split(|c: char| !c.is_ascii_hexdigit() && c != '-') {
            if word.len() == UUID_LENGTH && word.matches('-').count() == 4 && !found.iter().any(|id| id == word) {
                found.push(word.to_owned());
            }
        }
    }
    found
}
