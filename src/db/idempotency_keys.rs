//! `sql/query/idempotency_keys`.

use crate::db::deadline::Deadline;
use crate::db::error::DbError;
use crate::db::row::column;
use crate::db::{Db, sql};
use crate::domain::claim::FoundClaim;
use crate::domain::fingerprint::{self, Fingerprint};
use crate::domain::ids::{OrderId, OrgId};
use crate::domain::key::IdempotencyKey;
use crate::domain::order::Order;
use crate::domain::reply::{ReplyHeaders, StoredReply};
use time::OffsetDateTime;
use tokio_postgres::Row;
use tokio_postgres::types::Json;

/// Everything that the claim's one statement writes.
pub struct NewClaim<'a> {
    /// The client's name for the command.
    pub key: &'a IdempotencyKey,
    /// Hash of the request.
    pub fingerprint: Fingerprint,
    /// Seconds the key is kept; `None` is for ever.
    pub kept_for_seconds: Option<i64>,
    /// The order to place.
    pub order: &'a Order,
    /// The request in canonical form.
    pub canonical_request: &'a str,
    /// The answer to store.
    pub reply: &'a StoredReply,
}

/// A claim that was won.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Won {
    /// When the key may be removed; `None` is never.
    pub expires_at: Option<OffsetDateTime>,
}

impl Db {
    /// Claims a key, places its order and stores its answer, all or nothing. `None` when the key or the order's
    /// reference is taken; nothing was written then.
    ///
    /// # Errors
    ///
    /// [`DbError`]; a unique violation means that the order's reference was taken at this very moment.
    pub async fn claim_with_order(&self, claim: &NewClaim<'_>, deadline: Deadline) -> Result<Option<Won>, DbError> {
        let (order, reply) = (claim.order, claim.reply);
        let status = i16::try_from(reply.status).map_err(|_| DbError::Decode { column: "response_status" })?;
        let row = self
            .row(
                &sql::CLAIM_WITH_ORDER,
                &[
                    &order.org_id.0,
                    &claim.key.as_str(),
                    &fingerprint::VERSION,
                    &claim.fingerprint.as_bytes().as_slice(),
                    &order.order_id.0,
                    &status,
                    &Json(&reply.headers),
                    &reply.body,
                    &claim.kept_for_seconds,
                    &order.request.order_reference,
                    &order.request.customer.reference,
                    &order.request.currency,
                    &order.amount,
                    &order.status.as_str(),
                    &claim.canonical_request,
                    &order.created_at,
                ],
                deadline,
            )
            .await?;
        row.map(|row| Ok(Won { expires_at: column(&row, "expires_at")? })).transpose()
    }

    /// The claim under a key.
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
        let row = self.row(&sql::KEY_FIND, &[&org_id.0, &key.as_str()], deadline).await?;
        row.as_ref().map(found_claim).transpose()
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

fn found_claim(row: &Row) -> Result<FoundClaim, DbError> {
    let hash: &[u8] = column(row, "request_sha256")?;
    Ok(FoundClaim {
        fingerprint_version: column(row, "fingerprint_version")?,
        fingerprint: Fingerprint::from_slice(hash).ok_or(DbError::Decode { column: "request_sha256" })?,
        order_id: OrderId(column(row, "order_id")?),
        reply: stored_reply(row)?,
        created_at: column(row, "created_at")?,
        completed_at: column(row, "completed_at")?,
        expires_at: column(row, "expires_at")?,
    })
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
