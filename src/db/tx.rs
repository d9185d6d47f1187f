//! The one place that begins and ends transactions of more than one statement.

use crate::db::deadline::Deadline;
use crate::db::error::DbError;
use crate::db::sql::Statement;
use crate::db::{Params, rows_on, within};
use crate::metrics::Metrics;
use deadpool_postgres::Object;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use tokio_postgres::{Client, Row, Transaction};

/// Runs `work` in a transaction and commits it when it returns `Ok`; anything else rolls back.
///
/// PostgreSQL answers COMMIT with ROLLBACK, not with an error, when a statement failed before it, and the client library
/// does not look. So one statement more is run before COMMIT: in a transaction that has failed it fails as well.
///
/// # Errors
///
/// What `work` returned, or [`DbError`] of BEGIN and COMMIT; an error of COMMIT is [`DbError::Lost`] unless the server
/// itself refused.
#[expect(clippy::disallowed_methods, reason = "this is the function the lint sends everybody else to")]
pub async fn run_tx<T, E: From<DbError>>(
    client: &mut Client,
    work: impl AsyncFnOnce(&Transaction<'_>) -> Result<T, E>,
) -> Result<T, E> {
    let transaction = client.transaction().await.map_err(|error| DbError::preparing(&error))?;
    let value = work(&transaction).await?;
    transaction.batch_execute("SELECT").await.map_err(|error| DbError::running(&error))?;
    transaction.commit().await.map_err(|error| DbError::running(&error))?;
    Ok(value)
}

/// A transaction of several statements on a pooled connection.
///
/// Every failed statement is remembered, and [`Tx::commit`] then refuses: PostgreSQL would answer COMMIT with ROLLBACK, which
/// the client library reports as success. Dropped without a commit it closes its connection, which undoes everything.
pub struct Tx {
    client: Option<Object>,
    failed: AtomicBool,
    deadline: Deadline,
    metrics: Arc<Metrics>,
}

impl Tx {
    pub(super) async fn begin(client: Object, deadline: Deadline, metrics: Arc<Metrics>) -> Result<Self, DbError> {
        let tx = Self { client: Some(client), failed: AtomicBool::new(false), deadline, metrics };
        tx.command("BEGIN").await?;
        Ok(tx)
    }

    /// Runs one statement.
    ///
    /// # Errors
    ///
    /// [`DbError`]; the transaction can then only be given up.
    pub async fn rows(&self, statement: &'static Statement, params: Params<'_>) -> Result<Vec<Row>, DbError> {
        let (client, started) = (self.client()?, Instant::now());
        let answer = within(self.deadline, rows_on(client, statement, params)).await;
        self.note(statement, started, answer.is_err());
        answer
    }

    /// Like [`Tx::rows`], for statements that return at most one row.
    ///
    /// # Errors
    ///
    /// As [`Tx::rows`].
    pub async fn row(&self, statement: &'static Statement, params: Params<'_>) -> Result<Option<Row>, DbError> {
        Ok(self.rows(statement, params).await?.into_iter().next())
    }

    /// Like [`Tx::rows`], for statements that return none; gives the number of rows changed.
    ///
    /// # Errors
    ///
    /// As [`Tx::rows`].
    pub async fn execute(&self, statement: &'static Statement, params: Params<'_>) -> Result<u64, DbError> {
        let (client, started) = (self.client()?, Instant::now());
        let answer = within(self.deadline, async {
            let prepared =
                client.prepare_cached(planted!(text statement)).await.map_err(|error| DbError::preparing(&error))?;
            client.execute(&prepared, params).await.map_err(|error| DbError::running(&error))
        })
        .await;
        self.note(statement, started, answer.is_err());
        answer
    }

    /// Commits.
    ///
    /// # Errors
    ///
    /// [`DbError::Lost`] when nobody knows whether it was committed; anything else means that it was not.
    pub async fn commit(mut self) -> Result<(), DbError> {
        if self.failed.load(Ordering::Relaxed) {
            return Err(DbError::Unavailable { reason: "a statement of the transaction had failed".to_owned() });
        }
        planted!(later self.client.take(), self.command("COMMIT").await?);
        // Back to the pool.
        drop(self.client.take());
        Ok(())
    }

    /// Gives the transaction up, and the connection back.
    pub async fn rollback(mut self) {
        if self.command("ROLLBACK").await.is_ok() {
            drop(self.client.take());
        }
    }

    fn note(&self, statement: &'static Statement, started: Instant, failed: bool) {
        self.failed.fetch_or(failed, Ordering::Relaxed);
        self.metrics.statement(statement.name, started.elapsed());
    }

    async fn command(&self, command: &str) -> Result<(), DbError> {
        let client = self.client()?;
        within(self.deadline, async { client.batch_execute(command).await.map_err(|error| DbError::running(&error)) })
            .await
    }

    fn client(&self) -> Result<&Object, DbError> {
        self.client.as_ref().ok_or(DbError::Lost { reason: "the transaction has ended" })
    }
}

impl Drop for Tx {
    fn drop(&mut self) {
        if let Some(client) = self.client.take() {
            drop(Object::take(client));
        }
    }
}
