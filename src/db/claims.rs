//! `sql/query/idempotency_keys`, as far as a claim waits for a charge or for a command on an order that exists.

use crate::db::deadline::Deadline;
use crate::db::error::DbError;
use crate::db::idempotency_keys::Won;
use crate::db::row::column;
use crate::db::tx::Tx;
use crate::db::{Db, sql};
use crate::domain::fingerprint::{self, Fingerprint};
use crate::domain::ids::{OrderId, OrgId};
use crate::domain::key::IdempotencyKey;
use crate::domain::order::Order;
use crate::domain::reply::StoredReply;
use std::time::Duration;
use tokio_postgres::types::{Json, ToSql};
use uuid::Uuid;

/// Everything that the one statement of an order with a payment writes.
pub struct NewCharge<'a> {
    /// The client's name for the command.
    pub key: &'a IdempotencyKey,
    /// Hash of the request.
    pub fingerprint: Fingerprint,
    /// Seconds the key is kept; `None` is for ever.
    pub kept_for_seconds: Option<i64>,
    /// The order to place.
    pub order: &'a Order,
    /// The request in canonical form, its payment method hashed.
    pub canonical_request: &'a str,
    /// Which gateway.
    pub provider: &'a str,
    /// Hash of the gateway's address and secret.
    pub gateway_sha256: &'a [u8],
    /// The payment method, sealed.
    pub method_sealed: &'a [u8],
    /// The charge's key at the gateway.
    pub operation_key: &'a str,
    /// Token and length of the lease.
    pub lease: (Uuid, Duration),
    /// How long the charge is tried.
    pub time: Duration,
}

/// The claim of a command on an order that exists.
pub struct CommandClaim<'a> {
    /// The client's name for the command.
    pub key: &'a IdempotencyKey,
    /// Hash of the request.
    pub fingerprint: Fingerprint,
    /// Seconds the key is kept; `None` is for ever.
    pub kept_for_seconds: Option<i64>,
    /// The request in canonical form, its payment method hashed.
    pub request: &'a str,
}

impl Db {
    /// Claims a key, places its order and its first attempt, and leases the charge to the caller, all or nothing. `None`
    /// when the key or the order's reference is taken.
    ///
    /// # Errors
    ///
    /// [`DbError`]; a unique violation means that the order's reference was taken at this very moment.
    pub async fn claim_with_charge(&self, new: &NewCharge<'_>, deadline: Deadline) -> Result<Option<Won>, DbError> {
        let order = new.order;
        let (token, lease, time) = (new.lease.0, new.lease.1.as_secs_f64(), new.time.as_secs_f64());
        let fingerprint = new.fingerprint.as_bytes().as_slice();
        let params: [&(dyn ToSql + Sync); 20] = [
            &order.org_id.0,
            &new.key.as_str(),
            &fingerprint::VERSION,
            &fingerprint,
            &order.order_id.0,
            &new.kept_for_seconds,
            &order.request.order_reference,
            &order.request.customer.reference,
            &order.request.currency,
            &order.amount,
            &order.status.as_str(),
            &new.canonical_request,
            &order.created_at,
            &new.provider,
            &new.method_sealed,
            &new.operation_key,
            &token,
            &lease,
            &time,
            &new.gateway_sha256,
        ];
        // One at a time for each key, so that retries of a claim that somebody holds do not fill the pool.
        let _turn = self.alone.turn(order.org_id, new.key, deadline).await?;
        let row = self.row(&sql::CLAIM_WITH_CHARGE, &params, deadline).await?;
        row.map(|row| Ok(Won { expires_at: column(&row, "expires_at")? })).transpose()
    }
}

impl Tx {
    /// Claims a key for a command on an order that exists. `None` when it is taken.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn claim(
        &self,
        org: OrgId,
        order: OrderId,
        attempt: Option<i32>,
        new: &CommandClaim<'_>,
    ) -> Result<Option<Won>, DbError> {
        let hash = new.fingerprint.as_bytes().as_slice();
        let (key, kept) = (new.key.as_str(), new.kept_for_seconds);
        let params: [&(dyn ToSql + Sync); 8] =
            [&org.0, &key, &fingerprint::VERSION, &hash, &order.0, &attempt, &kept, &new.request];
        let row = self.row(&sql::CLAIM, &params).await?;
        row.map(|row| Ok(Won { expires_at: column(&row, "expires_at")? })).transpose()
    }

    /// Stores the answer of a claim in progress; `false` when it is completed, and stays as it is.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn complete_claim(&self, org: OrgId, key: &str, reply: &StoredReply) -> Result<bool, DbError> {
        let status = i16::try_from(reply.status).map_err(|_| DbError::Decode { column: "response_status" })?;
        let params: [&(dyn ToSql + Sync); 5] = [&org.0, &key, &status, &Json(&reply.headers), &reply.body];
        self.execute(&sql::CLAIM_COMPLETE, &params).await.map(|rows| rows == 1)
    }
}
