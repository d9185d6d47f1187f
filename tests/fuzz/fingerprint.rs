//! Fingerprints of requests: a query is a multiset of decoded pairs, and every other part counts byte by byte.

use super::choices::Choices;
use ichido::domain::fingerprint::{Fingerprint, fingerprint};
use std::fmt::Write as _;

/// The input is a method, a path and a query, a line each.
pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let mut lines = text.splitn(3, '\n');
    let mut line = || lines.next().unwrap_or_default();
    let (method, path, query) = (line(), line(), line());
    let of_query = |query: &str| fingerprint(method, path, Some(query), "{}");
    let print = of_query(query);
    assert_eq!(Fingerprint::from_slice(print.as_bytes()), Some(print));

    let mut pairs: Vec<_> = query.split('&').filter(|pair| !pair.is_empty()).collect();
    assert_eq!(pairs.is_empty(), print == fingerprint(method, path, None, "{}"), "an empty query is none");
    Choices::of(data).shuffle(&mut pairs);
    let shuffled = pairs.join("&&");
    assert_eq!(of_query(&shuffled), print, "the order of pairs does not count");
    assert_eq!(of_query(&encoded(&shuffled)), print, "nor how they are encoded");
    assert_ne!(of_query(&format!("{query}&=")), print, "how many there are does");
    if let Some((first, others)) = pairs.split_first() {
        assert_ne!(of_query(&others.join("&")), print);
        assert_ne!(of_query(&format!("{shuffled}x")), print);
        assert_ne!(of_query(&format!("x{shuffled}")), print);
        let twice = format!("{first}&{shuffled}");
        assert_ne!(of_query(&twice), print);
    }

    let other = |method: &str, path: &str, body: &str| fingerprint(method, path, Some(query), body);
    assert_ne!(other(&format!("{method}x"), path, "{}"), print);
    assert_ne!(other(method, &format!("{path}x"), "{}"), print);
    assert_ne!(other(method, path, "[]"), print);
    if let Some(first) = path.chars().next() {
        assert_ne!(
            other(&format!("{method}{first}"), &path[first.len_utf8()..], "{}"),
            print,
            "parts do not run together"
        );
    }
}

/// The same query with everything percent-encoded that neither divides it nor is encoded already.
fn encoded(query: &str) -> String {
    query.bytes().fold(String::new(), |mut out, byte| {
        match byte {
            b'+' => out.push_str("%20"),
            b'%' | b'&' | b'=' => out.push(char::from(byte)),
            _ if byte.is_ascii_alphanumeric() => out.push(char::from(byte)),
            _ => write!(out, "%{byte:02x}").unwrap(),
        }
        out
    })
}
