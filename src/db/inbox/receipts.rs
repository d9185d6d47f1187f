//! `sql/query/receipts`.

use crate::db::deadline::Deadline;
use crate::db::error::DbError;
use crate::db::row::{column, spelled};
use crate::db::tx::Tx;
use crate::db::{Db, sql};
use crate::domain::ids::{OrderId, OrgId};
use crate::domain::inbox::Classification;
use crate::domain::inbox::signature::Verdict;
use crate::domain::inbox::view::Receipt;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

/// A delivery, as far as it is known whatever becomes of it.
pub struct NewReceipt<'a> {
    /// The tenant.
    pub org_id: OrgId,
    /// Its id.
    pub receipt_id: Uuid,
    /// Where it came to.
    pub endpoint_id: Uuid,
    /// From whom.
    pub provider: &'a str,
    /// Our clock minus the signed time.
    pub skew_seconds: Option<i64>,
    /// Its bytes.
    pub body: &'a [u8],
}

/// What was read of a delivery that is believed.
pub struct Accepted<'a> {
    /// Which secret signed it.
    pub secret_label: Option<&'a str>,
    /// What becomes of it.
    pub classification: Classification,
    /// The provider's name for it.
    pub notification_id: Option<&'a str>,
    /// What kind of notification.
    pub kind: Option<&'a str>,
    /// The provider's name for the object that it shows.
    pub object_id: Option<&'a str>,
    /// The fact that it tells.
    pub fact_key: Option<&'a str>,
    /// The order.
    pub order_id: Option<OrderId>,
}

/// Which receipts a list shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReceiptFilter {
    /// Only those of this class.
    pub classification: Option<Classification>,
    /// Only those whose signature was judged like this.
    pub signature: Option<Verdict>,
    /// Only those of this type.
    pub kind: Option<String>,
    /// Only those of this endpoint.
    pub endpoint_id: Option<Uuid>,
    /// Only those of this notification.
    pub notification_id: Option<String>,
    /// Only those about this order.
    pub order_id: Option<OrderId>,
}

impl Tx {
    /// Adds a delivery that is believed.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn add_receipt(&self, new: &NewReceipt<'_>, read: &Accepted<'_>) -> Result<(), DbError> {
        let params: [&(dyn ToSql + Sync); 13] = [
            &new.org_id.0,
            &new.receipt_id,
            &new.endpoint_id,
            &new.provider,
            &read.secret_label,
            &new.skew_seconds,
            &new.body,
            &read.classification.as_str(),
            &read.notification_id,
            &read.kind,
            &read.object_id,
            &read.fact_key,
            &read.order_id.map(|id| id.0),
        ];
        self.execute(&sql::RECEIPT_ADD, &params).await.map(|_| ())
    }
}

impl Db {
    /// Adds a delivery that is refused, unless `at_most` of its endpoint were within an hour. Of the body, `kept` bytes are.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn add_refused_receipt(
        &self,
        new: &NewReceipt<'_>,
        (verdict, status): (Verdict, i16),
        (kept, at_most): (usize, i64),
        deadline: Deadline,
    ) -> Result<bool, DbError> {
        let beginning = new.body.get(..kept).unwrap_or(new.body);
        let length = i32::try_from(new.body.len()).unwrap_or(i32::MAX);
        let params: [&(dyn ToSql + Sync); 10] = [
            &new.org_id.0,
            &new.receipt_id,
            &new.endpoint_id,
            &new.provider,
            &verdict.as_str(),
            &new.skew_seconds,
            &beginning,
            &length,
            &status,
            &at_most,
        ];
        self.execute(&sql::RECEIPT_ADD_REFUSED, &params, deadline).await.map(|rows| rows == 1)
    }

    /// One receipt with its bytes.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn get_receipt(&self, org: OrgId, receipt: Uuid, deadline: Deadline) -> Result<Option<Receipt>, DbError> {
        let row = self.row(&sql::RECEIPT_GET, &[&org.0, &receipt], deadline).await?;
        row.map(|row| Ok(Receipt { body: column(&row, "body")?, ..receipt_of(&row)? })).transpose()
    }

    /// Receipts below a cursor, newest first, without their bytes.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn list_receipts(
        &self,
        org: OrgId,
        filter: &ReceiptFilter,
        below: Uuid,
        limit: i64,
        deadline: Deadline,
    ) -> Result<Vec<Receipt>, DbError> {
        let class = filter.classification.map(Classification::as_str);
        let signature = filter.signature.map(Verdict::as_str);
        let order = filter.order_id.map(|id| id.0);
        let mut params: Vec<&(dyn ToSql + Sync)> =
            vec![&org.0, &below, &limit, &class, &signature, &filter.kind, &filter.endpoint_id];
        // The most selective filter leads, since its index finds the rows.
        let statement = if order.is_some() {
            params.extend([&filter.notification_id as &(dyn ToSql + Sync), &order]);
            &sql::RECEIPT_LIST_BY_ORDER
        } else if filter.notification_id.is_some() {
            params.push(&filter.notification_id);
            &sql::RECEIPT_LIST_BY_NOTIFICATION
        } else {
            &sql::RECEIPT_LIST
        };
        self.rows(statement, &params, deadline).await?.iter().map(receipt_of).collect()
    }

    /// The first receipts of one order, oldest first, without their bytes.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn receipts_of_order(
        &self,
        org: OrgId,
        order: OrderId,
        limit: i64,
        deadline: Deadline,
    ) -> Result<Vec<Receipt>, DbError> {
        let rows = self.rows(&sql::RECEIPT_OF_ORDER, &[&org.0, &order.0, &limit], deadline).await?;
        rows.iter().map(receipt_of).collect()
    }
}

fn receipt_of(row: &Row) -> Result<Receipt, DbError> {
    let class: Option<&str> = column(row, "classification")?;
    let classification =
        class.map(|text| Classification::parse(text).ok_or(DbError::Decode { column: "classification" }));
    Ok(Receipt {
        receipt_id: column(row, "receipt_id")?,
        arrival: column(row, "arrival")?,
        endpoint_id: column(row, "endpoint_id")?,
        provider: column(row, "provider")?,
        received_at: column(row, "received_at")?,
        signature: spelled(row, "signature", Verdict::parse)?,
        secret_label: column(row, "secret_label")?,
        skew_seconds: column(row, "skew_seconds")?,
        body: None,
        body_bytes: column(row, "body_bytes")?,
        reply_status: column(row, "reply_status")?,
        classification: classification.transpose()?,
        notification_id: column(row, "notification_id")?,
        kind: column(row, "type")?,
        object_id: column(row, "object_id")?,
        fact_key: column(row, "fact_key")?,
        order_id: column::<Option<Uuid>>(row, "order_id")?.map(OrderId),
    })
}
