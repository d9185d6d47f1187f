//! Signatures of notifications: what is signed is believed however its header is spelled, and nothing else ever is.

use super::choices::Choices;
use hmac::{Hmac, KeyInit, Mac};
use ichido::domain::inbox::signature::{Labelled, TOLERANCE_SECONDS, Verdict, verify};
use secrecy::SecretString;
use sha2::Sha256;
use std::fmt::Write as _;

/// Our clock, in seconds since 1970.
const NOW: i64 = 1_492_774_577;
const SECRETS: [(&str, &str); 3] = [("empty", ""), ("new", "whsec_new"), ("old", "whsec_test")];
/// Stands in the input's header for the right signature, which no fuzzer would find.
const SIGN: &str = "SIGN";

/// The input is a header's line, and the body after it. `SIGN` in the header becomes the signature of that time and body.
pub fn check(data: &[u8]) {
    let end = data.iter().position(|byte| *byte == b'\n').unwrap_or(data.len());
    let (line, body) = (&data[..end], data.get(end + 1..).unwrap_or_default());
    let mut header = line.to_vec();
    if let Ok(text) = std::str::from_utf8(line) {
        let time = times(text).next().unwrap_or_default();
        header = text.replace(SIGN, &signed("whsec_test", time, body)).into_bytes();
    }
    judged(&header, body);
    believed(&mut Choices::of(data), line, body);
}

/// Whatever is believed was signed with a secret of ours, lately.
fn judged(header: &[u8], body: &[u8]) {
    let secrets = secrets();
    let verified = verify(Some(header), body, &secrets, NOW);
    for now in [i64::MIN, i64::MAX] {
        let then = verify(Some(header), body, &secrets, now);
        assert_ne!(then.verdict, Verdict::Valid);
        assert_eq!(then.label, verified.label);
    }
    let without = verify(Some(header), body, &secrets[..1], NOW).verdict;
    let readable = verified.verdict != Verdict::Malformed;
    assert_eq!(without, if readable { Verdict::NoSecret } else { Verdict::Malformed });
    assert_eq!(verified.skew_seconds.is_some(), readable);
    if !matches!(verified.verdict, Verdict::Valid | Verdict::OutOfTolerance) {
        assert_eq!(verified.label, None);
        return;
    }
    let text = std::str::from_utf8(header).unwrap();
    let time = times(text).next().unwrap();
    let skew = NOW - time.parse::<i64>().unwrap();
    assert_eq!(verified.skew_seconds, Some(skew));
    assert_eq!(verified.verdict == Verdict::Valid, skew.abs() <= TOLERANCE_SECONDS);
    let label = verified.label.unwrap();
    let (_, secret) = SECRETS.iter().find(|(name, _)| *name == label).unwrap();
    assert!(!secret.is_empty());
    assert!(text.to_ascii_lowercase().contains(&signed(secret, time, body)));
    let longer = [body, b" "].concat();
    assert_eq!(verify(Some(header), &longer, &secrets, NOW).verdict, Verdict::Mismatch);
    assert_eq!(verify(None, body, &secrets, NOW).verdict, Verdict::NoHeader);
}

/// A right signature is believed among others, and no longer with one digit changed.
fn believed(choices: &mut Choices, junk: &[u8], body: &[u8]) {
    let (label, secret) = SECRETS[1 + choices.below(2)];
    let skew = i64::try_from(choices.below(601)).unwrap() - TOLERANCE_SECONDS;
    let time = (NOW - skew).to_string();
    let right = signed(secret, &time, body);
    let others: String = String::from_utf8_lossy(junk).chars().filter(|c| !matches!(c, ',' | '=')).take(40).collect();
    let header = format!("v0={others},t={time},v1={others}, v1 = {right} ,v2=");
    let verified = verify(Some(header.as_bytes()), body, &secrets(), NOW);
    assert_eq!((verified.verdict, verified.label.as_deref()), (Verdict::Valid, Some(label)));
    assert_eq!(verified.skew_seconds, Some(skew));

    let mut wrong = right.into_bytes();
    let place = choices.below(wrong.len());
    wrong[place] = if wrong[place] == b'0' { b'1' } else { b'0' };
    let header = format!("t={time},v1={}", String::from_utf8(wrong).unwrap());
    assert_eq!(verify(Some(header.as_bytes()), body, &secrets(), NOW).verdict, Verdict::Mismatch);
}

/// The values of the header's times.
fn times(header: &str) -> impl Iterator<Item = &str> {
    header
        .split(',')
        .filter_map(|part| part.split_once('='))
        .filter(|(name, _)| name.trim() == "t")
        .map(|(_, v)| v.trim())
}

fn signed(secret: &str, time: &str, body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(&[time.as_bytes(), b".", body].concat());
    mac.finalize().into_bytes().iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").unwrap();
        hex
    })
}

fn secrets() -> Vec<Labelled> {
    let labelled =
        |(label, secret): &(&str, &str)| Labelled { label: (*label).to_owned(), secret: SecretString::from(*secret) };
    SECRETS.iter().map(labelled).collect()
}
