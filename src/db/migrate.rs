//! Brings a database's schema up to this version, and judges whether a schema fits.
//!
//! Each migration runs once, in a transaction of its own together with its row of history. A database whose history
//! differs from this program's list is refused, never repaired.

use crate::db::deadline::Deadline;
use crate::db::error::DbError;
use crate::db::row::column;
use crate::db::tx::run_tx;
use crate::db::{Db, pool, sql};
use secrecy::SecretString;
use sha2::{Digest, Sha256};
use std::time::Duration;
use thiserror::Error;
use tokio_postgres::{Client, Row};

/// One step of the schema's history. Once released, a file never changes: its hash is in every database.
#[derive(Debug, Clone, Copy)]
pub struct Migration {
    /// From 1, without gaps.
    pub version: i32,
    /// The file's name without `.sql`.
    pub name: &'static str,
    /// The file's content.
    pub text: &'static str,
}

macro_rules! migrations {
    ($($version:literal = $name:literal),+ $(,)?) => {
        /// All migrations, in order.
        pub const MIGRATIONS: &[Migration] = &[$(Migration {
            version: $version,
            name: $name,
            text: include_str!(concat!("../../sql/migrations/", $name, ".sql")),
        }),+];
    };
}

migrations! {
    1 = "0001_orgs_and_api_keys",
    2 = "0002_idempotency_keys_and_orders",
    3 = "0003_payments_and_operations",
    4 = "0004_steps",
    5 = "0005_trace",
    6 = "0006_inbox",
    7 = "0007_work_queues",
    8 = "0008_autovacuum",
    9 = "0009_customers_by_status",
}

/// How a database's schema stands to this program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemaState {
    /// It fits.
    Current,
    /// `ichido migrate` has to run first; so many migrations are pending.
    Behind(usize),
    /// A newer program has migrated it.
    Newer,
    /// Its history is not this program's: a migration was changed after it ran.
    Drifted(i32),
}

/// Why a schema was not migrated.
#[derive(Debug, Error)]
pub enum MigrateError {
    /// The URL is no connection string.
    #[error(transparent)]
    Setup(#[from] pool::PoolSetupError),
    /// The database could not be reached, or refused.
    #[error(transparent)]
    Database(#[from] DbError),
    /// Somebody else is migrating.
    #[error("another migration of this database is running; it did not end within {0} s")]
    Locked(u64),
    /// See [`SchemaState::Newer`].
    #[error("the database was migrated by a newer version of ichido; use that version")]
    Newer,
    /// See [`SchemaState::Drifted`].
    #[error("migration {0} in the database is not the one in this program; restore the database or use its program")]
    Drifted(i32),
}

const LOCK_WAIT_SECONDS: u64 = 60;
const LOCK_POLLS: u64 = LOCK_WAIT_SECONDS * 4;
const LOCK_PAUSE: Duration = Duration::from_millis(250);
/// A migration waits for a table's lock only shortly, since everybody who comes later waits behind it.
const SESSION: &str = "SET lock_timeout = '5s'; SET client_min_messages = 'warning'; SET timezone = 'UTC'";

/// Runs every pending migration and gives their names, oldest first. Safe to call from several processes at once.
///
/// # Errors
///
/// [`MigrateError`]; migrations before the one that failed stay applied.
pub async fn migrate(url: &SecretString) -> Result<Vec<&'static str>, MigrateError> {
    let (mut client, connection) =
        pool::config(url)?.connect(pool::tls()).await.map_err(|error| DbError::preparing(&error))?;
    // Ends by itself when the client is dropped.
    tokio::spawn(async move {
        let _ = connection.await;
    });
    let refused = |error: tokio_postgres::Error| DbError::running(&error);
    client.batch_execute(SESSION).await.map_err(refused)?;
    lock(&client).await?;
    client.batch_execute(sql::MIGRATION_CREATE_TABLE.text).await.map_err(refused)?;
    let history = client.query(sql::MIGRATION_LIST.text, &[]).await.map_err(refused)?;
    let pending = match judge(&history)? {
        SchemaState::Current => &[],
        SchemaState::Behind(count) => MIGRATIONS.get(MIGRATIONS.len() - count..).unwrap_or_default(),
        SchemaState::Newer => return Err(MigrateError::Newer),
        SchemaState::Drifted(version) => return Err(MigrateError::Drifted(version)),
    };
    for migration in pending {
        apply(&mut client, migration).await?;
    }
    Ok(pending.iter().map(|migration| migration.name).collect())
}

impl Db {
    /// How the database's schema stands to this program.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn schema_state(&self, deadline: Deadline) -> Result<SchemaState, DbError> {
        let exists = self.row(&sql::MIGRATION_TABLE_EXISTS, &[], deadline).await?;
        let exists = exists.map_or(Ok(false), |row| column(&row, "present"))?;
        if !exists {
            return Ok(SchemaState::Behind(MIGRATIONS.len()));
        }
        judge(&self.rows(&sql::MIGRATION_LIST, &[], deadline).await?)
    }
}

async fn lock(client: &Client) -> Result<(), MigrateError> {
    // Polled, not waited for: a session that waits for an advisory lock holds a snapshot, which would block a
    // CREATE INDEX CONCURRENTLY of whoever has the lock.
    for _ in 0..LOCK_POLLS {
        let row =
            client.query_one(sql::MIGRATION_TRY_LOCK.text, &[]).await.map_err(|error| DbError::running(&error))?;
        if column(&row, "locked")? {
            return Ok(());
        }
        tokio::time::sleep(LOCK_PAUSE).await;
    }
    Err(MigrateError::Locked(LOCK_WAIT_SECONDS))
}

async fn apply(client: &mut Client, migration: &Migration) -> Result<(), DbError> {
    run_tx(client, async |transaction| {
        transaction.batch_execute(migration.text).await.map_err(|error| DbError::running(&error))?;
        let hash = sha256(migration);
        transaction
            .execute(sql::MIGRATION_ADD.text, &[&migration.version, &migration.name, &hash])
            .await
            .map_err(|error| DbError::running(&error))?;
        failpoint!("migrate/before_commit");
        Ok(())
    })
    .await?;
    failpoint!("migrate/committed");
    Ok(())
}

fn judge(history: &[Row]) -> Result<SchemaState, DbError> {
    for (row, expected) in history.iter().zip(MIGRATIONS) {
        let version: i32 = column(row, "version")?;
        let hash: Vec<u8> = column(row, "sha256")?;
        if version != expected.version || hash != sha256(expected) {
            return Ok(SchemaState::Drifted(version));
        }
    }
    Ok(match MIGRATIONS.len().checked_sub(history.len()) {
        None => SchemaState::Newer,
        Some(0) => SchemaState::Current,
        Some(pending) => SchemaState::Behind(pending),
    })
}

fn sha256(migration: &Migration) -> Vec<u8> {
    Sha256::digest(migration.text.as_bytes()).to_vec()
}
