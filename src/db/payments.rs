//! `sql/query/payments`. All of it under the order's lock.

use crate::db::error::DbError;
use crate::db::row::{column, one, spelled};
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

/// What sending an attempt again needs.
#[derive(Debug, Clone)]
pub struct Sent {
    /// The payment method, sealed; gone once the attempt is settled.
    pub method_sealed: Option<Vec<u8>>,
    /// Hash of the gateway's address and secret.
    pub gateway_sha256: Option<Vec<u8>>,
}

/// An attempt to be made.
pub struct NewPayment<'a> {
    /// From 1.
    pub attempt: i32,
    /// Which gateway.
    pub provider: &'a str,
    /// Hash of the gateway's address and secret.
    pub gateway_sha256: &'a [u8],
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
        row.as_ref().map(payment).transpose()
    }

    /// Locks one attempt, with what sending it again needs.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn lock_payment(
        &self,
        org: OrgId,
        order: OrderId,
        attempt: i32,
    ) -> Result<Option<(PaymentRow, Sent)>, DbError> {
        let row = self.row(&sql::PAYMENT_LOCK, &[&org.0, &order.0, &attempt]).await?;
        row.map(|row| {
            let sent =
                Sent { method_sealed: column(&row, "method_sealed")?, gateway_sha256: column(&row, "gateway_sha256")? };
            Ok((payment(&row)?, sent))
        })
        .transpose()
    }

    /// Adds the next attempt.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn add_payment(&self, org: OrgId, order: OrderId, new: &NewPayment<'_>) -> Result<(), DbError> {
        let params: [&(dyn ToSql + Sync); 8] = [
            &org.0,
            &order.0,
            &new.attempt,
            &new.provider,
            &new.method_sealed,
            &new.amount,
            &new.currency,
            &new.gateway_sha256,
        ];
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
        one(self.execute(&sql::PAYMENT_SETTLE, &params).await?)
    }

    /// Locks the attempts of an order that hold money of the customer's.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn paid_payments(&self, org: OrgId, order: OrderId) -> Result<Vec<PaymentRow>, DbError> {
        self.rows(&sql::PAYMENT_PAID, &[&org.0, &order.0]).await?.iter().map(payment).collect()
    }

    /// The order of another attempt that a payment at the gateway is known to be of, and how that attempt stands.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn known_elsewhere(
        &self,
        (org, order, attempt): (OrgId, OrderId, i32),
        reference: &str,
    ) -> Result<Option<(OrderId, PaymentState)>, DbError> {
        let row = self.row(&sql::PAYMENT_HAS_REFERENCE, &[&org.0, &order.0, &attempt, &reference]).await?;
        row.map(|row| Ok((OrderId(column(&row, "order_id")?), spelled(&row, "state", PaymentState::parse)?)))
            .transpose()
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

pub(super) fn payment(row: &Row) -> Result<PaymentRow, DbError> {
    Ok(PaymentRow {
        attempt: column(row, "attempt")?,
        reference: column(row, "gateway_reference")?,
        amount: column(row, "amount")?,
        currency: column(row, "currency")?,
        refunded: column(row, "refunded")?,
        state: spelled(row, "state", PaymentState::parse)?,
    })
}
