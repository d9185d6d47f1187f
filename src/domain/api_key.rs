//! The text of an API key: `ich_<mode>_<key id>_<secret>`.
//!
//! The secret is 43 random base-62 characters (256 bits) and a checksum of 6, so that a mistyped or cut token is refused
//! without a look-up, and secret scanners can tell a real one from a look-alike.

use crate::domain::org::Mode;
use sha2::{Digest, Sha256};
use std::fmt;
use subtle::ConstantTimeEq;

/// Length of a key id: 16 base-62 characters, 95 bits.
pub const KEY_ID_LENGTH: usize = 16;
/// Length of the random part of a secret: 43 base-62 characters, 256 bits.
pub const RANDOM_LENGTH: usize = 43;
const CHECKSUM_LENGTH: usize = 6;
const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// A token that is well formed; whether it is known is another question. Its `Debug` shows the key id only.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey {
    mode: Mode,
    key_id: String,
    secret: String,
}

impl ApiKey {
    /// Puts a new key together from random base-62 text: a key id of [`KEY_ID_LENGTH`] and a secret of
    /// [`RANDOM_LENGTH`] characters.
    #[must_use]
    pub fn assemble(mode: Mode, key_id: &str, random: &str) -> Self {
        let checksum = checksum(key_id, random);
        Self { mode, key_id: key_id.to_owned(), secret: format!("{random}{checksum}") }
    }

    /// Reads a token. `None` for anything that cannot have been issued.
    #[must_use]
    pub fn parse(token: &str) -> Option<Self> {
        let (mode, rest) = token.strip_prefix("ich_")?.split_once('_')?;
        let mode = Mode::parse(mode)?;
        let (key_id, secret) = rest.split_once('_')?;
        let base62 = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if key_id.len() != KEY_ID_LENGTH || secret.len() != RANDOM_LENGTH + CHECKSUM_LENGTH {
            return None;
        }
        if !base62(key_id) || !base62(secret) {
            return None;
        }
        let (random, sum) = secret.split_at(RANDOM_LENGTH);
        (checksum(key_id, random) == sum).then(|| Self { mode, key_id: key_id.to_owned(), secret: secret.to_owned() })
    }

    /// The whole token. Shown once, to whoever made the key.
    #[must_use]
    pub fn token(&self) -> String {
        format!("ich_{}_{}_{}", self.mode.as_str(), self.key_id, self.secret)
    }

    /// The public part that names the key.
    #[must_use]
    pub fn key_id(&self) -> &str {
        &self.key_id
    }

    /// The mode the token claims.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// What is stored of the secret.
    #[must_use]
    pub fn secret_sha256(&self) -> SecretHash {
        SecretHash(Sha256::digest(self.secret.as_bytes()).into())
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiKey").field("key_id", &self.key_id).finish_non_exhaustive()
    }
}

/// SHA-256 of a secret. Compared in constant time only, hence no `PartialEq`.
#[derive(Clone, Copy)]
pub struct SecretHash([u8; 32]);

impl SecretHash {
    /// What an unknown key is compared with, so that its refusal takes the same path as a wrong secret's. (The look-up itself
    /// may be cached or not, so time can tell that a key id is in use; the id is no secret.)
    pub const NOBODY: Self = Self([0; 32]);

    /// Reads a stored hash; `None` unless it is 32 bytes.
    #[must_use]
    pub fn from_slice(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// The bytes to store.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Whether both are the same, in time that does not depend on where they differ.
    #[must_use]
    pub fn matches(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

fn checksum(key_id: &str, random: &str) -> String {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(key_id.as_bytes());
    hasher.update(random.as_bytes());
    let mut rest = hasher.finalize() as usize;
    let mut digits = [b'0'; CHECKSUM_LENGTH];
    for digit in digits.iter_mut().rev() {
        *digit = BASE62.get(rest % BASE62.len()).copied().unwrap_or(b'0');
        rest /= BASE62.len();
    }
    digits.iter().map(|&digit| char::from(digit)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> ApiKey {
        ApiKey::assemble(Mode::Test, "0123456789abcdef", &"aZ9".repeat(15)[..RANDOM_LENGTH])
    }

    #[test]
    fn a_token_is_read_back() {
        let token = key().token();
        assert!(token.starts_with("ich_test_0123456789abcdef_"));
        assert_eq!(ApiKey::parse(&token), Some(key()));
    }

    #[test]
    fn one_changed_character_is_refused_without_a_look_up() {
        let token = key().token();
        for at in "ich_test_".len()..token.len() {
            let mut changed = token.clone().into_bytes();
            changed[at] = if changed[at] == b'x' { b'y' } else { b'x' };
            let changed = String::from_utf8(changed).unwrap();
            assert_eq!(ApiKey::parse(&changed), None, "position {at}");
        }
        assert_eq!(ApiKey::parse(&token[..token.len() - 1]), None);
        assert_eq!(ApiKey::parse(""), None);
        assert_eq!(ApiKey::parse("ich_test_é"), None);
    }

    #[test]
    fn debug_hides_the_secret() {
        let shown = format!("{:?}", key());
        assert!(shown.contains("0123456789abcdef") && !shown.contains("aZ9"));
    }

    #[test]
    fn the_parts_of_a_token_are_told_apart() {
        for (mode, prefix) in [(Mode::Test, "ich_test_"), (Mode::Live, "ich_live_")] {
            let key = ApiKey::parse(&ApiKey { mode, ..key() }.token()).unwrap();
            assert_eq!((key.mode(), key.key_id()), (mode, "0123456789abcdef"));
            assert!(key.token().starts_with(prefix));
        }
    }

    #[test]
    fn the_checksum_is_over_both_parts_and_never_changes() {
        // CRC-32 of "0123456789abcdef" and 43 letters, in base 62, computed by another implementation.
        assert_eq!(key().token(), format!("ich_test_0123456789abcdef_{}47xgar", &"aZ9".repeat(15)[..RANDOM_LENGTH]));
        assert_eq!(checksum("", ""), "000000");
    }

    #[test]
    fn a_token_of_other_lengths_or_letters_cannot_have_been_issued() {
        let issued = |key_id: &str, random: &str| ApiKey::parse(&ApiKey::assemble(Mode::Live, key_id, random).token());
        let (key_id, random) = ("k".repeat(KEY_ID_LENGTH), "r".repeat(RANDOM_LENGTH));
        assert!(issued(&key_id, &random).is_some());
        for (key_id, random) in [
            (&key_id[1..], &*random),
            (&format!("{key_id}k"), &random),
            (&key_id, &random[1..]),
            (&key_id, &format!("{random}r")),
            (&format!("{}-", &key_id[1..]), &random),
            (&key_id, &format!("{}-", &random[1..])),
        ] {
            assert_eq!(issued(key_id, random), None, "{key_id} {random}");
        }
        let token = key().token();
        for other in [token.replace("ich_", "sk_"), token.replace("test", "prod"), token.replace('_', "-")] {
            assert_eq!(ApiKey::parse(&other), None, "{other}");
        }
    }

    #[test]
    fn a_secret_is_kept_as_its_hash_and_known_again_by_it() {
        let mine = key().secret_sha256();
        assert_eq!(mine.as_bytes(), Sha256::digest(&key().token()["ich_test_0123456789abcdef_".len()..]).as_slice());
        let stored = SecretHash::from_slice(mine.as_bytes()).unwrap();
        let other = ApiKey::assemble(Mode::Test, key().key_id(), &"x".repeat(RANDOM_LENGTH)).secret_sha256();
        assert!(mine.matches(&stored) && !mine.matches(&other) && !mine.matches(&SecretHash::NOBODY));
        assert!(SecretHash::from_slice(&[0; 31]).is_none() && SecretHash::from_slice(&[0; 33]).is_none());
    }
}
