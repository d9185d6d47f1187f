//! Finds out who asks.

use crate::app::App;
use crate::app::error::AppError;
use crate::app::key_cache::CachedKey;
use crate::db::deadline::Deadline;
use crate::domain::api_key::{ApiKey, SecretHash};
use crate::domain::org::Org;
use crate::domain::scope::Scopes;
use std::sync::Arc;

/// Whoever holds a valid key.
#[derive(Debug, Clone)]
pub struct Caller {
    /// The key's public part.
    pub key_id: String,
    /// The organisation, with its policies.
    pub org: Arc<Org>,
    /// What the key may do.
    pub scopes: Scopes,
}

/// Checks a token. Every refusal is the same, whatever was wrong, and compares a hash in constant time.
///
/// # Errors
///
/// [`AppError::Unauthenticated`], or [`AppError::Unavailable`] when the key is not cached and the database not there.
pub async fn authenticate(app: &App, token: &str, deadline: Deadline) -> Result<Caller, AppError> {
    let key = ApiKey::parse(token).ok_or(AppError::Unauthenticated)?;
    let known = find(app, key.key_id(), deadline).await?;
    let expected = known.as_ref().map_or(SecretHash::NOBODY, |known| known.secret_sha256);
    let right = key.secret_sha256().matches(&expected);
    match known {
        Some(known) if right && known.org.mode == key.mode() => {
            known.used(app.clock.now());
            Ok(Caller { key_id: key.key_id().to_owned(), org: known.org, scopes: known.scopes })
        }
        _ => Err(AppError::Unauthenticated),
    }
}

/// A key that has not ended.
async fn find(app: &App, key_id: &str, deadline: Deadline) -> Result<Option<CachedKey>, AppError> {
    if let Some(known) = app.keys.get(key_id) {
        return Ok(Some(known));
    }
    let (db, id) = (app.db.clone(), key_id.to_owned());
    let found = app.read(async move { Ok(db.find_api_key(&id, deadline).await?) }).await?;
    let known = found.filter(|known| !known.ended);
    Ok(known.map(|known| app.keys.insert(key_id, known)))
}
