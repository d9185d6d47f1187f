//! `sql/query/operations`, as far as they are business steps.

use crate::db::error::DbError;
use crate::db::row::spelled;
use crate::db::sql;
use crate::db::tx::Tx;
use crate::domain::ids::{OrderId, OrgId};
use crate::domain::operation::OperationState;
use crate::domain::step::StepKind;
use std::time::Duration;

impl Tx {
    /// The steps of an order, and where each stands.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn steps(&self, org: OrgId, order: OrderId) -> Result<Vec<(StepKind, OperationState)>, DbError> {
        let rows = self.rows(&sql::OPERATION_STEPS, &[&org.0, &order.0]).await?;
        let step = |row| Ok((spelled(row, "kind", StepKind::parse)?, spelled(row, "state", OperationState::parse)?));
        rows.iter().map(step).collect()
    }

    /// Lets a step begin that waited for its turn, to be tried for so long.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn release_step(
        &self,
        org: OrgId,
        order: OrderId,
        kind: StepKind,
        time: Duration,
    ) -> Result<(), DbError> {
        let seconds = time.as_secs_f64();
        self.execute(&sql::OPERATION_RELEASE, &[&org.0, &order.0, &kind.as_str(), &seconds]).await.map(|_| ())
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
