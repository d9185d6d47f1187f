//! PostgreSQL: one thin function for each file under `sql/query`, grouped by table.
//!
//! Nothing here decides anything or knows HTTP. Callers are the use cases in [`crate::app`]; handlers never see the pool.

mod alone;
pub mod api_keys;
pub mod batch;
pub mod cases;
pub mod charge_batch;
mod claim_batch;
pub mod claims;
pub mod deadline;
pub mod due;
pub mod error;
pub mod first_charges;
pub mod first_sendings;
pub mod gateways;
pub mod idempotency_keys;
pub mod inbox;
pub mod journal;
pub mod migrate;
pub mod operation_list;
pub mod operations;
pub mod orders;
pub mod orgs;
pub mod payments;
pub mod pool;
pub mod row;
pub mod server;
pub mod sql;
pub mod step_policies;
pub mod steps;
pub mod sweep;
pub mod tx;

use crate::budget::Budget;
use crate::db::alone::Alone;
use crate::db::batch::Batcher;
use crate::db::charge_batch::ChargeClaims;
use crate::db::claim_batch::{Claims, Finds};
use crate::db::deadline::Deadline;
use crate::db::error::DbError;
use crate::db::gateways::GatewayFinds;
use crate::db::pool::{Connecting, PoolSetupError};
use crate::db::sql::Statement;
use crate::db::tx::Tx;
use crate::metrics::Metrics;
use deadpool_postgres::{Object, Pool, Timeouts};
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

/// The longest wait for a free connection, new or pooled.
const POOL_WAIT: Duration = Duration::from_secs(2);

/// Values for a statement's `$1 …`.
pub type Params<'a> = &'a [&'a (dyn ToSql + Sync)];

/// The database as the use cases know it: runs prepared statements within a deadline. Cheap to clone.
#[derive(Clone)]
pub struct Db {
    pool: Pool,
    connecting: Arc<Connecting>,
    batch_pools: Arc<Mutex<Vec<Pool>>>,
    batches: Batches,
    queued_bytes: Arc<Budget>,
    alone: Alone,
    metrics: Arc<Metrics>,
}

impl Db {
    /// Over a pool of at most `size` connections, and the few that carry batches. Connects when first asked. Has to be called
    /// in a runtime.
    ///
    /// # Errors
    ///
    /// [`PoolSetupError`].
    pub fn new(connecting: Connecting, size: usize, metrics: Arc<Metrics>) -> Result<Self, PoolSetupError> {
        let (pool, batch_pool) = (connecting.pool(size)?, connecting.batch_pool()?);
        let queued_bytes = Budget::of(batch::MAX_QUEUE_BYTES);
        let batches = Batches::start(&batch_pool, &metrics, &queued_bytes);
        let batch_pools = Arc::new(Mutex::new(vec![batch_pool]));
        let (connecting, alone) = (Arc::new(connecting), Alone::beside(size));
        Ok(Self { pool, connecting, batch_pools, batches, queued_bytes, alone, metrics })
    }

    /// The same with batches of its own, whose tasks and connections live in the runtime that this is called in.
    #[must_use]
    pub fn for_this_thread(&self) -> Self {
        // It was made before in the same way; should it fail all the same, the batches are shared.
        let Ok(batch_pool) = self.connecting.batch_pool() else {
            return self.clone();
        };
        let batches = Batches::start(&batch_pool, &self.metrics, &self.queued_bytes);
        self.batch_pools.lock().unwrap_or_else(PoisonError::into_inner).push(batch_pool);
        Self { batches, ..self.clone() }
    }

    /// Runs one statement in its own transaction and returns its rows.
    ///
    /// # Errors
    ///
    /// [`DbError`], which tells whether the statement can have had an effect.
    pub async fn rows(
        &self,
        statement: &'static Statement,
        params: Params<'_>,
        deadline: Deadline,
    ) -> Result<Vec<Row>, DbError> {
        let client = self.connection(deadline).await?;
        let started = Instant::now();
        let answer = within(deadline, rows_on(&client, statement, params)).await;
        self.metrics.statement(statement.name, started.elapsed());
        keep_or_drop(client, &answer);
        answer
    }

    /// Like [`Db::rows`], for statements that return at most one row.
    ///
    /// # Errors
    ///
    /// As [`Db::rows`].
    pub async fn row(
        &self,
        statement: &'static Statement,
        params: Params<'_>,
        deadline: Deadline,
    ) -> Result<Option<Row>, DbError> {
        Ok(self.rows(statement, params, deadline).await?.into_iter().next())
    }

    /// Like [`Db::rows`], for statements that return none; gives the number of rows changed.
    ///
    /// # Errors
    ///
    /// As [`Db::rows`].
    pub async fn execute(
        &self,
        statement: &'static Statement,
        params: Params<'_>,
        deadline: Deadline,
    ) -> Result<u64, DbError> {
        let client = self.connection(deadline).await?;
        let started = Instant::now();
        let answer = within(deadline, async {
            let prepared =
                client.prepare_cached(planted!(text statement)).await.map_err(|error| DbError::preparing(&error))?;
            client.execute(&prepared, params).await.map_err(|error| DbError::running(&error))
        })
        .await;
        self.metrics.statement(statement.name, started.elapsed());
        keep_or_drop(client, &answer);
        answer
    }

    /// Begins a transaction of several statements.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn begin(&self, deadline: Deadline) -> Result<Tx, DbError> {
        Tx::begin(self.connection(deadline).await?, deadline, Arc::clone(&self.metrics)).await
    }

    /// Connections now: open, idle, and requests that wait for one.
    #[must_use]
    pub fn pool_status(&self) -> PoolStatus {
        let status = self.pool.status();
        PoolStatus { open: status.size, idle: status.available, waiting: status.waiting, max: status.max_size }
    }

    /// Closes all connections; later calls fail with [`DbError::Unavailable`].
    pub fn close(&self) {
        self.pool.close();
        self.batch_pools.lock().unwrap_or_else(PoisonError::into_inner).iter().for_each(Pool::close);
    }

    pub(crate) async fn connection(&self, deadline: Deadline) -> Result<Object, DbError> {
        connection(&self.pool, deadline).await
    }
}

/// What is asked together with whoever else asks.
#[derive(Clone)]
struct Batches {
    claims: Batcher<Claims>,
    charges: Batcher<ChargeClaims>,
    finds: Batcher<Finds>,
    gateways: Batcher<GatewayFinds>,
}

impl Batches {
    /// Starts the tasks that carry them, over a pool of their own. `queued` counts the bytes that wait in all of the process.
    fn start(pool: &Pool, metrics: &Arc<Metrics>, queued: &Arc<Budget>) -> Self {
        let metrics = || Arc::clone(metrics);
        Self {
            claims: Batcher::start(Claims { metrics: metrics() }, pool, queued),
            charges: Batcher::start(ChargeClaims { metrics: metrics() }, pool, queued),
            finds: Batcher::start(Finds { metrics: metrics() }, pool, queued),
            gateways: Batcher::start(GatewayFinds { metrics: metrics() }, pool, queued),
        }
    }
}

/// A connection of a pool, free or new.
async fn connection(pool: &Pool, deadline: Deadline) -> Result<Object, DbError> {
    let wait = deadline.left().min(POOL_WAIT);
    let timeouts = Timeouts { wait: Some(wait), create: Some(wait), recycle: Some(wait) };
    // The pool's own limits are for each of its steps, and for setting a connection up it has none.
    match tokio::time::timeout(wait, pool.timeout_get(&timeouts)).await {
        Ok(client) => client.map_err(|error| DbError::connecting(&error)),
        Err(_) => Err(DbError::Unavailable { reason: "no free connection in time".to_owned() }),
    }
}

/// Runs one prepared statement on a connection.
async fn rows_on(client: &Object, statement: &Statement, params: Params<'_>) -> Result<Vec<Row>, DbError> {
    let prepared = client.prepare_cached(planted!(text statement)).await.map_err(|error| DbError::preparing(&error))?;
    client.query(&prepared, params).await.map_err(|error| DbError::running(&error))
}

/// What the pool is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolStatus {
    /// Connections that exist.
    pub open: usize,
    /// Connections nobody uses.
    pub idle: usize,
    /// Requests that wait for a connection.
    pub waiting: usize,
    /// The most connections there can be.
    pub max: usize,
}

async fn within<T>(deadline: Deadline, work: impl Future<Output = Result<T, DbError>>) -> Result<T, DbError> {
    match tokio::time::timeout_at(deadline.instant(), work).await {
        Ok(answer) => answer,
        Err(_) => Err(DbError::Lost { reason: "no answer from the database in time" }),
    }
}

/// A connection whose answer was not waited for, or that the server is about to end, must not serve anybody else.
fn keep_or_drop<T>(client: Object, answer: &Result<T, DbError>) {
    if let Err(error) = answer
        && error.spoils_the_connection()
    {
        drop(Object::take(client));
    }
}
