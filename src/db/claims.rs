//! `sql/query/idempotency_keys`, as far as a claim is of a command on an order that exists, or waits for its answer.

use crate::db::error::DbError;
use crate::db::idempotency_keys::Won;
use crate::db::row::column;
use crate::db::sql;
use crate::db::tx::Tx;
use crate::domain::fingerprint::{self, Fingerprint};
use crate::domain::ids::{OrderId, OrgId};
use crate::domain::key::IdempotencyKey;
use crate::domain::reply::StoredReply;
use tokio_postgres::types::{Json, ToSql};

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

/// Whose answer it is: a key alone may have been freed and used again since.
#[derive(Debug, Clone, Copy)]
pub struct Waiting<'a> {
    /// The key.
    pub key: &'a str,
    /// The order that was claimed with it.
    pub order_id: OrderId,
    /// The attempt to pay it, if the claim waits for one.
    pub attempt: Option<i32>,
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

    /// Stores the answer of a claim in progress; `false` when it is completed, and stays as it is, or is another
    /// one's by now.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn complete_claim(&self, org: OrgId, of: Waiting<'_>, reply: &StoredReply) -> Result<bool, DbError> {
        self.complete_claims(org, &[(of, reply)]).await.map(|stored| !stored.is_empty())
    }

    /// [`Tx::complete_claim`] of several claims; gives the keys of those whose answer was stored.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn complete_claims(
        &self,
        org: OrgId,
        answers: &[(Waiting<'_>, &StoredReply)],
    ) -> Result<Vec<String>, DbError> {
        let keys: Vec<_> = answers.iter().map(|(of, _)| of.key).collect();
        let orders: Vec<_> = answers.iter().map(|(of, _)| of.order_id.0).collect();
        let attempts: Vec<_> = answers.iter().map(|(of, _)| of.attempt).collect();
        let status = |reply: &StoredReply| {
            i16::try_from(reply.status).map_err(|_| DbError::Decode { column: "response_status" })
        };
        let statuses: Vec<_> = answers.iter().map(|(_, reply)| status(reply)).collect::<Result<_, _>>()?;
        let headers: Vec<_> = answers.iter().map(|(_, reply)| Json(&reply.headers)).collect();
        let bodies: Vec<_> = answers.iter().map(|(_, reply)| reply.body.as_slice()).collect();
        let params: [&(dyn ToSql + Sync); 7] = [&org.0, &keys, &orders, &attempts, &statuses, &headers, &bodies];
        self.rows(&sql::CLAIM_COMPLETE, &params).await?.iter().map(|row| column(row, "idempotency_key")).collect()
    }
}
