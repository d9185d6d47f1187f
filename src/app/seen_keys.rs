//! Idempotency keys that this process answered lately: a request under one of them is most likely a retry, and is looked up before
//! it tries to claim.
//!
//! A hint and nothing more. Whoever is not found claims all the same, so a wrong hint costs one look-up and never an answer.

use crate::domain::ids::OrgId;
use crate::domain::key::IdempotencyKey;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

/// 512 KiB. A newer key takes the place of an older one.
const PLACES: usize = 1 << 16;

/// A table of hashes, each in the one place where it would be looked for. Hashed with a secret of the process, so that nobody can
/// choose keys that fall together.
pub(super) struct SeenKeys {
    hasher: RandomState,
    places: Box<[AtomicU64]>,
}

impl Default for SeenKeys {
    fn default() -> Self {
        Self { hasher: RandomState::new(), places: (0..PLACES).map(|_| AtomicU64::new(0)).collect() }
    }
}

impl SeenKeys {
    /// Whether a key was answered lately, as far as is remembered.
    pub fn contains(&self, org_id: OrgId, key: &IdempotencyKey) -> bool {
        let (place, hash) = self.place(org_id, key);
        place.is_some_and(|place| place.load(Ordering::Relaxed) == hash)
    }

    /// Remembers a key that was answered.
    pub fn remember(&self, org_id: OrgId, key: &IdempotencyKey) {
        if let (Some(place), hash) = self.place(org_id, key) {
            place.store(hash, Ordering::Relaxed);
        }
    }

    fn place(&self, org_id: OrgId, key: &IdempotencyKey) -> (Option<&AtomicU64>, u64) {
        let hash = self.hasher.hash_one((org_id.0, key.as_str()));
        let at = usize::try_from(hash % PLACES as u64).unwrap_or_default();
        // Zero is an empty place.
        (self.places.get(at), hash.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_answered_is_remembered_for_its_organisation_until_another_takes_its_place() {
        let seen = SeenKeys::default();
        let key = |text: &str| IdempotencyKey::parse(text.as_bytes()).unwrap();
        assert!(!seen.contains(OrgId(1), &key("k")));
        seen.remember(OrgId(1), &key("k"));
        assert!(seen.contains(OrgId(1), &key("k")) && !seen.contains(OrgId(2), &key("k")));
        for n in 0..20 * PLACES {
            seen.remember(OrgId(1), &key(&format!("k{n}")));
        }
        assert!(!seen.contains(OrgId(1), &key("k")));
    }
}
