//! The one place that begins and ends a transaction of more than one statement.

use crate::db::error::DbError;
use tokio_postgres::{Client, Transaction};

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
