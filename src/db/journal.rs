//! `sql/query/journal`: an order's story.

use crate::db::deadline::Deadline;
use crate::db::error::DbError;
use crate::db::row::column;
use crate::db::tx::Tx;
use crate::db::{Db, sql};
use crate::domain::ids::{OrderId, OrgId};
use crate::domain::trace::{Source, TraceEntry};
use serde_json::Value;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

impl Tx {
    /// Adds an entry. `details` holds codes and names, never secrets or payment methods.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn journal(
        &self,
        (org, order): (OrgId, OrderId),
        actor: &str,
        what: &str,
        details: &Value,
    ) -> Result<(), DbError> {
        self.journal_all(org, actor, what, &[(order, details)]).await
    }

    /// Adds entries of one kind to the stories of several orders.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn journal_all(
        &self,
        org: OrgId,
        actor: &str,
        what: &str,
        entries: &[(OrderId, &Value)],
    ) -> Result<(), DbError> {
        let orders: Vec<_> = entries.iter().map(|(order, _)| order.0).collect();
        let details: Vec<_> = entries.iter().map(|(_, details)| *details).collect();
        let ids: Vec<_> = entries.iter().map(|_| Uuid::now_v7()).collect();
        let params: [&(dyn ToSql + Sync); 6] = [&org.0, &orders, &ids, &actor, &what, &details];
        self.execute(&sql::JOURNAL_ADD, &params).await.map(|_| ())
    }
}

impl Db {
    /// An order's story, oldest first, at most `limit` entries of it.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn journal_of_order(
        &self,
        org: OrgId,
        order: OrderId,
        limit: i64,
        deadline: Deadline,
    ) -> Result<Vec<TraceEntry>, DbError> {
        let rows = self.rows(&sql::JOURNAL_OF_ORDER, &[&org.0, &order.0, &limit], deadline).await?;
        rows.iter()
            .map(|row| {
                Ok(TraceEntry {
                    at: column(row, "at")?,
                    source: Source::Journal,
                    actor: column(row, "actor")?,
                    what: column(row, "what")?,
                    details: column(row, "details")?,
                })
            })
            .collect()
    }
}
