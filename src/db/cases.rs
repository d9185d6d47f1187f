//! `sql/query/reconciliation_cases`.

use crate::db::deadline::Deadline;
use crate::db::error::DbError;
use crate::db::operations::OperationId;
use crate::db::row::{column, spelled};
use crate::db::tx::Tx;
use crate::db::{Db, sql};
use crate::domain::case::{Case, CaseState, DECIDE_WITHIN_HOURS, NewCase};
use crate::domain::ids::{OrderId, OrgId};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

/// Which cases a list shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CaseFilter {
    /// Only those in this state.
    pub state: Option<CaseState>,
    /// Only those for this reason.
    pub reason: Option<String>,
    /// Only those of this order.
    pub order_id: Option<OrderId>,
}

/// A person's decision, for the record.
pub struct Resolution<'a> {
    /// What.
    pub decision: &'a str,
    /// Who.
    pub decided_by: &'a str,
    /// Why.
    pub reason: &'a str,
    /// What they saw.
    pub proof: Option<&'a str>,
}

impl Tx {
    /// Opens a case for an effect, unless one is open.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn open_case(&self, id: &OperationId, case_id: Uuid, new: &NewCase) -> Result<(), DbError> {
        let params: [&(dyn ToSql + Sync); 11] = [
            &id.org_id.0,
            &case_id,
            &id.order_id.0,
            &id.kind,
            &id.fact,
            &new.reason,
            &new.owner,
            &new.corrector,
            &new.suggestion,
            &new.evidence,
            &DECIDE_WITHIN_HOURS,
        ];
        self.execute(&sql::CASE_OPEN, &params).await.map(|_| ())
    }

    /// Closes the open case of an effect that evidence has settled.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn close_settled_case(&self, id: &OperationId) -> Result<(), DbError> {
        let params: [&(dyn ToSql + Sync); 4] = [&id.org_id.0, &id.order_id.0, &id.kind, &id.fact];
        self.execute(&sql::CASE_CLOSE_SETTLED, &params).await.map(|_| ())
    }

    /// Resolves a case; `false` when it was resolved before.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn resolve_case(&self, org: OrgId, case: Uuid, by: &Resolution<'_>) -> Result<bool, DbError> {
        let params: [&(dyn ToSql + Sync); 6] = [&org.0, &case, &by.decision, &by.decided_by, &by.reason, &by.proof];
        self.execute(&sql::CASE_RESOLVE, &params).await.map(|rows| rows == 1)
    }

    /// One case, inside the transaction that decides it.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn case(&self, org: OrgId, case: Uuid) -> Result<Option<Case>, DbError> {
        self.row(&sql::CASE_GET, &[&org.0, &case]).await?.as_ref().map(case_of).transpose()
    }
}

impl Db {
    /// One case.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn get_case(&self, org: OrgId, case: Uuid, deadline: Deadline) -> Result<Option<Case>, DbError> {
        self.row(&sql::CASE_GET, &[&org.0, &case], deadline).await?.as_ref().map(case_of).transpose()
    }

    /// Cases below a cursor, newest first.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn list_cases(
        &self,
        org: OrgId,
        filter: &CaseFilter,
        below: Uuid,
        limit: i64,
        deadline: Deadline,
    ) -> Result<Vec<Case>, DbError> {
        let (org, reason, state) = (&org.0, &filter.reason, filter.state.map(CaseState::as_str));
        // The most selective filter leads, since its index finds the rows.
        let rows = if let Some(order) = filter.order_id {
            let params: [&(dyn ToSql + Sync); 6] = [org, &below, &limit, reason, &state, &order.0];
            self.rows(&sql::CASE_LIST_BY_ORDER, &params, deadline).await?
        } else if state.is_some() {
            self.rows(&sql::CASE_LIST_BY_STATE, &[org, &below, &limit, reason, &state], deadline).await?
        } else {
            self.rows(&sql::CASE_LIST, &[org, &below, &limit, reason], deadline).await?
        };
        rows.iter().map(case_of).collect()
    }
}

fn case_of(row: &Row) -> Result<Case, DbError> {
    Ok(Case {
        case_id: column(row, "case_id")?,
        order_id: OrderId(column(row, "order_id")?),
        kind: column(row, "kind")?,
        fact: column(row, "fact")?,
        reason: column(row, "reason")?,
        state: spelled(row, "state", CaseState::parse)?,
        owner: column(row, "owner")?,
        corrector: column(row, "corrector")?,
        suggestion: column(row, "suggestion")?,
        evidence: column(row, "evidence")?,
        opened_at: column(row, "opened_at")?,
        deadline: column(row, "deadline")?,
        decision: column(row, "decision")?,
        decided_by: column(row, "decided_by")?,
        reason_given: column(row, "reason_given")?,
        proof: column(row, "proof")?,
        resolved_at: column(row, "resolved_at")?,
    })
}
