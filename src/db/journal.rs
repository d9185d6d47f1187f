//! `sql/query/journal`: an order's story.

use crate::db::error::DbError;
use crate::db::sql;
use crate::db::tx::Tx;
use crate::domain::ids::{OrderId, OrgId};
use serde_json::Value;
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
        self.execute(&sql::JOURNAL_ADD, &[&org.0, &order.0, &Uuid::now_v7(), &actor, &what, details]).await.map(|_| ())
    }
}
