//! What notifications do to payments and operations. All of it under the order's lock.

use crate::db::error::DbError;
use crate::db::operations::OperationId;
use crate::db::payments::{PaymentRow, payment};
use crate::db::row::{column, one};
use crate::db::sql;
use crate::db::tx::Tx;
use crate::domain::ids::{OrderId, OrgId};
use crate::domain::inbox::refunded::Own;
use crate::domain::payment::PaymentState;
use std::time::Duration;

impl Tx {
    /// Locks every attempt of an order, the first one first.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn payments_of_order(&self, org: OrgId, order: OrderId) -> Result<Vec<PaymentRow>, DbError> {
        self.rows(&sql::PAYMENT_OF_ORDER, &[&org.0, &order.0]).await?.iter().map(payment).collect()
    }

    /// Adds an attempt that a notification told of, for all that the order costs, and its charge, which is not settled.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn add_notified_attempt(
        &self,
        charge: &OperationId,
        (provider, reference): (&str, &str),
        operation_key: &str,
        time: Duration,
    ) -> Result<(), DbError> {
        let attempt = charge.attempt().ok_or(DbError::Decode { column: "fact" })?;
        let (org, order) = (&charge.org_id.0, &charge.order_id.0);
        one(self.execute(&sql::PAYMENT_ADD_NOTIFIED, &[org, order, &attempt, &provider, &reference]).await?)?;
        let seconds = time.as_secs_f64();
        let params: crate::db::Params<'_> = &[org, order, &charge.fact, &operation_key, &reference, &seconds];
        one(self.execute(&sql::OPERATION_ADD_NOTIFIED, params).await?)
    }

    /// Writes what was given back of an attempt, and how it stands by that.
    ///
    /// # Errors
    ///
    /// [`DbError`]; [`DbError::LostRace`] when there is no such attempt.
    pub async fn recount_payment(
        &self,
        (org, order, attempt): (OrgId, OrderId, i32),
        refunded: i64,
        state: PaymentState,
    ) -> Result<(), DbError> {
        let state = state.as_str();
        one(self.execute(&sql::PAYMENT_RECOUNT, &[&org.0, &order.0, &attempt, &refunded, &state]).await?)
    }

    /// What we ourselves have given back of an attempt.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn own_refunds(&self, (org, order, attempt): (OrgId, OrderId, i32)) -> Result<Vec<Own>, DbError> {
        let rows = self.rows(&sql::OPERATION_REFUNDS_DONE, &[&org.0, &order.0, &attempt.to_string()]).await?;
        rows.iter()
            .map(|row| {
                let amount: Option<i64> = column(row, "amount")?;
                let (key, id) = (column(row, "operation_key")?, column(row, "external_reference")?);
                Ok(Own { key, id, amount: amount.unwrap_or_default() })
            })
            .collect()
    }

    /// Our refund that goes by a key, or by the gateway's name for it.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn own_refund(
        &self,
        org: OrgId,
        order: OrderId,
        key: Option<&str>,
        name: Option<&str>,
    ) -> Result<Option<OperationId>, DbError> {
        let row = self.row(&sql::OPERATION_REFUND_OF_KEY, &[&org.0, &order.0, &key, &name]).await?;
        row.map(|row| {
            let fact = column(&row, "fact")?;
            Ok(OperationId { org_id: org, order_id: order, kind: "refund".to_owned(), fact })
        })
        .transpose()
    }
}
