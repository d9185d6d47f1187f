//! Makes an API key.

use crate::app::App;
use crate::app::error::AppError;
use crate::db::api_keys::NewKey;
use crate::db::deadline::Deadline;
use crate::db::error::DbError;
use crate::domain::api_key::{ApiKey, KEY_ID_LENGTH, RANDOM_LENGTH};
use crate::domain::ids::OrgId;
use crate::domain::org::Mode;
use crate::domain::scope::Scope;
use rand::TryRngCore;
use rand::distr::{Alphanumeric, SampleString};
use rand::rngs::OsRng;
use time::OffsetDateTime;

/// Makes a key for an organisation and gives it with its secret, which is nowhere else afterwards.
///
/// # Errors
///
/// [`AppError::NotFound`] when there is no such organisation; [`AppError::OutcomeUnknown`] when the key may have been stored
/// (nobody knows its secret then); [`AppError::Unavailable`], [`AppError::Internal`].
pub async fn create_key(
    app: &App,
    org_id: OrgId,
    scopes: &[Scope],
    expires_at: Option<OffsetDateTime>,
    deadline: Deadline,
) -> Result<ApiKey, AppError> {
    let mut random = OsRng.unwrap_err();
    let (key_id, secret) = (
        Alphanumeric.sample_string(&mut random, KEY_ID_LENGTH),
        Alphanumeric.sample_string(&mut random, RANDOM_LENGTH),
    );
    let assemble = |mode| ApiKey::assemble(mode, &key_id, &secret);
    // The secret's hash does not depend on the mode, which only the database knows.
    let secret_sha256 = assemble(Mode::Test).secret_sha256();
    let new_key = NewKey { org_id, key_id: &key_id, secret_sha256, scopes, expires_at };
    let mode = app.db.create_api_key(&new_key, deadline).await.map_err(|error| match error {
        DbError::Lost { .. } => AppError::OutcomeUnknown,
        other => AppError::reading(&other),
    })?;
    mode.map(assemble).ok_or(AppError::NotFound)
}
