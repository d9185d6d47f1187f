//! `sql/query/payments`. All of it under the order's lock.

use crate::db::error::DbError;
use crate::db::row::{column, spelled};
use crate::db::sql;
use crate::db::tx::Tx;
use crate::domain::ids::{OrderId, OrgId};
use crate::domain::payment::PaymentState;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

/// One attempt, as far as settling it needs to know.
#[derive(Debug, Clone)]
pub struct PaymentRow {
    /// From 1.
    pub attempt: i32,
    /// The gateway's name for it.
    pub reference: Option<String>,
    /// In the currency's minor unit.
    pub amount: i64,
    /// ISO 4217.
    pub currency: String,
    /// What was given back.
    pub refunded: i64,
    /// Where it stands.
    pub state: PaymentState,
}

/// An attempt to be made.
pub struct NewPayment<'a> {
    /// From 1.
    pub attempt: i32,
    /// Which gateway.
    pub provider: &'a str,
    /// The payment method, sealed.
    pub method_sealed: &'a [u8],
    /// In the currency's minor unit.
    pub amount: i64,
    /// ISO 4217.
    pub currency: &'a str,
}

impl Tx {
    /// Locks the newest attempt of an order.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn newest_payment(&self, org: OrgId, order: OrderId) -> Result<Option<PaymentRow>, DbError> {
        let row = self.row(&sql::PAYMENT_NEWEST, &[&org.0, &order.0]).await?;
        row.map(|row| payment(&row, column(&row, "attempt")?)).transpose()
    }

    /// Locks one attempt, with its sealed payment method.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn lock_payment(
        &self,
        org: OrgId,
        order: OrderId,
        attempt: i32,
    ) -> Result<Option<(PaymentRow, Option<Vec<u8>>)>, DbError> {
        let row = self.row(&sql::PAYMENT_LOCK, &[&org.0, &order.0, &attempt]).await?;
        row.map(|row| Ok((payment(&row, attempt)?, column(&row, "method_sealed")?))).transpose()
    }

    /// Adds the next attempt.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn add_payment(&self, org: OrgId, order: OrderId, new: &NewPayment<'_>) -> Result<(), DbError> {
        let params: [&(dyn ToSql + Sync); 7] =
            [&org.0, &order.0, &new.attempt, &new.provider, &new.method_sealed, &new.amount, &new.currency];
        self.execute(&sql::PAYMENT_ADD, &params).await.map(|_| ())
    }

    /// Writes what is known of an attempt; `settled` when nothing can have to be sent again.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn settle_payment(
        &self,
        (org, order, attempt): (OrgId, OrderId, i32),
        state: PaymentState,
        reference: Option<&str>,
        decline_code: Option<&str>,
        settled: bool,
    ) -> Result<(), DbError> {
        let params: [&(dyn ToSql + Sync); 7] =
            [&org.0, &order.0, &attempt, &state.as_str(), &reference, &decline_code, &settled];
        self.execute(&sql::PAYMENT_SETTLE, &params).await.map(|_| ())
    }

    /// Adds what was given back; `false` when that is more than was taken.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn add_refund(&self, (org, order, attempt): (OrgId, OrderId, i32), amount: i64) -> Result<bool, DbError> {
        self.execute(&sql::PAYMENT_REFUND, &[&org.0, &order.0, &attempt, &amount]).await.map(|rows| rows == 1)
    }

    /// Whether another attempt of the order has taken its money.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn others_paid(&self, org: OrgId, order: OrderId, attempt: i32) -> Result<bool, DbError> {
        let row = self.row(&sql::PAYMENT_OTHERS_PAID, &[&org.0, &order.0, &attempt]).await?;
        row.map_or(Ok(false), |row| column::<i64>(&row, "paid").map(|paid| paid > 0))
    }
}

fn payment(row: &Row, attempt: i32) -> Result<PaymentRow, DbError> {
    Ok(PaymentRow {
        attempt,
        reference: column(row, "gateway_reference")?,
        amount: column(row, "amount")?,
        currency: column(row, "currency")?,
        refunded: column(row, "refunded")?,
        state: spelled(row, "state", PaymentState::parse)?,
    })
}
