//! `sql/query/idempotency_keys/claim_batch.sql` and `find_batch.sql`: claims and look-ups, many at a time.

use crate::db::batch::Batched;
use crate::db::error::DbError;
use crate::db::idempotency_keys::{NewClaim, Won, claim_params, found_claim};
use crate::db::row::column;
use crate::db::sql::{self, Statement};
use crate::db::{Params, rows_on};
use crate::domain::claim::FoundClaim;
use crate::domain::fingerprint;
use crate::domain::ids::OrgId;
use crate::domain::key::IdempotencyKey;
use crate::domain::order::Order;
use crate::domain::reply::ReplyHeaders;
use crate::metrics::Metrics;
use deadpool_postgres::Object;
use futures_util::future::BoxFuture;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;
use tokio_postgres::Row;
use tokio_postgres::types::Json;
use uuid::Uuid;

/// Claims with their orders.
pub struct Claims {
    /// The process's counters.
    pub metrics: Arc<Metrics>,
}

impl Batched for Claims {
    type Question = Arc<NewClaim>;
    type Answer = Option<Won>;

    fn weight(claim: &Arc<NewClaim>) -> usize {
        claim.reply.body.len() + claim.canonical_request.len()
    }

    fn ask<'a>(
        &'a self,
        client: &'a Object,
        claims: &'a [Arc<NewClaim>],
    ) -> BoxFuture<'a, Result<Vec<Option<Self::Answer>>, DbError>> {
        Box::pin(async move {
            failpoint!("db/claims/before_send");
            // One alone is the plain statement.
            if let [claim] = claims {
                let rows = timed(&self.metrics, &sql::CLAIM_WITH_ORDER, client, &claim_params(claim).refs()).await?;
                failpoint!("db/claims/one_committed");
                return Ok(vec![Some(rows.first().map(won).transpose()?.map(|(_, won)| won))]);
            }
            let together = fitting(claims, |claim| (&claim.order, &claim.key));
            let rows = claim_all(&self.metrics, client, &together).await?;
            failpoint!("db/claims/many_committed");
            let won: HashMap<_, _> = rows.iter().map(won).collect::<Result<_, _>>()?;
            let asked: HashSet<_> = together.iter().map(|claim| claim.order.order_id.0).collect();
            let answer = |claim: &Arc<NewClaim>| {
                let id = claim.order.order_id.0;
                asked.contains(&id).then(|| won.get(&id).copied())
            };
            Ok(claims.iter().map(answer).collect())
        })
    }
}

/// The claims that can be made together, sorted by key. Of two with one order reference only the first: the second would
/// undo the whole batch. Two with one key are no trouble: the second finds it taken.
pub(super) fn fitting<T>(claims: &[Arc<T>], of: impl Fn(&T) -> (&Order, &IdempotencyKey)) -> Vec<&T> {
    let mut references = HashSet::new();
    let mut fitting: Vec<_> = claims
        .iter()
        .map(Arc::as_ref)
        .filter(|claim| {
            let (order, _) = of(claim);
            let reference = order.request.order_reference.as_deref();
            reference.is_none_or(|reference| references.insert((order.org_id, reference)))
        })
        .collect();
    let place = |claim| {
        let (order, key) = of(claim);
        (order.org_id, key.as_str())
    };
    fitting.sort_unstable_by(|a, b| place(a).cmp(&place(b)));
    fitting
}

async fn claim_all(metrics: &Metrics, client: &Object, claims: &[&NewClaim]) -> Result<Vec<Row>, DbError> {
    fn each<'a, T>(claims: &[&'a NewClaim], of: impl Fn(&'a NewClaim) -> T) -> Vec<T> {
        claims.iter().map(|claim| of(claim)).collect()
    }
    let headers: Vec<Json<&ReplyHeaders>> = each(claims, |claim| Json(&claim.reply.headers));
    let params: Params<'_> = &[
        &each(claims, |claim| claim.order.org_id.0),
        &each(claims, |claim| claim.key.as_str()),
        &each(claims, |_| fingerprint::VERSION),
        &each(claims, |claim| claim.fingerprint.as_bytes().as_slice()),
        &each(claims, |claim| claim.order.order_id.0),
        &each(claims, |claim| i16::try_from(claim.reply.status).unwrap_or_default()),
        &headers,
        &each(claims, |claim| claim.reply.body.as_slice()),
        &each(claims, |claim| claim.kept_for_seconds),
        &each(claims, |claim| claim.order.request.order_reference.as_deref()),
        &each(claims, |claim| claim.order.request.customer.reference.as_str()),
        &each(claims, |claim| claim.order.request.currency.as_str()),
        &each(claims, |claim| claim.order.amount),
        &each(claims, |claim| claim.order.status.as_str()),
        &each(claims, |claim| claim.canonical_request.as_ref()),
        &each(claims, |claim| claim.order.created_at),
    ];
    timed(metrics, &sql::CLAIM_BATCH, client, params).await
}

fn won(row: &Row) -> Result<(Uuid, Won), DbError> {
    Ok((column(row, "order_id")?, Won { expires_at: column(row, "expires_at")? }))
}

/// Look-ups of claims.
pub struct Finds {
    /// The process's counters.
    pub metrics: Arc<Metrics>,
}

impl Batched for Finds {
    type Question = (OrgId, IdempotencyKey);
    type Answer = Option<FoundClaim>;

    fn weight((_, key): &Self::Question) -> usize {
        key.as_str().len()
    }

    fn ask<'a>(
        &'a self,
        client: &'a Object,
        keys: &'a [Self::Question],
    ) -> BoxFuture<'a, Result<Vec<Option<Self::Answer>>, DbError>> {
        Box::pin(async move {
            if let [(org_id, key)] = keys {
                let rows = timed(&self.metrics, &sql::KEY_FIND, client, &[&org_id.0, &key.as_str()]).await?;
                return Ok(vec![Some(rows.first().map(found_claim).transpose()?)]);
            }
            let orgs: Vec<_> = keys.iter().map(|(org_id, _)| org_id.0).collect();
            let texts: Vec<_> = keys.iter().map(|(_, key)| key.as_str()).collect();
            let rows = timed(&self.metrics, &sql::KEY_FIND_BATCH, client, &[&orgs, &texts]).await?;
            let mut answers: Vec<_> = keys.iter().map(|_| Some(None)).collect();
            for row in &rows {
                let place: i64 = column(row, "place")?;
                let place = usize::try_from(place - 1).map_err(|_| DbError::Decode { column: "place" })?;
                let answer = answers.get_mut(place).ok_or(DbError::Decode { column: "place" })?;
                *answer = Some(Some(found_claim(row)?));
            }
            Ok(answers)
        })
    }
}

pub(super) async fn timed(
    metrics: &Metrics,
    statement: &'static Statement,
    client: &Object,
    params: Params<'_>,
) -> Result<Vec<Row>, DbError> {
    let started = Instant::now();
    let rows = rows_on(client, statement, params).await;
    metrics.statement(statement.name, started.elapsed());
    rows
}
