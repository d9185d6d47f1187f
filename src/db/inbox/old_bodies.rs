//! `sql/query/receipts`: bytes that were kept for long enough.

use crate::db::deadline::Deadline;
use crate::db::error::DbError;
use crate::db::row::column;
use crate::db::{Db, sql};
use crate::domain::ids::OrgId;

impl Db {
    /// Organisations with deliveries whose bytes are older than so many days.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn orgs_with_old_bodies(&self, days: i32, deadline: Deadline) -> Result<Vec<OrgId>, DbError> {
        let rows = self.rows(&sql::RECEIPT_ORGS_WITH_OLD_BODIES, &[&days], deadline).await?;
        rows.iter().map(|row| column(row, "org_id").map(OrgId)).collect()
    }

    /// Empties at most so many of them, but for those about which something is not resolved; gives how many.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn forget_bodies(
        &self,
        org_id: OrgId,
        days: i32,
        limit: i64,
        deadline: Deadline,
    ) -> Result<u64, DbError> {
        self.execute(&sql::RECEIPT_FORGET_BODIES, &[&org_id.0, &days, &limit], deadline).await
    }

    /// How many there are to be emptied.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn count_old_bodies(&self, org_id: OrgId, days: i32, deadline: Deadline) -> Result<u64, DbError> {
        let row = self.row(&sql::RECEIPT_COUNT_OLD_BODIES, &[&org_id.0, &days], deadline).await?;
        row.map_or(Ok(0), |row| column::<i64>(&row, "bodies").map(i64::unsigned_abs))
    }
}
