//! `sql/query/orders`.

use crate::db::deadline::Deadline;
use crate::db::error::DbError;
use crate::db::row::{column, spelled};
use crate::db::tx::Tx;
use crate::db::{Db, sql};
use crate::domain::cursor::Cursor;
use crate::domain::ids::{OrderId, OrgId};
use crate::domain::order::{Order, OrderStatus};
use crate::domain::payment::{PaymentState, PaymentSummary, StepSummary};
use std::collections::HashMap;
use time::OffsetDateTime;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

/// Which orders a list shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OrderFilter {
    /// Only those in this status.
    pub status: Option<OrderStatus>,
    /// Only the one with this reference.
    pub order_reference: Option<String>,
    /// Only those of this customer.
    pub customer_reference: Option<String>,
    /// Only those that do or do not wait for a person.
    pub needs_reconciliation: Option<bool>,
}

impl Db {
    /// One order.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn get_order(
        &self,
        org_id: OrgId,
        order_id: OrderId,
        deadline: Deadline,
    ) -> Result<Option<Order>, DbError> {
        let row = self.row(&sql::ORDER_GET, &[&org_id.0, &order_id.0], deadline).await?;
        row.as_ref().map(order_of).transpose()
    }

    /// The order that carries a reference.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn find_order_by_reference(
        &self,
        org_id: OrgId,
        reference: &str,
        deadline: Deadline,
    ) -> Result<Option<OrderId>, DbError> {
        let row = self.row(&sql::ORDER_FIND_BY_REFERENCE, &[&org_id.0, &reference], deadline).await?;
        row.map(|row| column(&row, "order_id").map(OrderId)).transpose()
    }

    /// Orders below a cursor, newest first, at most `limit`.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn list_orders(
        &self,
        org_id: OrgId,
        filter: &OrderFilter,
        cursor: Cursor,
        limit: i64,
        deadline: Deadline,
    ) -> Result<Vec<Order>, DbError> {
        let (org, below) = (&org_id.0, &cursor.0.0);
        let status = filter.status.map(OrderStatus::as_str);
        let reconcile = &filter.needs_reconciliation;
        let customer = &filter.customer_reference;
        // The most selective filter leads, since its index finds the rows.
        let rows = if filter.order_reference.is_some() {
            let reference = &filter.order_reference;
            self.rows(
                &sql::ORDER_LIST_BY_REFERENCE,
                &[org, below, &limit, &status, reconcile, customer, reference],
                deadline,
            )
            .await
        } else if *reconcile == Some(true) {
            self.rows(&sql::ORDER_LIST_TO_RECONCILE, &[org, below, &limit, &status, customer], deadline).await
        } else if customer.is_some() {
            let statuses = status.as_ref().map_or(OrderStatus::ALL, std::slice::from_ref);
            self.rows(&sql::ORDER_LIST_BY_CUSTOMER, &[org, below, &limit, &statuses, reconcile, customer], deadline)
                .await
        } else if status.is_some() {
            self.rows(&sql::ORDER_LIST_BY_STATUS, &[org, below, &limit, &status, reconcile], deadline).await
        } else {
            self.rows(&sql::ORDER_LIST, &[org, below, &limit, &status, reconcile], deadline).await
        };
        rows?.iter().map(order_of).collect()
    }
}

pub(super) fn order_of(row: &Row) -> Result<Order, DbError> {
    let request: &str = column(row, "request")?;
    Ok(Order {
        org_id: OrgId(column(row, "org_id")?),
        order_id: OrderId(column(row, "order_id")?),
        request: serde_json::from_str(request).map_err(|_| DbError::Decode { column: "request" })?,
        amount: column(row, "amount")?,
        amount_refunded: column(row, "amount_refunded")?,
        status: spelled(row, "status", OrderStatus::parse)?,
        needs_reconciliation: column(row, "needs_reconciliation")?,
        version: column(row, "version")?,
        created_at: column(row, "created_at")?,
        updated_at: column(row, "updated_at")?,
        payment: payment_of(row)?,
        steps: steps_of(row)?,
    })
}

fn payment_of(row: &Row) -> Result<Option<PaymentSummary>, DbError> {
    let Some(attempt) = column(row, "payment_attempt")? else {
        return Ok(None);
    };
    Ok(Some(PaymentSummary {
        state: spelled(row, "payment_state", PaymentState::parse)?,
        gateway: column(row, "payment_provider")?,
        reference: column(row, "payment_reference")?,
        attempt,
    }))
}

fn steps_of(row: &Row) -> Result<Vec<StepSummary>, DbError> {
    let steps: Option<Vec<&str>> = column(row, "steps")?;
    let step = |text: &str| {
        let (kind, state) = text.split_once('=').ok_or(DbError::Decode { column: "steps" })?;
        Ok(StepSummary { kind: kind.to_owned(), state: state.to_owned() })
    };
    steps.into_iter().flatten().map(step).collect()
}

/// An order under its lock, as far as settling anything about it needs to know.
#[derive(Debug, Clone)]
pub struct LockedOrder {
    /// Where it stands.
    pub status: OrderStatus,
    /// Whether it is to be cancelled.
    pub cancel_requested: bool,
    /// Its version.
    pub version: i32,
    /// In the currency's minor unit.
    pub amount: i64,
    /// ISO 4217.
    pub currency: String,
    /// Now, by the database's clock: what leases and deadlines are judged by.
    pub now: OffsetDateTime,
}

fn locked_of(row: &Row) -> Result<LockedOrder, DbError> {
    Ok(LockedOrder {
        status: spelled(row, "status", OrderStatus::parse)?,
        cancel_requested: column(row, "cancel_requested")?,
        version: column(row, "version")?,
        amount: column(row, "amount")?,
        currency: column(row, "currency")?,
        now: column(row, "now")?,
    })
}

impl Tx {
    /// Locks an order. Everybody does this before locking anything else of it.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn lock_order(&self, org_id: OrgId, order_id: OrderId) -> Result<Option<LockedOrder>, DbError> {
        self.row(&sql::ORDER_LOCK, &[&org_id.0, &order_id.0]).await?.as_ref().map(locked_of).transpose()
    }

    /// Locks those of some orders that nobody else has locked now.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn lock_free_orders(
        &self,
        org_id: OrgId,
        order_ids: &[Uuid],
    ) -> Result<HashMap<OrderId, LockedOrder>, DbError> {
        let rows = self.rows(&sql::ORDER_LOCK_FREE, &[&org_id.0, &order_ids]).await?;
        rows.iter().map(|row| Ok((OrderId(column(row, "order_id")?), locked_of(row)?))).collect()
    }

    /// The order as the API shows it, as this transaction sees it.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn order(&self, org_id: OrgId, order_id: OrderId) -> Result<Option<Order>, DbError> {
        self.row(&sql::ORDER_GET, &[&org_id.0, &order_id.0]).await?.as_ref().map(order_of).transpose()
    }

    /// Some orders as the API shows them, as this transaction sees them, in no order.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn orders(&self, org: OrgId, orders: &[Uuid]) -> Result<Vec<Order>, DbError> {
        self.rows(&sql::ORDER_GET_MANY, &[&org.0, &orders]).await?.iter().map(order_of).collect()
    }

    /// Moves a locked order on to its next version: its status, and what its payments, effects and cases add up to now.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn set_order_status(
        &self,
        org_id: OrgId,
        order_id: OrderId,
        locked: &LockedOrder,
        status: OrderStatus,
    ) -> Result<(), DbError> {
        self.set_order_statuses(org_id, &[(order_id, locked.version, status)]).await
    }

    /// [`Tx::set_order_status`] of several orders, each with the version that it had.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn set_order_statuses(
        &self,
        org_id: OrgId,
        moved: &[(OrderId, i32, OrderStatus)],
    ) -> Result<(), DbError> {
        let orders: Vec<_> = moved.iter().map(|(order, ..)| order.0).collect();
        let versions: Vec<_> = moved.iter().map(|(_, version, _)| *version).collect();
        let statuses: Vec<_> = moved.iter().map(|(.., status)| status.as_str()).collect();
        let params: [&(dyn ToSql + Sync); 4] = [&org_id.0, &orders, &statuses, &versions];
        let written = self.execute(&sql::ORDER_SET_STATUS, &params).await?;
        if usize::try_from(written).is_ok_and(|written| written == moved.len()) {
            Ok(())
        } else {
            Err(DbError::LostRace)
        }
    }

    /// Notes that an order is to be cancelled.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn request_cancel(&self, org_id: OrgId, order_id: OrderId) -> Result<(), DbError> {
        self.execute(&sql::ORDER_REQUEST_CANCEL, &[&org_id.0, &order_id.0]).await.map(|_| ())
    }
}
