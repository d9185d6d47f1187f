//! `sql/query/operations`, for people: lists of effects. Nothing here locks or changes one.

use crate::db::deadline::Deadline;
use crate::db::error::DbError;
use crate::db::row::{column, spelled};
use crate::db::{Db, sql};
use crate::domain::ids::{OrderId, OrgId};
use crate::domain::operation::OperationState;
use crate::domain::operation_view::{Operation, OperationCursor, OperationFilter};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

impl Db {
    /// Effects below a cursor, those of the newest order first.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn list_operations(
        &self,
        org: OrgId,
        filter: &OperationFilter,
        below: &OperationCursor,
        limit: i64,
        deadline: Deadline,
    ) -> Result<Vec<Operation>, DbError> {
        let (state, kind) = (filter.state.map(OperationState::as_str), &filter.kind);
        let (org, order_below, kind_below, fact_below) = (&org.0, &below.order_id.0, &below.kind, &below.fact);
        let unfinished = filter.state.is_some_and(|state| state != OperationState::Done);
        // The most selective filter leads, since its index finds the rows.
        let rows = if let Some(order) = filter.order_id {
            let params: [&(dyn ToSql + Sync); 8] =
                [org, order_below, kind_below, fact_below, &limit, &state, kind, &order.0];
            self.rows(&sql::OPERATION_LIST_BY_ORDER, &params, deadline).await?
        } else if unfinished || kind.is_some() {
            let statement = if unfinished { &sql::OPERATION_LIST_UNFINISHED } else { &sql::OPERATION_LIST_BY_KIND };
            let params: [&(dyn ToSql + Sync); 7] = [org, order_below, kind_below, fact_below, &limit, &state, kind];
            self.rows(statement, &params, deadline).await?
        } else {
            let params: [&(dyn ToSql + Sync); 6] = [org, order_below, kind_below, fact_below, &limit, &state];
            self.rows(&sql::OPERATION_LIST, &params, deadline).await?
        };
        rows.iter().map(operation_of).collect()
    }

    /// Effects of one order.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn operations_of_order(
        &self,
        org: OrgId,
        order: OrderId,
        limit: i64,
        deadline: Deadline,
    ) -> Result<Vec<Operation>, DbError> {
        let rows = self.rows(&sql::OPERATION_OF_ORDER, &[&org.0, &order.0, &limit], deadline).await?;
        rows.iter().map(operation_of).collect()
    }
}

fn operation_of(row: &Row) -> Result<Operation, DbError> {
    Ok(Operation {
        order_id: OrderId(column(row, "order_id")?),
        kind: column(row, "kind")?,
        fact: column(row, "fact")?,
        state: spelled(row, "state", OperationState::parse)?,
        operation_key: column(row, "operation_key")?,
        amount: column(row, "amount")?,
        idempotency_key: column(row, "idempotency_key")?,
        attempts: column(row, "attempts")?,
        questions: column(row, "questions")?,
        next_attempt_at: column(row, "next_attempt_at")?,
        deadline_at: column(row, "deadline_at")?,
        lease_until: column(row, "lease_until")?,
        first_sent_at: column(row, "first_sent_at")?,
        last_sent_at: column(row, "last_sent_at")?,
        external_reference: column(row, "external_reference")?,
        last_outcome: column(row, "last_outcome")?,
        created_at: column(row, "created_at")?,
        updated_at: column(row, "updated_at")?,
    })
}
