//! API keys that were seen lately, so that a request costs no look-up; and when each was last used.

use crate::app::App;
use crate::db::api_keys::KnownKey;
use crate::db::deadline::Deadline;
use crate::domain::api_key::SecretHash;
use crate::domain::ids::OrgId;
use crate::domain::org::Org;
use crate::domain::scope::Scopes;
use moka::sync::Cache;
use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use time::OffsetDateTime;

/// How long a key is believed without asking the database again: a revocation holds everywhere after that.
pub const BELIEVED_FOR: Duration = Duration::from_secs(10);
/// Bounds the cache's memory to a few megabytes.
const MOST_KEYS: u64 = 10_000;
/// A use is written at most this often for each key.
const WRITTEN_EVERY_SECONDS: i64 = 60;
/// A key unused for so long is forgotten here.
const FORGOTTEN_AFTER_SECONDS: i64 = 600;

/// One key as the cache holds it.
#[derive(Clone)]
pub struct CachedKey {
    /// SHA-256 of its secret.
    pub secret_sha256: SecretHash,
    /// What it may do.
    pub scopes: Scopes,
    /// Whose it is.
    pub org: Arc<Org>,
    last_used: Arc<AtomicI64>,
}

impl CachedKey {
    /// Notes a use. One store into memory; it is written by [`write_last_used`].
    pub fn used(&self, now: OffsetDateTime) {
        self.last_used.store(now.unix_timestamp(), Ordering::Relaxed);
    }
}

/// Keys by their public part.
pub struct KeyCache {
    keys: Cache<String, CachedKey>,
    uses: Mutex<HashMap<String, Use>>,
}

struct Use {
    org_id: OrgId,
    last_used: Arc<AtomicI64>,
    written: i64,
}

impl Default for KeyCache {
    fn default() -> Self {
        Self::believing_for(BELIEVED_FOR)
    }
}

impl KeyCache {
    fn believing_for(time: Duration) -> Self {
        // From when it was read, however often it is used.
        Self { keys: Cache::builder().max_capacity(MOST_KEYS).time_to_live(time).build(), uses: Mutex::default() }
    }

    /// A key seen within [`BELIEVED_FOR`].
    #[must_use]
    pub fn get(&self, key_id: &str) -> Option<CachedKey> {
        self.keys.get(key_id)
    }

    /// Remembers a key that was just read and has not ended.
    pub fn insert(&self, key_id: &str, known: KnownKey) -> CachedKey {
        let key = CachedKey {
            secret_sha256: known.secret_sha256,
            scopes: known.scopes,
            last_used: self.last_used(key_id, known.org.org_id),
            org: Arc::new(known.org),
        };
        self.keys.insert(key_id.to_owned(), key.clone());
        key
    }

    fn last_used(&self, key_id: &str, org_id: OrgId) -> Arc<AtomicI64> {
        let mut uses = self.uses.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = || Use { org_id, last_used: Arc::default(), written: 0 };
        Arc::clone(&uses.entry(key_id.to_owned()).or_insert_with(fresh).last_used)
    }

    /// The uses that are due to be written, marked as written; keys long unused are dropped.
    fn due(&self) -> Vec<(String, OrgId, i64)> {
        let mut uses = self.uses.lock().unwrap_or_else(PoisonError::into_inner);
        let mut due = Vec::new();
        let latest = uses.values().map(|each| each.last_used.load(Ordering::Relaxed)).max().unwrap_or_default();
        uses.retain(|key_id, each| {
            let at = each.last_used.load(Ordering::Relaxed);
            if at >= each.written + WRITTEN_EVERY_SECONDS {
                each.written = at;
                due.push((key_id.clone(), each.org_id, at));
            }
            at + FORGOTTEN_AFTER_SECONDS >= latest || Arc::strong_count(&each.last_used) > 1
        });
        due
    }
}

/// Writes `last_used_at` of the keys used since, in the background. A failure loses a time, never a request.
pub async fn write_last_used(app: &App) {
    for (key_id, org_id, seconds) in app.keys.due() {
        let Ok(at) = OffsetDateTime::from_unix_timestamp(seconds) else { continue };
        if let Err(error) = app.db.touch_api_key(org_id, &key_id, at, Deadline::of_request()).await {
            tracing::warn!(%error, "last use of an API key not written");
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::org::{Mode, OnMismatch, ReplayStatus};
    use std::thread::sleep;
    use std::time::Instant;

    #[test]
    fn a_key_is_asked_for_again_however_busy_it_is() {
        let org = Org {
            org_id: OrgId(1),
            mode: Mode::Test,
            on_mismatch: OnMismatch::Reject,
            replay_status: ReplayStatus::Ok,
            keys_kept_for_seconds: None,
            new_claims_per_second: None,
        };
        let known = KnownKey { secret_sha256: SecretHash::NOBODY, scopes: Scopes::default(), ended: false, org };
        let cache = KeyCache::believing_for(Duration::from_millis(200));
        cache.insert("key", known);
        assert!(cache.get("key").is_some());
        let started = Instant::now();
        while cache.get("key").is_some() {
            assert!(started.elapsed() < Duration::from_secs(5), "believed for ever while in use");
            sleep(Duration::from_millis(5));
        }
        assert!(started.elapsed() >= Duration::from_millis(150), "believed too shortly to be of use");
        assert!(BELIEVED_FOR <= Duration::from_secs(30));
    }
}
