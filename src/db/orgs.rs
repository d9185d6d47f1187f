//! `sql/query/orgs`.

use crate::db::deadline::Deadline;
use crate::db::error::DbError;
use crate::db::row::{column, spelled};
use crate::db::{Db, sql};
use crate::domain::ids::OrgId;
use crate::domain::org::{Mode, OnMismatch, Org, ReplayStatus};
use time::OffsetDateTime;
use tokio_postgres::Row;

/// An organisation to be made.
#[derive(Debug, Clone)]
pub struct NewOrg {
    /// What people call it.
    pub name: String,
    /// Test or live.
    pub mode: Mode,
    /// Policy for another body under a used key.
    pub on_mismatch: OnMismatch,
    /// Policy for the status of replays.
    pub replay_status: ReplayStatus,
    /// Seconds a completed key is kept; `None` is for ever.
    pub keys_kept_for_seconds: Option<i64>,
    /// Limit of new claims; `None` is unlimited.
    pub new_claims_per_second: Option<u32>,
}

/// An organisation in the operator's list.
#[derive(Debug, Clone)]
pub struct NamedOrg {
    /// What people call it.
    pub name: String,
    /// The organisation.
    pub org: Org,
    /// When it was made.
    pub created_at: OffsetDateTime,
}

impl Db {
    /// Makes an organisation.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn create_org(&self, org: &NewOrg, deadline: Deadline) -> Result<OrgId, DbError> {
        let limit = org.new_claims_per_second.map(|limit| i32::try_from(limit).unwrap_or(i32::MAX));
        failpoint!("admin/org/before_send");
        let row = self
            .row(
                &sql::ORG_CREATE,
                &[
                    &org.name,
                    &org.mode.as_str(),
                    &org.on_mismatch.as_str(),
                    &org.replay_status.as_str(),
                    &org.keys_kept_for_seconds,
                    &limit,
                ],
                deadline,
            )
            .await?
            .ok_or(DbError::Decode { column: "org_id" })?;
        failpoint!("admin/org/committed");
        column(&row, "org_id").map(OrgId)
    }

    /// The oldest test organisation with a name.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn first_test_org(&self, name: &str, deadline: Deadline) -> Result<Option<OrgId>, DbError> {
        let row = self.row(&sql::ORG_FIRST_BY_NAME, &[&name], deadline).await?;
        row.map(|row| column(&row, "org_id").map(OrgId)).transpose()
    }

    /// All organisations.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn list_orgs(&self, deadline: Deadline) -> Result<Vec<NamedOrg>, DbError> {
        let rows = self.rows(&sql::ORG_LIST, &[], deadline).await?;
        rows.iter()
            .map(|row| {
                Ok(NamedOrg { name: column(row, "name")?, org: org_of(row)?, created_at: column(row, "created_at")? })
            })
            .collect()
    }
}

/// Reads the columns that a request needs of its organisation.
pub(crate) fn org_of(row: &Row) -> Result<Org, DbError> {
    let limit: Option<i32> = column(row, "new_claims_per_second")?;
    Ok(Org {
        org_id: OrgId(column(row, "org_id")?),
        mode: spelled(row, "mode", Mode::parse)?,
        on_mismatch: spelled(row, "on_mismatch", OnMismatch::parse)?,
        replay_status: spelled(row, "replay_status", ReplayStatus::parse)?,
        keys_kept_for_seconds: column(row, "keys_kept_for_seconds")?,
        new_claims_per_second: limit.and_then(|limit| u32::try_from(limit).ok()),
    })
}
