//! `sql/query/operations`: the ledger of effects.

use crate::db::error::DbError;
use crate::db::row::{column, one, spelled};
use crate::db::sql;
use crate::db::tx::Tx;
use crate::domain::ids::{OrderId, OrgId};
use crate::domain::operation::{OperationFacts, OperationState, OperationStep};
use crate::domain::step::StepKind;
use std::time::Duration;
use time::OffsetDateTime;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

/// Which effect: of which order, what, and which one of its kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperationId {
    /// The tenant.
    pub org_id: OrgId,
    /// The order.
    pub order_id: OrderId,
    /// `charge`, `refund`, or a step.
    pub kind: String,
    /// The attempt for a charge, the request for a refund.
    pub fact: String,
}

impl OperationId {
    /// The charge of one attempt.
    #[must_use]
    pub fn charge(org_id: OrgId, order_id: OrderId, attempt: i32) -> Self {
        Self { org_id, order_id, kind: "charge".to_owned(), fact: attempt.to_string() }
    }

    /// A step of an order.
    #[must_use]
    pub fn step(org_id: OrgId, order_id: OrderId, kind: StepKind) -> Self {
        Self { org_id, order_id, kind: kind.as_str().to_owned(), fact: String::new() }
    }

    /// The attempt, for a charge.
    #[must_use]
    pub fn attempt(&self) -> Option<i32> {
        self.fact.parse().ok().filter(|_| self.kind == "charge")
    }
}

/// An effect as it is kept.
#[derive(Debug, Clone)]
pub struct OperationRow {
    /// What the machine needs to know.
    pub facts: OperationFacts,
    /// Its key at the other side.
    pub operation_key: String,
    /// The request that waits for it.
    pub idempotency_key: Option<String>,
    /// Who holds it.
    pub lease_token: Option<Uuid>,
    /// When it was sent for the first time.
    pub first_sent_at: Option<OffsetDateTime>,
    /// When it was last sent.
    pub last_sent_at: Option<OffsetDateTime>,
    /// Whether it may only be looked up and cancelled.
    pub never_send: bool,
    /// Whether it may only be looked up.
    pub look_only: bool,
    /// The other side's name for it.
    pub external_reference: Option<String>,
    /// In the currency's minor unit, where money moves.
    pub amount: Option<i64>,
    /// The short code of what was last learned.
    pub last_outcome: Option<String>,
    /// To whom it was first sent, and on what terms; a hash.
    pub target_sha256: Option<Vec<u8>>,
    /// When it was asked for.
    pub created_at: OffsetDateTime,
}

/// An effect to be asked for.
pub struct NewOperation<'a> {
    /// Where it begins.
    pub state: OperationState,
    /// Its key at the other side.
    pub operation_key: &'a str,
    /// The request that waits for it.
    pub idempotency_key: Option<&'a str>,
    /// In the currency's minor unit, where money moves.
    pub amount: Option<i64>,
    /// How long it is tried.
    pub time: Duration,
    /// Token and length of the lease, for one that is worked on at once; any other is due now.
    pub lease: Option<(Uuid, Duration)>,
}

/// What moves an effect on.
pub struct Move<'a> {
    /// Where to.
    pub step: OperationStep,
    /// The other side's name for it, if learned.
    pub external_reference: Option<&'a str>,
    /// A short code for the record.
    pub outcome: &'a str,
    /// Whether this was a question that told nothing.
    pub asked_in_vain: bool,
    /// Whether it is certain that it was never sent.
    pub never_sent: bool,
    /// How long it is tried from now on, as if it were new; `None` leaves attempts, questions and deadline as they are.
    pub fresh_start: Option<Duration>,
}

impl<'a> Move<'a> {
    /// To a step, with nothing else to tell.
    #[must_use]
    pub fn to(step: OperationStep, outcome: &'a str) -> Self {
        Self { step, external_reference: None, outcome, asked_in_vain: false, never_sent: false, fresh_start: None }
    }
}

impl Tx {
    /// Locks one effect; its order comes first.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn lock_operation(&self, id: &OperationId) -> Result<Option<OperationRow>, DbError> {
        let row = self.row(&sql::OPERATION_LOCK, &[&id.org_id.0, &id.order_id.0, &id.kind, &id.fact]).await?;
        let Some(row) = row else { return Ok(None) };
        let (attempts, questions): (i32, i32) = (column(&row, "attempts")?, column(&row, "questions")?);
        Ok(Some(OperationRow {
            facts: OperationFacts {
                state: spelled(&row, "state", OperationState::parse)?,
                attempts: attempts.unsigned_abs(),
                questions: questions.unsigned_abs(),
                deadline_at: column(&row, "deadline_at")?,
            },
            operation_key: column(&row, "operation_key")?,
            idempotency_key: column(&row, "idempotency_key")?,
            lease_token: column(&row, "lease_token")?,
            first_sent_at: column(&row, "first_sent_at")?,
            last_sent_at: column(&row, "last_sent_at")?,
            never_send: column(&row, "never_send")?,
            look_only: column(&row, "look_only")?,
            external_reference: column(&row, "external_reference")?,
            amount: column(&row, "amount")?,
            last_outcome: column(&row, "last_outcome")?,
            target_sha256: column(&row, "target_sha256")?,
            created_at: column(&row, "created_at")?,
        }))
    }

    /// Asks for an effect; nothing when it was asked for before.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn add_operation(&self, id: &OperationId, new: &NewOperation<'_>) -> Result<(), DbError> {
        let token = new.lease.map(|(token, _)| token);
        let seconds = new.lease.map(|(_, length)| length.as_secs_f64());
        let time = new.time.as_secs_f64();
        let params: [&(dyn ToSql + Sync); 11] = [
            &id.org_id.0,
            &id.order_id.0,
            &id.kind,
            &id.fact,
            &new.state.as_str(),
            &new.operation_key,
            &new.amount,
            &new.idempotency_key,
            &time,
            &token,
            &seconds,
        ];
        self.execute(&sql::OPERATION_ADD, &params).await.map(|_| ())
    }

    /// Moves an effect on.
    ///
    /// # Errors
    ///
    /// [`DbError`]; [`DbError::LostRace`] when somebody else did in the meantime.
    pub async fn move_operation(&self, id: &OperationId, from: &OperationRow, to: &Move<'_>) -> Result<(), DbError> {
        let (from_state, to_state) = (from.facts.state.as_str(), to.step.state.as_str());
        let fresh_start = to.fresh_start.map(|time| time.as_secs_f64());
        let params: [&(dyn ToSql + Sync); 13] = [
            &id.org_id.0,
            &id.order_id.0,
            &id.kind,
            &id.fact,
            &from_state,
            &from.lease_token,
            &to_state,
            &to.step.next_attempt_at,
            &to.external_reference,
            &to.outcome,
            &to.asked_in_vain,
            &to.never_sent,
            &fresh_start,
        ];
        one(self.execute(&sql::OPERATION_MOVE, &params).await?)
    }

    /// Notes, before the call, that an effect is sent; `false` when the lease is somebody else's by now.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn mark_sent(&self, id: &OperationId, token: Uuid, target: Option<&[u8]>) -> Result<bool, DbError> {
        let params: [&(dyn ToSql + Sync); 6] = [&id.org_id.0, &id.order_id.0, &id.kind, &id.fact, &token, &target];
        self.execute(&sql::OPERATION_MARK_SENT, &params).await.map(|rows| rows == 1)
    }

    /// Says how an effect may be asked about from now on.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn restrict(&self, id: &OperationId, never_send: bool, look_only: bool) -> Result<(), DbError> {
        let params: [&(dyn ToSql + Sync); 6] =
            [&id.org_id.0, &id.order_id.0, &id.kind, &id.fact, &never_send, &look_only];
        one(self.execute(&sql::OPERATION_RESTRICT, &params).await?)
    }

    /// Ends what is open of an order's other charges, once one of them was paid: nothing more is sent.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn end_other_charges(&self, paid: &OperationId) -> Result<(), DbError> {
        let params: [&(dyn ToSql + Sync); 3] = [&paid.org_id.0, &paid.order_id.0, &paid.fact];
        self.execute(&sql::OPERATION_END_OTHERS, &params).await.map(|_| ())
    }

    /// Makes a charge that waits due now, for a new start of so long.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn hurry_charge(&self, org: OrgId, order: OrderId, time: Duration) -> Result<(), DbError> {
        self.execute(&sql::OPERATION_HURRY, &[&org.0, &order.0, &time.as_secs_f64()]).await.map(|_| ())
    }

    /// Whether an order has a charge that is not settled.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn has_open_charge(&self, org: OrgId, order: OrderId) -> Result<bool, DbError> {
        let row = self.row(&sql::OPERATION_OPEN_CHARGE, &[&org.0, &order.0]).await?;
        row.map_or(Ok(false), |row| column::<i64>(&row, "open").map(|open| open > 0))
    }
}
