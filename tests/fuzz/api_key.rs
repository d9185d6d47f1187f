//! API keys: a token is read exactly as it was made, and the checksum (CRC-32, counted here bit by bit) tells each slip.

use super::choices::Choices;
use ichido::domain::api_key::{ApiKey, KEY_ID_LENGTH, RANDOM_LENGTH};
use ichido::domain::org::Mode;

const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const CHECKSUM_LENGTH: usize = 6;

/// The input is a token, and what a key is made of.
pub fn check(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        let read = ApiKey::parse(text);
        assert_eq!(read.is_some(), is_well_formed(text));
        if let Some(key) = read {
            assert_eq!(key.token(), text);
        }
    }
    made(data);
}

fn is_well_formed(token: &str) -> bool {
    let parts: Vec<_> = token.split('_').collect();
    let [ich, mode, key_id, secret] = parts[..] else {
        return false;
    };
    let base62 = |text: &str| text.bytes().all(|byte| BASE62.contains(&byte));
    ich == "ich"
        && ["test", "live"].contains(&mode)
        && key_id.len() == KEY_ID_LENGTH
        && secret.len() == RANDOM_LENGTH + CHECKSUM_LENGTH
        && base62(key_id)
        && base62(secret)
        && secret[RANDOM_LENGTH..] == checksum(&[key_id, &secret[..RANDOM_LENGTH]].concat())
}

fn checksum(text: &str) -> String {
    let mut crc = u32::MAX;
    for byte in text.bytes() {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0xedb8_8320 * (crc & 1));
        }
    }
    let mut rest = usize::try_from(!crc).unwrap();
    let mut digits = [0; CHECKSUM_LENGTH];
    for digit in digits.iter_mut().rev() {
        *digit = BASE62[rest % 62];
        rest /= 62;
    }
    digits.map(char::from).iter().collect()
}

fn made(data: &[u8]) {
    let byte = |at: usize| usize::from(data.get(at).copied().unwrap_or_default());
    let text = |from: usize, length: usize| (from..from + length).map(|at| char::from(BASE62[byte(at) % 62])).collect();
    let (key_id, random): (String, String) = (text(0, KEY_ID_LENGTH), text(KEY_ID_LENGTH, RANDOM_LENGTH));
    let mode = if data.len().is_multiple_of(2) { Mode::Test } else { Mode::Live };
    let key = ApiKey::assemble(mode, &key_id, &random);
    let token = key.token();
    assert_eq!(ApiKey::parse(&token).as_ref(), Some(&key));
    assert_eq!((key.key_id(), key.mode()), (key_id.as_str(), mode));
    assert!(!format!("{key:?}").contains(&random), "its Debug hides the secret");

    let mut choices = Choices::of(data);
    let (place, letter) = ("ich_test_".len() + choices.below(token.len() - "ich_test_".len()), choices.below(128));
    let mut slip = token.clone().into_bytes();
    slip[place] = u8::try_from(letter).unwrap();
    let slip = String::from_utf8(slip).unwrap();
    assert_eq!(ApiKey::parse(&slip).is_some(), slip == token, "{place}");
    assert_eq!(ApiKey::parse(&token[..place]), None);
    assert_eq!(ApiKey::parse(&format!("{token}{}", char::from(BASE62[letter % 62]))), None);
}
