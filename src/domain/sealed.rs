//! Encryption of secrets at rest: XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha), an authenticated cipher whose nonces are
//! long enough to be random. What it is for is part of what is authenticated, so that one organisation's row, copied into
//! another's, does not open.
//!
//! Layout, version 1: one byte 1, 24 bytes nonce, ciphertext, 16 bytes tag.

use crate::domain::ids::OrgId;
use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{Key, KeyInit, XChaCha20Poly1305, XNonce};
use secrecy::zeroize::Zeroizing;
use secrecy::{ExposeSecret, SecretBox, SecretString};
use std::fmt;
use thiserror::Error;

/// Bytes of a nonce.
pub const NONCE_LENGTH: usize = 24;
const VERSION: u8 = 1;
const KEY_DIGITS: usize = 64;

/// It does not open. One error for everything, since the difference would only help whoever tries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error(
    "a stored secret cannot be opened: ICHIDO_SECRET_KEY is another than it was stored with, or the row was changed"
)]
pub struct CannotOpen;

/// It cannot be sealed: longer than the cipher allows (256 GiB).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("too long to be encrypted")]
pub struct CannotSeal;

/// The key that seals. Its `Debug` shows nothing, and it is wiped from memory when dropped.
pub struct SealingKey(SecretBox<[u8; 32]>);

impl SealingKey {
    /// Reads 64 hexadecimal digits. `None` for anything else.
    #[must_use]
    pub fn parse(text: &SecretString) -> Option<Self> {
        let digits = text.expose_secret().as_bytes();
        if digits.len() != KEY_DIGITS {
            return None;
        }
        let mut key = Zeroizing::new([0_u8; KEY_DIGITS / 2]);
        for (byte, pair) in key.iter_mut().zip(digits.chunks_exact(2)) {
            for &digit in pair {
                *byte = (*byte << 4) | u8::try_from(char::from(digit).to_digit(16)?).ok()?;
            }
        }
        Some(Self(SecretBox::new(Box::new(*key))))
    }

    fn cipher(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new(&Key::from(*self.0.expose_secret()))
    }
}

impl fmt::Debug for SealingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SealingKey")
    }
}

/// What a secret belongs to. It opens only under the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place<'a> {
    /// The tenant.
    pub org_id: OrgId,
    /// What it is for, down to the row: `gateway:stripe`, or a webhook endpoint's id and the secret's label.
    pub purpose: &'a str,
}

impl Place<'_> {
    /// The purpose comes last, so that two different places never give the same bytes.
    fn associated_data(self) -> Vec<u8> {
        let mut data = b"ichido sealed\0\x01".to_vec();
        data.extend_from_slice(&self.org_id.0.to_be_bytes());
        data.extend_from_slice(self.purpose.as_bytes());
        data
    }
}

/// Encrypts a secret for its place. `nonce` comes from a cryptographic random generator, anew for every call.
///
/// # Errors
///
/// [`CannotSeal`].
pub fn seal(
    key: &SealingKey,
    place: Place<'_>,
    secret: &SecretString,
    nonce: [u8; NONCE_LENGTH],
) -> Result<Vec<u8>, CannotSeal> {
    let payload = Payload { msg: secret.expose_secret().as_bytes(), aad: &place.associated_data() };
    let ciphertext = key.cipher().encrypt(&XNonce::from(nonce), payload).map_err(|_| CannotSeal)?;
    let mut sealed = Vec::with_capacity(1 + NONCE_LENGTH + ciphertext.len());
    sealed.push(VERSION);
    sealed.extend_from_slice(&nonce);
    sealed.extend_from_slice(&ciphertext);
    Ok(sealed)
}

/// Decrypts what [`seal`] made for the same place.
///
/// # Errors
///
/// [`CannotOpen`] for another key, another place, or bytes that were cut, swapped or changed.
pub fn open(key: &SealingKey, place: Place<'_>, sealed: &[u8]) -> Result<SecretString, CannotOpen> {
    let (&version, rest) = sealed.split_first().ok_or(CannotOpen)?;
    let (nonce, ciphertext) = rest.split_first_chunk::<NONCE_LENGTH>().ok_or(CannotOpen)?;
    if version != VERSION {
        return Err(CannotOpen);
    }
    let payload = Payload { msg: ciphertext, aad: &place.associated_data() };
    let plain = Zeroizing::new(key.cipher().decrypt(&XNonce::from(*nonce), payload).map_err(|_| CannotOpen)?);
    std::str::from_utf8(&plain).map(SecretString::from).map_err(|_| CannotOpen)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: Place<'_> = Place { org_id: OrgId(7), purpose: "gateway:stripe" };
    const NONCE: [u8; NONCE_LENGTH] = *b"0123456789abcdefghijklmn";

    fn key(byte: &str) -> SealingKey {
        SealingKey::parse(&SecretString::from(byte.repeat(32))).unwrap()
    }

    fn sealed() -> Vec<u8> {
        seal(&key("0f"), PLACE, &SecretString::from("sk_test_canary"), NONCE).unwrap()
    }

    /// What is in databases must open for ever: a change here needs another version byte. The value was computed by
    /// another implementation, written from the draft.
    #[test]
    fn the_layout_is_frozen() {
        let ciphertext_and_tag = [
            0x35, 0xd0, 0xa2, 0xf4, 0x9f, 0x4b, 0x31, 0x3c, 0xc5, 0xe2, 0x63, 0x70, 0x8c, 0x70, 0xe9, 0x49, 0xd1, 0x02,
            0x0a, 0x7c, 0xe9, 0xe0, 0x64, 0x51, 0xa0, 0xea, 0x0a, 0x39, 0xed, 0xfe,
        ];
        assert_eq!(sealed(), [[VERSION].as_slice(), &NONCE, &ciphertext_and_tag].concat());
    }

    #[test]
    fn it_opens_in_its_place_only() {
        assert_eq!(open(&key("0F"), PLACE, &sealed()).unwrap().expose_secret(), "sk_test_canary");
        let other_org = Place { org_id: OrgId(8), ..PLACE };
        let other_purpose = Place { purpose: "gateway:stripe2", ..PLACE };
        let (one, other, first_digit) = (key("0f"), key("0e"), key("1f"));
        for (key, place) in [(&other, PLACE), (&first_digit, PLACE), (&one, other_org), (&one, other_purpose)] {
            assert_eq!(open(key, place, &sealed()).unwrap_err(), CannotOpen);
        }
    }

    #[test]
    fn cut_swapped_or_changed_bytes_do_not_open() {
        let sealed = sealed();
        for length in 0..sealed.len() {
            assert!(open(&key("0f"), PLACE, &sealed[..length]).is_err(), "cut to {length}");
        }
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert!(open(&key("0f"), PLACE, &changed).is_err(), "changed at {at}");
        }
        let other = seal(&key("0f"), PLACE, &SecretString::from("sk_test_canary"), [9; NONCE_LENGTH]).unwrap();
        let swapped = [&sealed[..=NONCE_LENGTH], &other[1 + NONCE_LENGTH..]].concat();
        assert!(open(&key("0f"), PLACE, &swapped).is_err());
        assert!(open(&key("0f"), PLACE, &[sealed, vec![0]].concat()).is_err());
    }

    #[test]
    fn a_key_is_64_hexadecimal_digits() {
        for text in ["", "0f", &"0f".repeat(31), &"0f".repeat(33), &"0g".repeat(32), &"+f".repeat(32), &"é".repeat(32)]
        {
            assert!(SealingKey::parse(&SecretString::from(text)).is_none(), "{text}");
        }
        assert!(SealingKey::parse(&SecretString::from("aA".repeat(32))).is_some());
    }

    #[test]
    fn debug_shows_nothing() {
        assert_eq!(format!("{:?}", key("0f")), "SealingKey");
        let opened = open(&key("0f"), PLACE, &sealed()).unwrap();
        assert!(!format!("{opened:?}").contains("canary"));
        assert!(!sealed().windows(6).any(|bytes| bytes == b"canary"));
    }
}
