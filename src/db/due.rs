//! `sql/query/operations`: what is due, and who takes it.

use crate::db::deadline::Deadline;
use crate::db::error::DbError;
use crate::db::operations::OperationId;
use crate::db::row::column;
use crate::db::{Db, sql};
use crate::domain::ids::{OrderId, OrgId};
use std::time::Duration;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

impl Db {
    /// Takes one effect that is due, under a new lease; `false` when there is nothing to take.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn take_operation(
        &self,
        id: &OperationId,
        token: Uuid,
        lease: Duration,
        deadline: Deadline,
    ) -> Result<bool, DbError> {
        let seconds = lease.as_secs_f64();
        let params: [&(dyn ToSql + Sync); 6] = [&id.org_id.0, &id.order_id.0, &id.kind, &id.fact, &token, &seconds];
        Ok(self.row(&sql::OPERATION_TAKE, &params, deadline).await?.is_some())
    }

    /// Effects of one organisation that are due, but for some kinds.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn due_operations(
        &self,
        org_id: OrgId,
        limit: i64,
        except: &[String],
        deadline: Deadline,
    ) -> Result<Vec<OperationId>, DbError> {
        let rows = self.rows(&sql::OPERATION_DUE, &[&org_id.0, &limit, &except], deadline).await?;
        rows.iter()
            .map(|row| {
                Ok(OperationId {
                    org_id,
                    order_id: OrderId(column(row, "order_id")?),
                    kind: column(row, "kind")?,
                    fact: column(row, "fact")?,
                })
            })
            .collect()
    }

    /// Organisations with effects that are due.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn orgs_with_due_operations(&self, deadline: Deadline) -> Result<Vec<OrgId>, DbError> {
        let rows = self.rows(&sql::OPERATION_ORGS_WITH_DUE, &[], deadline).await?;
        rows.iter().map(|row| column(row, "org_id").map(OrgId)).collect()
    }
}
