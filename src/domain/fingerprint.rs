//! The fingerprint by which a repeated request is told from another one under the
//! same key.
//!
//! Stored fingerprints outlive releases: the bytes hashed for a version may never
//! change. Another layout is another [`VERSION`].

use std::fmt;

use percent_encoding::percent_decode_str;
use sha2::{Digest, Sha256};

/// The layout that [`fingerprint`] hashes, stored beside each fingerprint.
pub const VERSION: i16 = 1;

/// SHA-256 of what makes a request the same request. Debug shows it in hexadecimal.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// The 32 bytes, as they are stored.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// A stored fingerprint; `None` unless it has exactly 32 bytes.
    #[must_use]
    pub fn from_slice(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The fingerprint of one request: SHA-256 over [`VERSION`], method, path, query and
/// body, each preceded by its length, so that no two different requests share a
/// byte stream.
///
/// `method` and `path` count byte by byte. `query` is the part after `?`, if any: a
/// multiset of names and values, percent-decoded with `+` for a space (the
/// `application/x-www-form-urlencoded` reading that the handlers use), in any order;
/// an empty query is no query. `canonical_body` is the text of
/// [`canonical`](crate::domain::canonical::canonical).
#[must_use]
pub fn fingerprint(method: &str, path: &str, query: Option<&str>, canonical_body: &str) -> Fingerprint {
    let mut pairs = Vec::new();
    for (name, value) in sorted_query(query.unwrap_or_default()) {
        push_framed(&mut pairs, &name);
        push_framed(&mut pairs, &value);
    }
    let mut head = Vec::new();
    push_framed(&mut head, &VERSION.to_be_bytes());
    push_framed(&mut head, method.as_bytes());
    push_framed(&mut head, path.as_bytes());
    push_framed(&mut head, &pairs);
    let body = canonical_body.as_bytes();
    let hash = Sha256::new().chain_update(head).chain_update(length_prefix(body)).chain_update(body);
    Fingerprint(hash.finalize().into())
}

/// Names and values as bytes: decoding to text would replace what is not UTF-8 and
/// make different queries equal.
fn sorted_query(query: &str) -> Vec<(Vec<u8>, Vec<u8>)> {
    let decode = |text: &str| percent_decode_str(&text.replace('+', " ")).collect::<Vec<u8>>();
    let mut pairs: Vec<_> = query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .map(|(name, value)| (decode(name), decode(value)))
        .collect();
    pairs.sort_unstable();
    pairs
}

fn push_framed(out: &mut Vec<u8>, part: &[u8]) {
    out.extend_from_slice(&length_prefix(part));
    out.extend_from_slice(part);
}

/// The length in bytes as 8 bytes, big-endian.
fn length_prefix(part: &[u8]) -> [u8; 8] {
    (part.len() as u64).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &str = r#"{"amount":2400,"currency":"JPY"}"#;

    fn of_query(query: &str) -> Fingerprint {
        fingerprint("POST", "/v1/orders", Some(query), BODY)
    }

    /// If this fails, stored fingerprints no longer match: restore the layout, or
    /// make it version 2.
    #[test]
    fn version_1_never_changes() {
        assert_eq!(VERSION, 1);
        let golden = of_query("b=2&a=%31&empty");
        assert_eq!(format!("{golden:?}"), "772529ff6a67c7b5fda1201105222a5469c4581004d01487e5cc7effb2d375c8");
        let golden = fingerprint("POST", "/v1/orders", None, BODY);
        assert_eq!(format!("{golden:?}"), "7d34157471f260ae4b34d1a4c5153b65da2a28ea87802a142876db0c66100673");
    }

    #[test]
    fn each_part_counts() {
        let base = fingerprint("POST", "/v1/orders", None, BODY);
        for other in [
            fingerprint("PUT", "/v1/orders", None, BODY),
            fingerprint("post", "/v1/orders", None, BODY),
            fingerprint("POST", "/v1/orders/", None, BODY),
            fingerprint("POST", "/v1/orders", Some("a=1"), BODY),
            fingerprint("POST", "/v1/orders", None, "{}"),
            fingerprint("POS", "T/v1/orders", None, BODY),
            fingerprint("POST/v1", "/orders", None, BODY),
        ] {
            assert_ne!(base, other);
        }
    }

    #[test]
    fn query_order_and_encoding_do_not_matter() {
        let none = fingerprint("POST", "/v1/orders", None, BODY);
        assert_eq!(of_query(""), none);
        assert_eq!(of_query("&&"), none);
        for same in ["b=x+y&a=1", "a=1&b=x%20y", "%61=%31&&b=x%20y", "b=x%20y&a=1&"] {
            assert_eq!(of_query(same), of_query("a=1&b=x+y"), "{same}");
        }
        assert_eq!(of_query("a"), of_query("a="));
    }

    #[test]
    fn different_queries_stay_apart() {
        let queries = [
            "a=1", "a=2", "a=1&a=1", "a=1&b", "a%3D1", "a=1%26b", "a=%FF", "a=%FE", "a=%2B", "a=+", "=a", "a", "A=1",
            "=",
        ];
        for (index, first) in queries.iter().enumerate() {
            for second in &queries[index + 1..] {
                assert_ne!(of_query(first), of_query(second), "{first} {second}");
            }
        }
    }

    #[test]
    fn bytes_round_trip() {
        let print = of_query("");
        assert_eq!(Fingerprint::from_slice(print.as_bytes()), Some(print));
        assert_eq!(Fingerprint::from_slice(&[0; 31]), None);
        assert_eq!(Fingerprint::from_slice(&[0; 33]), None);
    }
}
