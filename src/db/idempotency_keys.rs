//! `sql/query/idempotency_keys`.

use crate::db::batch::Asked;
use crate::db::deadline::Deadline;
use crate::db::error::DbError;
use crate::db::row::column;
use crate::db::{Db, sql};
use crate::domain::claim::{FoundClaim, Work};
use crate::domain::fingerprint::{self, Fingerprint};
use crate::domain::ids::{OrderId, OrgId};
use crate::domain::key::IdempotencyKey;
use crate::domain::operation::OperationState;
use crate::domain::order::Order;
use crate::domain::reply::{ReplyHeaders, StoredReply};
use std::sync::Arc;
use time::OffsetDateTime;
use tokio_postgres::Row;
use tokio_postgres::types::{Json, ToSql};

/// Everything that the claim's one statement writes.
#[derive(Debug, Clone)]
pub struct NewClaim {
    /// The client's name for the command.
    pub key: IdempotencyKey,
    /// Hash of the request.
    pub fingerprint: Fingerprint,
    /// Seconds the key is kept; `None` is for ever.
    pub kept_for_seconds: Option<i64>,
    /// The order to place.
    pub order: Order,
    /// The request in canonical form.
    pub canonical_request: Arc<str>,
    /// The answer to store.
    pub reply: StoredReply,
}

/// A claim that was won.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Won {
    /// When the key may be removed; `None` is never.
    pub expires_at: Option<OffsetDateTime>,
}

impl Db {
    /// Claims a key, places its order and stores its answer, all or nothing, together with whoever else claims now.
    /// `None` when the key or the order's reference is taken; nothing was written then.
    ///
    /// # Errors
    ///
    /// [`DbError`]; a unique violation means that the order's reference was taken at this very moment.
    pub async fn claim_with_order(&self, claim: Arc<NewClaim>, deadline: Deadline) -> Result<Option<Won>, DbError> {
        let claim = if self.alone.is_busy(claim.order.org_id, &claim.key) {
            claim
        } else {
            match self.batches.claims.ask(claim, deadline).await? {
                Asked::Answered(won) => return Ok(won),
                Asked::Alone(claim) => claim,
            }
        };
        Box::pin(self.claim_alone(&claim, deadline)).await
    }

    async fn claim_alone(&self, claim: &NewClaim, deadline: Deadline) -> Result<Option<Won>, DbError> {
        let _turn = self.alone.turn(claim.order.org_id, &claim.key, deadline).await?;
        failpoint!("db/alone/claim/before_send");
        let row = self.row(&sql::CLAIM_WITH_ORDER, &claim_params(claim).refs(), deadline).await?;
        failpoint!("db/alone/claim/committed");
        row.map(|row| Ok(Won { expires_at: column(&row, "expires_at")? })).transpose()
    }

    /// The claim under a key, looked up together with whoever else looks now.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn find_claim(
        &self,
        org_id: OrgId,
        key: &IdempotencyKey,
        deadline: Deadline,
    ) -> Result<Option<FoundClaim>, DbError> {
        let (org_id, key) = match self.batches.finds.ask((org_id, key.clone()), deadline).await? {
            Asked::Answered(found) => return Ok(found),
            Asked::Alone(question) => question,
        };
        let params: [&(dyn ToSql + Sync); 2] = [&org_id.0, &key.as_str()];
        let row = Box::pin(self.row(&sql::KEY_FIND, &params, deadline)).await?;
        row.as_ref().map(found_claim).transpose()
    }

    /// What the request under a key asked for, in canonical form.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn request_of(
        &self,
        org_id: OrgId,
        key: &IdempotencyKey,
        deadline: Deadline,
    ) -> Result<Option<String>, DbError> {
        let row = self.row(&sql::KEY_REQUEST_OF, &[&org_id.0, &key.as_str()], deadline).await?;
        row.map_or(Ok(None), |row| column(&row, "request"))
    }

    /// Organisations with keys past their keeping time.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn orgs_with_expired_keys(&self, deadline: Deadline) -> Result<Vec<OrgId>, DbError> {
        let rows = self.rows(&sql::KEY_ORGS_WITH_EXPIRED, &[], deadline).await?;
        rows.iter().map(|row| column(row, "org_id").map(OrgId)).collect()
    }

    /// How many keys of an organisation are past their keeping time.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn count_expired_keys(&self, org_id: OrgId, deadline: Deadline) -> Result<i64, DbError> {
        let row = self.row(&sql::KEY_COUNT_EXPIRED, &[&org_id.0], deadline).await?;
        row.map_or(Ok(0), |row| column(&row, "keys"))
    }

    /// Removes at most `batch` keys past their keeping time; gives how many.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn delete_expired_keys(&self, org_id: OrgId, batch: i64, deadline: Deadline) -> Result<u64, DbError> {
        self.execute(&sql::KEY_DELETE_EXPIRED, &[&org_id.0, &batch], deadline).await
    }
}

/// Reads a claim.
pub(super) fn found_claim(row: &Row) -> Result<FoundClaim, DbError> {
    let hash: &[u8] = column(row, "request_sha256")?;
    Ok(FoundClaim {
        fingerprint_version: column(row, "fingerprint_version")?,
        fingerprint: Fingerprint::from_slice(hash).ok_or(DbError::Decode { column: "request_sha256" })?,
        order_id: OrderId(column(row, "order_id")?),
        reply: stored_reply(row)?,
        work: work_of(row)?,
        created_at: column(row, "created_at")?,
        completed_at: column(row, "completed_at")?,
        expires_at: column(row, "expires_at")?,
    })
}

fn work_of(row: &Row) -> Result<Option<Work>, DbError> {
    let (attempt, state): (Option<i32>, Option<&str>) = (column(row, "attempt")?, column(row, "work_state")?);
    let Some((attempt, state)) = attempt.zip(state) else {
        return Ok(None);
    };
    let attempts: i32 = column(row, "work_attempts")?;
    let (now, lease_until): (OffsetDateTime, Option<OffsetDateTime>) =
        (column(row, "now")?, column(row, "work_lease_until")?);
    let due_at: Option<OffsetDateTime> = lease_until.or(column(row, "work_next_attempt_at")?);
    Ok(Some(Work {
        attempt,
        state: OperationState::parse(state).ok_or(DbError::Decode { column: "work_state" })?,
        attempts: attempts.unsigned_abs(),
        lease_token: column(row, "work_lease_token")?,
        rest_seconds: due_at.map_or(0.0, |due_at| (due_at - now).as_seconds_f64()),
        lease_until,
    }))
}

fn stored_reply(row: &Row) -> Result<Option<StoredReply>, DbError> {
    let state: &str = column(row, "state")?;
    if state != "completed" {
        return Ok(None);
    }
    let status: i16 = column(row, "response_status")?;
    let Json(headers): Json<ReplyHeaders> = column(row, "response_headers")?;
    Ok(Some(StoredReply {
        status: u16::try_from(status).map_err(|_| DbError::Decode { column: "response_status" })?,
        headers,
        body: column(row, "response_body")?,
    }))
}

/// The values of `claim_with_order.sql`, in their order.
pub(super) struct ClaimParams<'a> {
    claim: &'a NewClaim,
    fingerprint: &'a [u8],
    key: &'a str,
    order_status: &'a str,
    request: &'a str,
    response_status: i16,
    headers: Json<&'a ReplyHeaders>,
}

/// Lays the values out.
pub(super) fn claim_params(claim: &NewClaim) -> ClaimParams<'_> {
    ClaimParams {
        fingerprint: claim.fingerprint.as_bytes().as_slice(),
        key: claim.key.as_str(),
        order_status: claim.order.status.as_str(),
        request: &claim.canonical_request,
        // An HTTP status has three digits.
        response_status: i16::try_from(claim.reply.status).unwrap_or_default(),
        headers: Json(&claim.reply.headers),
        claim,
    }
}

impl ClaimParams<'_> {
    /// As the statement wants them.
    pub(super) fn refs(&self) -> [&(dyn ToSql + Sync); 16] {
        let (claim, order) = (self.claim, &self.claim.order);
        [
            &order.org_id.0,
            &self.key,
            &fingerprint::VERSION,
            &self.fingerprint,
            &order.order_id.0,
            &self.response_status,
            &self.headers,
            &claim.reply.body,
            &claim.kept_for_seconds,
            &order.request.order_reference,
            &order.request.customer.reference,
            &order.request.currency,
            &order.amount,
            &self.order_status,
            &self.request,
            &order.created_at,
        ]
    }
}
