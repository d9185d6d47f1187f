//! The `Stripe-Signature` header (docs.stripe.com/webhooks, "Verify manually"): `t=<seconds>,v1=<hex>[,v1=<hex>…]`, each `v1` an
//! HMAC-SHA256 of the time, a dot and the body's exact bytes.
//!
//! It fails closed: whatever is missing or cannot be read is refused.

use crate::domain::org::spelled;
use hmac::{Hmac, KeyInit, Mac};
use secrecy::{ExposeSecret, SecretString};
use sha2::Sha256;

/// How far the signed time may be from ours, both ways, in seconds.
pub const TOLERANCE_SECONDS: i64 = 300;
/// Signatures of one header that are looked at; a provider that rolls its secrets sends two.
const MAX_SIGNATURES: usize = 16;
const DIGEST: usize = 32;

/// What came of looking at a delivery's signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// One of our secrets signed these bytes, and lately.
    Valid,
    /// There is nothing to check it with.
    NoSecret,
    /// There is no header, or more than one.
    NoHeader,
    /// The header cannot be read.
    Malformed,
    /// No secret of ours signed these bytes.
    Mismatch,
    /// It was signed too long ago, or in the future.
    OutOfTolerance,
}

spelled!(Verdict {
    Valid = "valid",
    NoSecret = "no_secret",
    NoHeader = "no_header",
    Malformed = "malformed",
    Mismatch = "mismatch",
    OutOfTolerance = "out_of_tolerance",
});

/// A secret by its label.
pub struct Labelled {
    /// Its name.
    pub label: String,
    /// What it is.
    pub secret: SecretString,
}

/// A verdict with what else was learnt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// Whether it is to be believed.
    pub verdict: Verdict,
    /// Which secret signed it.
    pub label: Option<String>,
    /// Our clock minus the signed time, in seconds.
    pub skew_seconds: Option<i64>,
}

/// Looks at every signature with every secret, in constant time each. `now` is in seconds since 1970.
#[must_use]
pub fn verify(header: Option<&[u8]>, body: &[u8], secrets: &[Labelled], now: i64) -> Verified {
    let refused = |verdict| Verified { verdict, label: None, skew_seconds: None };
    let Some(header) = header else {
        return refused(Verdict::NoHeader);
    };
    let Some(read) = std::str::from_utf8(header).ok().and_then(read) else {
        return refused(Verdict::Malformed);
    };
    let usable: Vec<_> = secrets.iter().filter(|each| !each.secret.expose_secret().is_empty()).collect();
    let skew_seconds = Some(now.saturating_sub(read.seconds));
    if usable.is_empty() {
        return Verified { skew_seconds, ..refused(Verdict::NoSecret) };
    }
    // All of them are tried, whichever fits, so that the time taken tells nothing.
    let fitting = usable
        .iter()
        .filter(|each| planted!("signature_not_checked", true, signed_by(&each.secret, &read, body)))
        .collect::<Vec<_>>();
    let Some(first) = fitting.first() else {
        return Verified { skew_seconds, ..refused(Verdict::Mismatch) };
    };
    let in_time = now.abs_diff(read.seconds) <= TOLERANCE_SECONDS.unsigned_abs();
    let verdict = if in_time { Verdict::Valid } else { Verdict::OutOfTolerance };
    Verified { verdict, label: Some(first.label.clone()), skew_seconds }
}

struct Read<'a> {
    /// As it was signed.
    time: &'a str,
    seconds: i64,
    signatures: Vec<[u8; DIGEST]>,
}

/// Reads a header; `None` without exactly one time, or without a signature in the form of one. Other schemes are skipped.
fn read(header: &str) -> Option<Read<'_>> {
    let (mut time, mut signatures) = (None, Vec::new());
    for part in header.split(',') {
        let (name, value) = part.split_once('=')?;
        let value = value.trim();
        match name.trim() {
            "t" if time.is_some() => return None,
            "t" => time = Some(value),
            "v1" if signatures.len() < MAX_SIGNATURES => signatures.extend(digest(value)),
            _ => {}
        }
    }
    let time = time?;
    let digits = (1..=12).contains(&time.len()) && time.bytes().all(|byte| byte.is_ascii_digit());
    let seconds = time.parse().ok().filter(|_| digits)?;
    (!signatures.is_empty()).then_some(Read { time, seconds, signatures })
}

fn digest(hex: &str) -> Option<[u8; DIGEST]> {
    let mut bytes = [0; DIGEST];
    if hex.len() != 2 * DIGEST {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(hex.as_bytes().chunks_exact(2)) {
        for &digit in pair {
            *byte = (*byte << 4) | u8::try_from(char::from(digit).to_digit(16)?).ok()?;
        }
    }
    Some(bytes)
}

fn signed_by(secret: &SecretString, read: &Read<'_>, body: &[u8]) -> bool {
    // HMAC takes keys of every length, so there is always one.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.expose_secret().as_bytes()) else {
        return false;
    };
    mac.update(read.time.as_bytes());
    mac.update(b".");
    mac.update(body);
    // Compared in constant time by the library.
    read.signatures.iter().filter(|signature| mac.clone().verify_slice(signature.as_slice()).is_ok()).count() > 0
}

#[cfg(test)]
#[path = "signature_tests.rs"]
mod tests;
