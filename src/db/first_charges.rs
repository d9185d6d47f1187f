//! Statements that end many first charges at once.

use crate::db::error::DbError;
use crate::db::orders::order_of;
use crate::db::row::column;
use crate::db::sql;
use crate::db::tx::Tx;
use crate::domain::ids::{OrderId, OrgId};
use crate::domain::operation::OperationState;
use crate::domain::order::Order;
use crate::domain::step::StepKind;
use std::time::Duration;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

/// The first charge of an order that the gateway says was taken.
#[derive(Debug, Clone)]
pub struct FirstPaid {
    /// Of which order.
    pub order_id: OrderId,
    /// The lease it was sent under.
    pub token: Uuid,
    /// The gateway's name for the payment.
    pub reference: String,
}

/// A first charge that was ended.
#[derive(Debug, Clone)]
pub struct EndedCharge {
    /// Of which order.
    pub order_id: OrderId,
    /// Its key at the gateway.
    pub operation_key: String,
    /// The request that waits for it.
    pub idempotency_key: Option<String>,
    /// In the currency's minor unit.
    pub amount: i64,
    /// ISO 4217.
    pub currency: String,
    /// The gateway's name for the payment.
    pub reference: String,
}

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
    /// Ends first charges and their attempts under their orders' locks. Those to which anything else has happened are left as
    /// they are, and not given back.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn finish_first_charges(&self, org: OrgId, paid: &[&FirstPaid]) -> Result<Vec<EndedCharge>, DbError> {
        let orders: Vec<_> = paid.iter().map(|each| each.order_id.0).collect();
        let tokens: Vec<_> = paid.iter().map(|each| each.token).collect();
        let references: Vec<_> = paid.iter().map(|each| each.reference.as_str()).collect();
        let params: [&(dyn ToSql + Sync); 4] = [&org.0, &orders, &tokens, &references];
        let rows = self.rows(&sql::OPERATION_FINISH_FIRST_CHARGES, &params).await?;
        rows.iter()
            .map(|row| {
                Ok(EndedCharge {
                    order_id: OrderId(column(row, "order_id")?),
                    operation_key: column(row, "operation_key")?,
                    idempotency_key: column(row, "idempotency_key")?,
                    amount: column(row, "amount")?,
                    currency: column(row, "currency")?,
                    reference: column(row, "reference")?,
                })
            })
            .collect()
    }

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

    /// Some orders as the API shows them, as this transaction sees them, in no order.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn orders(&self, org: OrgId, orders: &[Uuid]) -> Result<Vec<Order>, DbError> {
        self.rows(&sql::ORDER_GET_MANY, &[&org.0, &orders]).await?.iter().map(order_of).collect()
    }
}
