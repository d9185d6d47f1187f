//! `sql/query/operations`, as far as they are business steps.

use crate::db::error::DbError;
use crate::db::row::{column, spelled};
use crate::db::sql;
use crate::db::tx::Tx;
use crate::domain::ids::{OrderId, OrgId};
use crate::domain::operation::OperationState;
use crate::domain::step::StepKind;
use std::time::Duration;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

/// A step that an order gets.
#[derive(Debug, Clone)]
pub struct NewStep {
    /// Of which order.
    pub order_id: OrderId,
    /// What.
    pub kind: StepKind,
    /// Where it begins.
    pub state: OperationState,
    /// Its key at the partner.
    pub operation_key: String,
    /// How long it is tried.
    pub time: Duration,
}

impl Tx {
    /// Asks for steps, each once however often it is asked for.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn add_steps(&self, org: OrgId, steps: &[NewStep]) -> Result<(), DbError> {
        if steps.is_empty() {
            return Ok(());
        }
        let orders: Vec<_> = steps.iter().map(|step| step.order_id.0).collect();
        let kinds: Vec<_> = steps.iter().map(|step| step.kind.as_str()).collect();
        let states: Vec<_> = steps.iter().map(|step| step.state.as_str()).collect();
        let keys: Vec<_> = steps.iter().map(|step| step.operation_key.as_str()).collect();
        let seconds: Vec<_> = steps.iter().map(|step| step.time.as_secs_f64()).collect();
        let params: [&(dyn ToSql + Sync); 6] = [&org.0, &orders, &kinds, &states, &keys, &seconds];
        self.execute(&sql::OPERATION_ADD_STEPS, &params).await.map(|_| ())
    }

    /// The steps of an order, and where each stands.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn steps(&self, org: OrgId, order: OrderId) -> Result<Vec<(StepKind, OperationState)>, DbError> {
        let steps = self.steps_of(org, &[order.0]).await?;
        Ok(steps.into_iter().map(|(_, kind, state)| (kind, state)).collect())
    }

    /// The steps of several orders.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn steps_of(
        &self,
        org: OrgId,
        orders: &[Uuid],
    ) -> Result<Vec<(OrderId, StepKind, OperationState)>, DbError> {
        let rows = self.rows(&sql::OPERATION_STEPS, &[&org.0, &orders]).await?;
        let step = |row| {
            let (kind, state) = (spelled(row, "kind", StepKind::parse)?, spelled(row, "state", OperationState::parse)?);
            Ok((OrderId(column(row, "order_id")?), kind, state))
        };
        rows.iter().map(step).collect()
    }

    /// Lets steps begin that waited for their turn, each to be tried for so long.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn release_steps(&self, org: OrgId, steps: &[(OrderId, StepKind, Duration)]) -> Result<(), DbError> {
        let orders: Vec<_> = steps.iter().map(|(order, ..)| order.0).collect();
        let kinds: Vec<_> = steps.iter().map(|(_, kind, _)| kind.as_str()).collect();
        let seconds: Vec<_> = steps.iter().map(|(.., time)| time.as_secs_f64()).collect();
        self.execute(&sql::OPERATION_RELEASE, &[&org.0, &orders, &kinds, &seconds]).await.map(|_| ())
    }

    /// Ends a step that waits for one that was given up.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn give_up_step(&self, org: OrgId, order: OrderId, kind: StepKind) -> Result<(), DbError> {
        self.execute(&sql::OPERATION_GIVE_UP_STEP, &[&org.0, &order.0, &kind.as_str()]).await.map(|_| ())
    }

    /// Ends the steps that nobody has begun.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn stop_steps(&self, org: OrgId, order: OrderId) -> Result<(), DbError> {
        self.execute(&sql::OPERATION_STOP_STEPS, &[&org.0, &order.0]).await.map(|_| ())
    }
}
