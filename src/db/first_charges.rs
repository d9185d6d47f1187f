//! `sql/query/operations`: first charges that are ended, many at once.

use crate::db::error::DbError;
use crate::db::row::column;
use crate::db::sql;
use crate::db::tx::Tx;
use crate::domain::ids::{OrderId, OrgId};
use tokio_postgres::types::ToSql;
use uuid::Uuid;

/// The first charge of an order that the gateway says was taken.
#[derive(Debug, Clone)]
pub struct FirstPaid {
    /// Of which order.
    pub order_id: OrderId,
    /// The lease it was sent under.
    pub token: Uuid,
    /// The gateway's name for the payment.
    pub reference: String,
}

/// A first charge that was ended.
#[derive(Debug, Clone)]
pub struct EndedCharge {
    /// Of which order.
    pub order_id: OrderId,
    /// Its key at the gateway.
    pub operation_key: String,
    /// The request that waits for it.
    pub idempotency_key: Option<String>,
    /// In the currency's minor unit.
    pub amount: i64,
    /// ISO 4217.
    pub currency: String,
    /// The gateway's name for the payment.
    pub reference: String,
}

impl Tx {
    /// Ends first charges and their attempts under their orders' locks. Those to which anything else has happened are left as
    /// they are, and not given back.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn finish_first_charges(&self, org: OrgId, paid: &[&FirstPaid]) -> Result<Vec<EndedCharge>, DbError> {
        let orders: Vec<_> = paid.iter().map(|each| each.order_id.0).collect();
        let tokens: Vec<_> = paid.iter().map(|each| each.token).collect();
        let references: Vec<_> = paid.iter().map(|each| each.reference.as_str()).collect();
        let params: [&(dyn ToSql + Sync); 4] = [&org.0, &orders, &tokens, &references];
        let rows = self.rows(&sql::OPERATION_FINISH_FIRST_CHARGES, &params).await?;
        rows.iter()
            .map(|row| {
                // Under the order's lock this cannot be; if it is all the same, nothing of the batch may be kept.
                if !column::<bool>(row, "settled")? {
                    return Err(DbError::LostRace);
                }
                Ok(EndedCharge {
                    order_id: OrderId(column(row, "order_id")?),
                    operation_key: column(row, "operation_key")?,
                    idempotency_key: column(row, "idempotency_key")?,
                    amount: column(row, "amount")?,
                    currency: column(row, "currency")?,
                    reference: column(row, "reference")?,
                })
            })
            .collect()
    }
}
