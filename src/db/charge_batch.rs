//! `sql/query/idempotency_keys/claim_with_charge.sql` and `claim_with_charge_batch.sql`: orders with a payment, many at a time.

use crate::db::Db;
use crate::db::batch::{Asked, Batched};
use crate::db::claim_batch::{fitting, timed};
use crate::db::deadline::Deadline;
use crate::db::error::DbError;
use crate::db::idempotency_keys::Won;
use crate::db::row::column;
use crate::db::sql;
use crate::domain::fingerprint::{self, Fingerprint};
use crate::domain::key::IdempotencyKey;
use crate::domain::order::Order;
use crate::metrics::Metrics;
use deadpool_postgres::Object;
use futures_util::future::BoxFuture;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

/// Everything that the one statement of an order with a payment writes.
#[derive(Debug, Clone)]
pub struct NewCharge {
    /// The client's name for the command.
    pub key: IdempotencyKey,
    /// Hash of the request.
    pub fingerprint: Fingerprint,
    /// Seconds the key is kept; `None` is for ever.
    pub kept_for_seconds: Option<i64>,
    /// The order to place.
    pub order: Order,
    /// The request in canonical form, its payment method hashed.
    pub canonical_request: Arc<str>,
    /// Which gateway.
    pub provider: String,
    /// Hash of the gateway's address and secret.
    pub gateway_sha256: Vec<u8>,
    /// The payment method, sealed.
    pub method_sealed: Vec<u8>,
    /// The charge's key at the gateway.
    pub operation_key: String,
    /// Token and length of the lease.
    pub lease: (Uuid, Duration),
    /// How long the charge is tried.
    pub time: Duration,
}

impl Db {
    /// Claims a key, places its order and its first attempt, and leases the charge to the caller, all or nothing, together with
    /// whoever else claims now. `None` when the key or the order's reference is taken; nothing was written then.
    ///
    /// # Errors
    ///
    /// [`DbError`]; a unique violation means that the order's reference was taken at this very moment.
    pub async fn claim_with_charge(&self, new: Arc<NewCharge>, deadline: Deadline) -> Result<Option<Won>, DbError> {
        let new = if self.alone.is_busy(new.order.org_id, &new.key) {
            new
        } else {
            match self.batches.charges.ask(new, deadline).await? {
                Asked::Answered(won) => return Ok(won),
                Asked::Alone(new) => new,
            }
        };
        Box::pin(self.claim_charge_alone(&new, deadline)).await
    }

    async fn claim_charge_alone(&self, new: &NewCharge, deadline: Deadline) -> Result<Option<Won>, DbError> {
        // One at a time for each key, so that retries of a claim that somebody holds do not fill the pool.
        let _turn = self.alone.turn(new.order.org_id, &new.key, deadline).await?;
        failpoint!("db/alone/charge/before_send");
        let row = self.row(&sql::CLAIM_WITH_CHARGE, &Values::of(new).refs(), deadline).await?;
        failpoint!("db/alone/charge/committed");
        row.map(|row| Ok(Won { expires_at: column(&row, "expires_at")? })).transpose()
    }
}

/// Claims with their orders and leased charges.
pub struct ChargeClaims {
    /// The process's counters.
    pub metrics: Arc<Metrics>,
}

impl Batched for ChargeClaims {
    type Question = Arc<NewCharge>;
    type Answer = Option<Won>;

    fn weight(new: &Arc<NewCharge>) -> usize {
        new.canonical_request.len() + new.method_sealed.len()
    }

    fn ask<'a>(
        &'a self,
        client: &'a Object,
        charges: &'a [Arc<NewCharge>],
    ) -> BoxFuture<'a, Result<Vec<Option<Self::Answer>>, DbError>> {
        Box::pin(async move {
            failpoint!("db/charges/before_send");
            // One alone is the plain statement.
            if let [new] = charges {
                let values = Values::of(new);
                let rows = timed(&self.metrics, &sql::CLAIM_WITH_CHARGE, client, &values.refs()).await?;
                failpoint!("db/charges/one_committed");
                let won = |row| Ok::<_, DbError>(Won { expires_at: column(row, "expires_at")? });
                return Ok(vec![Some(rows.first().map(won).transpose()?)]);
            }
            let together = fitting(charges, |new| (&new.order, &new.key));
            let rows = claim_all(&self.metrics, client, &together).await?;
            failpoint!("db/charges/many_committed");
            let won: HashMap<Uuid, Won> = rows
                .iter()
                .map(|row| Ok((column(row, "order_id")?, Won { expires_at: column(row, "expires_at")? })))
                .collect::<Result<_, DbError>>()?;
            let asked: HashSet<_> = together.iter().map(|new| new.order.order_id.0).collect();
            let answer = |new: &Arc<NewCharge>| {
                let id = new.order.order_id.0;
                asked.contains(&id).then(|| won.get(&id).copied())
            };
            Ok(charges.iter().map(answer).collect())
        })
    }
}

async fn claim_all(metrics: &Metrics, client: &Object, charges: &[&NewCharge]) -> Result<Vec<Row>, DbError> {
    fn each<'a, T>(charges: &[&'a NewCharge], of: impl Fn(&'a NewCharge) -> T) -> Vec<T> {
        charges.iter().map(|new| of(new)).collect()
    }
    let params: [&(dyn ToSql + Sync); 20] = [
        &each(charges, |new| new.order.org_id.0),
        &each(charges, |new| new.key.as_str()),
        &each(charges, |_| fingerprint::VERSION),
        &each(charges, |new| new.fingerprint.as_bytes().as_slice()),
        &each(charges, |new| new.order.order_id.0),
        &each(charges, |new| new.kept_for_seconds),
        &each(charges, |new| new.order.request.order_reference.as_deref()),
        &each(charges, |new| new.order.request.customer.reference.as_str()),
        &each(charges, |new| new.order.request.currency.as_str()),
        &each(charges, |new| new.order.amount),
        &each(charges, |new| new.order.status.as_str()),
        &each(charges, |new| new.canonical_request.as_ref()),
        &each(charges, |new| new.order.created_at),
        &each(charges, |new| new.provider.as_str()),
        &each(charges, |new| new.method_sealed.as_slice()),
        &each(charges, |new| new.operation_key.as_str()),
        &each(charges, |new| new.lease.0),
        &each(charges, |new| new.lease.1.as_secs_f64()),
        &each(charges, |new| new.time.as_secs_f64()),
        &each(charges, |new| new.gateway_sha256.as_slice()),
    ];
    timed(metrics, &sql::CLAIM_WITH_CHARGE_BATCH, client, &params).await
}

/// The values of `claim_with_charge.sql` that have to be made.
struct Values<'a> {
    new: &'a NewCharge,
    key: &'a str,
    fingerprint: &'a [u8],
    status: &'a str,
    request: &'a str,
    lease_seconds: f64,
    time_seconds: f64,
}

impl<'a> Values<'a> {
    fn of(new: &'a NewCharge) -> Self {
        Self {
            new,
            key: new.key.as_str(),
            fingerprint: new.fingerprint.as_bytes().as_slice(),
            status: new.order.status.as_str(),
            request: &new.canonical_request,
            lease_seconds: new.lease.1.as_secs_f64(),
            time_seconds: new.time.as_secs_f64(),
        }
    }

    /// As the statement wants them.
    fn refs(&self) -> [&(dyn ToSql + Sync); 20] {
        let (new, order) = (self.new, &self.new.order);
        [
            &order.org_id.0,
            &self.key,
            &fingerprint::VERSION,
            &self.fingerprint,
            &order.order_id.0,
            &new.kept_for_seconds,
            &order.request.order_reference,
            &order.request.customer.reference,
            &order.request.currency,
            &order.amount,
            &self.status,
            &self.request,
            &order.created_at,
            &new.provider,
            &new.method_sealed,
            &new.operation_key,
            &new.lease.0,
            &self.lease_seconds,
            &self.time_seconds,
            &new.gateway_sha256,
        ]
    }
}
