//! `sql/query/api_keys`.

use crate::db::deadline::Deadline;
use crate::db::error::DbError;
use crate::db::orgs::org_of;
use crate::db::row::{column, spelled};
use crate::db::{Db, sql};
use crate::domain::api_key::SecretHash;
use crate::domain::ids::OrgId;
use crate::domain::org::{Mode, Org};
use crate::domain::scope::{Scope, Scopes};
use time::OffsetDateTime;
use tokio_postgres::Row;

/// A key as authentication needs it.
#[derive(Clone)]
pub struct KnownKey {
    /// SHA-256 of its secret.
    pub secret_sha256: SecretHash,
    /// What it may do.
    pub scopes: Scopes,
    /// Revoked or expired, by the database's clock.
    pub ended: bool,
    /// Whose it is, with its policies.
    pub org: Org,
}

/// A key in its organisation's list.
#[derive(Debug, Clone)]
pub struct ListedKey {
    /// The public part.
    pub key_id: String,
    /// What it may do.
    pub scopes: Vec<String>,
    /// When it was made.
    pub created_at: OffsetDateTime,
    /// When it ends by itself.
    pub expires_at: Option<OffsetDateTime>,
    /// When it was revoked.
    pub revoked_at: Option<OffsetDateTime>,
    /// When it was last used, to the minute.
    pub last_used_at: Option<OffsetDateTime>,
}

/// A key to be made.
pub struct NewKey<'a> {
    /// Whose it is.
    pub org_id: OrgId,
    /// The public part.
    pub key_id: &'a str,
    /// SHA-256 of its secret.
    pub secret_sha256: SecretHash,
    /// What it may do.
    pub scopes: &'a [Scope],
    /// When it ends by itself.
    pub expires_at: Option<OffsetDateTime>,
}

impl Db {
    /// Looks a key up by its public part.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn find_api_key(&self, key_id: &str, deadline: Deadline) -> Result<Option<KnownKey>, DbError> {
        let row = self.row(&sql::API_KEY_FIND, &[&key_id], deadline).await?;
        row.as_ref().map(known_key).transpose()
    }

    /// Stores a new key. Gives the organisation's mode, or `None` when there is no such organisation.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn create_api_key(&self, key: &NewKey<'_>, deadline: Deadline) -> Result<Option<Mode>, DbError> {
        let scopes: Vec<&str> = key.scopes.iter().map(|scope| scope.as_str()).collect();
        failpoint!("admin/key/before_send");
        let row = self
            .row(
                &sql::API_KEY_CREATE,
                &[&key.org_id.0, &key.key_id, &key.secret_sha256.as_bytes(), &scopes, &key.expires_at],
                deadline,
            )
            .await?;
        failpoint!("admin/key/committed");
        row.map(|row| spelled(&row, "mode", Mode::parse)).transpose()
    }

    /// The keys of an organisation.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn list_api_keys(&self, org_id: OrgId, deadline: Deadline) -> Result<Vec<ListedKey>, DbError> {
        self.rows(&sql::API_KEY_LIST, &[&org_id.0], deadline).await?.iter().map(listed_key).collect()
    }

    /// Revokes a key. Gives the time of its (first) revocation, or `None` when the organisation has no such key.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn revoke_api_key(
        &self,
        org_id: OrgId,
        key_id: &str,
        deadline: Deadline,
    ) -> Result<Option<OffsetDateTime>, DbError> {
        let row = self.row(&sql::API_KEY_REVOKE, &[&org_id.0, &key_id], deadline).await?;
        row.map(|row| column(&row, "revoked_at")).transpose()
    }

    /// Notes when a key was last used.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn touch_api_key(
        &self,
        org_id: OrgId,
        key_id: &str,
        at: OffsetDateTime,
        deadline: Deadline,
    ) -> Result<(), DbError> {
        self.execute(&sql::API_KEY_TOUCH, &[&org_id.0, &key_id, &at], deadline).await.map(|_| ())
    }
}

fn known_key(row: &Row) -> Result<KnownKey, DbError> {
    let hash: &[u8] = column(row, "secret_sha256")?;
    // A scope this version does not know gives nothing.
    let scopes: Vec<&str> = column(row, "scopes")?;
    Ok(KnownKey {
        secret_sha256: SecretHash::from_slice(hash).ok_or(DbError::Decode { column: "secret_sha256" })?,
        scopes: scopes.into_iter().filter_map(Scope::parse).collect(),
        ended: column(row, "ended")?,
        org: org_of(row)?,
    })
}

fn listed_key(row: &Row) -> Result<ListedKey, DbError> {
    Ok(ListedKey {
        key_id: column(row, "key_id")?,
        scopes: column(row, "scopes")?,
        created_at: column(row, "created_at")?,
        expires_at: column(row, "expires_at")?,
        revoked_at: column(row, "revoked_at")?,
        last_used_at: column(row, "last_used_at")?,
    })
}
