//! `sql/query/server`: what the database says of itself.

use crate::db::deadline::Deadline;
use crate::db::error::DbError;
use crate::db::row::column;
use crate::db::{Db, sql};
use time::OffsetDateTime;

/// Settings of the server that an acknowledged order's safety hangs on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerSettings {
    /// As `server_version_num`: 150018 is 15.18.
    pub version: i32,
    /// `fsync`.
    pub fsync: String,
    /// `full_page_writes`.
    pub full_page_writes: String,
    /// `synchronous_commit`, as this session has it.
    pub synchronous_commit: String,
    /// Whether it is a standby.
    pub in_recovery: bool,
    /// Its clock.
    pub now: OffsetDateTime,
}

impl Db {
    /// Asks the server for its settings.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn server_settings(&self, deadline: Deadline) -> Result<ServerSettings, DbError> {
        let row = self.row(&sql::SERVER_SETTINGS, &[], deadline).await?;
        let row = row.ok_or(DbError::Decode { column: "version" })?;
        Ok(ServerSettings {
            version: column(&row, "version")?,
            fsync: column(&row, "fsync")?,
            full_page_writes: column(&row, "full_page_writes")?,
            synchronous_commit: column(&row, "synchronous_commit")?,
            in_recovery: column(&row, "in_recovery")?,
            now: column(&row, "now")?,
        })
    }
}
