//! What comparing our books with the gateway's reads: attempts, refunds and cases as they stand, none of them locked.

use crate::db::deadline::Deadline;
use crate::db::error::DbError;
use crate::db::operations::OperationId;
use crate::db::row::{column, spelled};
use crate::db::tx::Tx;
use crate::db::{Db, sql};
use crate::domain::case::NewCase;
use crate::domain::ids::{OrderId, OrgId};
use crate::domain::operation::OperationState;
use crate::domain::payment::PaymentState;
use crate::domain::sweep::OurPayment;
use serde_json::Value;
use time::OffsetDateTime;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

/// An attempt of an order, as it stands.
#[derive(Debug, Clone)]
pub struct Attempt {
    /// The order.
    pub order_id: OrderId,
    /// From 1.
    pub attempt: i32,
    /// How it stands.
    pub payment: OurPayment,
}

/// A refund, as it stands.
#[derive(Debug, Clone)]
pub struct RefundRow {
    /// The order.
    pub order_id: OrderId,
    /// Which one of the order's.
    pub fact: String,
    /// Where it stands.
    pub state: OperationState,
    /// In the currency's minor unit.
    pub amount: Option<i64>,
    /// The gateway's name for it.
    pub reference: Option<String>,
    /// Whether somebody holds it now.
    pub at_work: bool,
}

/// An attempt that took money, and its place in the list of those.
#[derive(Debug, Clone)]
pub struct Taken {
    /// When it was made.
    pub created_at: OffsetDateTime,
    /// The order.
    pub order_id: OrderId,
    /// From 1.
    pub attempt: i32,
    /// The gateway's name for it.
    pub reference: String,
}

impl Taken {
    /// The place before everything since a moment.
    #[must_use]
    pub fn before(since: OffsetDateTime) -> Self {
        Self { created_at: since, order_id: OrderId(Uuid::nil()), attempt: 0, reference: String::new() }
    }
}

/// Which attempts that took money.
#[derive(Debug, Clone)]
pub struct TakenFilter<'a> {
    /// Made before this moment.
    pub until: OffsetDateTime,
    /// Made at this gateway account.
    pub gateway_sha256: &'a [u8],
    /// So many.
    pub limit: i64,
}

impl Db {
    /// One attempt and its charge.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn attempt(
        &self,
        org: OrgId,
        order: OrderId,
        attempt: i32,
        deadline: Deadline,
    ) -> Result<Option<Attempt>, DbError> {
        let row = self.row(&sql::PAYMENT_STANDS, &[&org.0, &order.0, &attempt], deadline).await?;
        row.as_ref().map(attempt_of).transpose()
    }

    /// The attempt that a payment at the gateway pays.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn attempt_of_reference(
        &self,
        org: OrgId,
        provider: &str,
        reference: &str,
        deadline: Deadline,
    ) -> Result<Option<Attempt>, DbError> {
        let row = self.row(&sql::PAYMENT_STANDS_BY_REFERENCE, &[&org.0, &provider, &reference], deadline).await?;
        row.as_ref().map(attempt_of).transpose()
    }

    /// Attempts that took money, oldest first, after a place.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn taken(
        &self,
        org: OrgId,
        after: &Taken,
        filter: &TakenFilter<'_>,
        deadline: Deadline,
    ) -> Result<Vec<Taken>, DbError> {
        let params: [&(dyn ToSql + Sync); 7] = [
            &org.0,
            &after.created_at,
            &after.order_id.0,
            &after.attempt,
            &filter.until,
            &filter.gateway_sha256,
            &filter.limit,
        ];
        let rows = self.rows(&sql::PAYMENT_TAKEN, &params, deadline).await?;
        rows.iter()
            .map(|row| {
                Ok(Taken {
                    created_at: column(row, "created_at")?,
                    order_id: OrderId(column(row, "order_id")?),
                    attempt: column(row, "attempt")?,
                    reference: column(row, "gateway_reference")?,
                })
            })
            .collect()
    }

    /// The refund that was asked for under a key.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn refund_of_key(&self, org: OrgId, key: &str, deadline: Deadline) -> Result<Option<RefundRow>, DbError> {
        let row = self.row(&sql::OPERATION_REFUND_BY_KEY, &[&org.0, &key], deadline).await?;
        row.as_ref().map(refund_of).transpose()
    }

    /// The refund of an order that has this name at the gateway.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn refund_of_reference(
        &self,
        org: OrgId,
        order: OrderId,
        reference: &str,
        deadline: Deadline,
    ) -> Result<Option<RefundRow>, DbError> {
        let row = self.row(&sql::OPERATION_REFUND_BY_REFERENCE, &[&org.0, &order.0, &reference], deadline).await?;
        row.as_ref().map(refund_of).transpose()
    }
}

impl Tx {
    /// As [`Db::refund_of_reference`], under the order's lock.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn refund_of_reference(
        &self,
        org: OrgId,
        order: OrderId,
        reference: &str,
    ) -> Result<Option<RefundRow>, DbError> {
        let row = self.row(&sql::OPERATION_REFUND_BY_REFERENCE, &[&org.0, &order.0, &reference]).await?;
        row.as_ref().map(refund_of).transpose()
    }

    /// Whether a person has, or had, a case like this one; the order is locked.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn knows_case(&self, id: &OperationId, case: &NewCase) -> Result<bool, DbError> {
        let theirs = case.evidence.get("theirs").unwrap_or(&Value::Null);
        let params: [&(dyn ToSql + Sync); 6] =
            [&id.org_id.0, &id.order_id.0, &id.kind, &id.fact, &case.reason, &theirs];
        let row = self.row(&sql::CASE_KNOWN, &params).await?;
        row.map_or(Ok(false), |row| column::<i64>(&row, "known").map(|known| known > 0))
    }
}

fn attempt_of(row: &Row) -> Result<Attempt, DbError> {
    Ok(Attempt {
        order_id: OrderId(column(row, "order_id")?),
        attempt: column(row, "attempt")?,
        payment: OurPayment {
            reference: column(row, "gateway_reference")?,
            amount: column(row, "amount")?,
            currency: column(row, "currency")?,
            state: spelled(row, "state", PaymentState::parse)?,
            charge: spelled(row, "charge", OperationState::parse)?,
            at_work: column(row, "at_work")?,
        },
    })
}

fn refund_of(row: &Row) -> Result<RefundRow, DbError> {
    Ok(RefundRow {
        order_id: OrderId(column(row, "order_id")?),
        fact: column(row, "fact")?,
        state: spelled(row, "state", OperationState::parse)?,
        amount: column(row, "amount")?,
        reference: column(row, "external_reference")?,
        at_work: column(row, "at_work")?,
    })
}
