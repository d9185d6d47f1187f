//! `sql/query/operations`: steps that are sent for the first time, many at once.

use crate::db::deadline::Deadline;
use crate::db::error::DbError;
use crate::db::orders::order_of;
use crate::db::row::{column, spelled};
use crate::db::tx::Tx;
use crate::db::{Db, sql};
use crate::domain::ids::{OrderId, OrgId};
use crate::domain::order::Order;
use crate::domain::step::StepKind;
use std::time::Duration;
use time::OffsetDateTime;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

/// A step that was never sent, under our lease.
#[derive(Debug)]
pub struct FirstTaken {
    /// What.
    pub kind: StepKind,
    /// Its order, as it was then.
    pub order: Order,
    /// Its key at the partner.
    pub operation_key: String,
    /// Until when it is tried.
    pub deadline_at: OffsetDateTime,
    /// When it was asked for.
    pub asked_for_at: OffsetDateTime,
    /// Whether its sending is noted. If not, whether it may be sent at all is to be found out.
    pub may_be_sent: bool,
    /// Now, by the database's clock.
    pub now: OffsetDateTime,
}

/// What is taken, for whom.
#[derive(Debug, Clone, Copy)]
pub struct Taking<'a> {
    /// The steps, each with the hash of its target and how many at most.
    pub kinds: &'a [(StepKind, Vec<u8>, i64)],
    /// Names the lease.
    pub token: Uuid,
    /// How long it lasts.
    pub lease: Duration,
}

/// A step that its partner says is done.
#[derive(Debug, Clone)]
pub struct FirstDone {
    /// Of which order.
    pub order_id: OrderId,
    /// What.
    pub kind: StepKind,
    /// What it was taken with.
    pub token: Uuid,
    /// The partner's own name for it.
    pub reference: Option<String>,
    /// Its key at the partner.
    pub operation_key: String,
}

impl Db {
    /// Takes steps of an organisation that were never sent and are due, and notes a sending of those that may be sent without
    /// a second look.
    ///
    /// # Errors
    ///
    /// [`DbError`]; what was taken then, if anything, is due again when the lease ends.
    pub async fn take_first_sendings(
        &self,
        org_id: OrgId,
        taking: Taking<'_>,
        deadline: Deadline,
    ) -> Result<Vec<FirstTaken>, DbError> {
        let kinds: Vec<_> = taking.kinds.iter().map(|(kind, ..)| kind.as_str()).collect();
        let hashes: Vec<_> = taking.kinds.iter().map(|(_, hash, _)| hash).collect();
        let limits: Vec<_> = taking.kinds.iter().map(|(.., limit)| *limit).collect();
        let seconds = taking.lease.as_secs_f64();
        let params: [&(dyn ToSql + Sync); 6] = [&org_id.0, &kinds, &hashes, &limits, &taking.token, &seconds];
        let rows = self.rows(&sql::OPERATION_TAKE_FIRST, &params, deadline).await?;
        rows.iter()
            .map(|row| {
                Ok(FirstTaken {
                    kind: spelled(row, "kind", StepKind::parse)?,
                    order: order_of(row)?,
                    operation_key: column(row, "operation_key")?,
                    deadline_at: column(row, "deadline_at")?,
                    asked_for_at: column(row, "asked_for_at")?,
                    may_be_sent: column(row, "may_be_sent")?,
                    now: column(row, "now")?,
                })
            })
            .collect()
    }
}

impl Tx {
    /// Ends first sendings that were answered as done. Only those that are given back were still under the lease that they
    /// were sent with.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn finish_first_sendings(
        &self,
        org: OrgId,
        done: &[&FirstDone],
    ) -> Result<Vec<(OrderId, StepKind)>, DbError> {
        let orders: Vec<_> = done.iter().map(|each| each.order_id.0).collect();
        let kinds: Vec<_> = done.iter().map(|each| each.kind.as_str()).collect();
        let tokens: Vec<_> = done.iter().map(|each| each.token).collect();
        let references: Vec<_> = done.iter().map(|each| each.reference.as_deref()).collect();
        let params: [&(dyn ToSql + Sync); 5] = [&org.0, &orders, &kinds, &tokens, &references];
        let rows = self.rows(&sql::OPERATION_FINISH_FIRST, &params).await?;
        rows.iter().map(|row| Ok((OrderId(column(row, "order_id")?), spelled(row, "kind", StepKind::parse)?))).collect()
    }
}
