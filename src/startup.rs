//! Puts the parts together, and refuses to start on what is not safe.

use crate::app::App;
use crate::app::check_secrets::check_secrets;
use crate::app::error::AppError;
use crate::app::gateways::PaymentSettings;
use crate::clock::Clock;
use crate::db::Db;
use crate::db::deadline::Deadline;
use crate::db::error::DbError;
use crate::db::migrate::SchemaState;
use crate::db::pool::{Connecting, PoolSetupError};
use crate::db::server::ServerSettings;
use crate::metrics::Metrics;
use secrecy::SecretString;
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;

/// Oldest PostgreSQL that is supported, as `server_version_num`.
pub const OLDEST_SERVER: i32 = 150_000;
/// More difference than this between the two clocks is reported.
pub const CLOCK_TOLERANCE: Duration = Duration::from_secs(2);

/// Why the program does not start.
#[derive(Debug, Error)]
pub enum StartupError {
    /// No pool.
    #[error(transparent)]
    Pool(#[from] PoolSetupError),
    /// The database does not answer as it should.
    #[error(transparent)]
    Database(#[from] DbError),
    /// `ichido migrate` has to run.
    #[error("the database's schema is {0} migration(s) behind; run `ichido migrate`")]
    Behind(usize),
    /// The database belongs to a newer version.
    #[error("the database was migrated by a newer version of ichido; use that version")]
    Newer,
    /// The history differs.
    #[error("migration {0} in the database is not the one in this program")]
    Drifted(i32),
    /// Acknowledged orders could be lost.
    #[error("the database can lose acknowledged orders: {0} (set ICHIDO_ALLOW_UNSAFE_DURABILITY=true for tests only)")]
    Unsafe(String),
    /// No payment could be taken.
    #[error(
        "{0} of the stored secrets cannot be opened: ICHIDO_SECRET_KEY is not set, or not the one they were sealed with"
    )]
    Secrets(usize),
    /// Whether they can be opened could not be found out.
    #[error(transparent)]
    App(#[from] AppError),
    /// Too old.
    #[error("PostgreSQL 15 or newer is needed")]
    TooOld,
}

/// The use cases over a database. Does not connect yet.
///
/// # Errors
///
/// [`StartupError::Pool`].
pub fn app(
    database_url: &SecretString,
    pool_size: usize,
    clock: Clock,
    payments: PaymentSettings,
) -> Result<App, StartupError> {
    let metrics = Arc::new(Metrics::default());
    let db = Db::new(Connecting::to(database_url)?, pool_size, Arc::clone(&metrics))?;
    Ok(App::new(db, metrics, clock, payments))
}

/// Connects and refuses a database whose schema or settings do not fit.
///
/// # Errors
///
/// [`StartupError`].
pub async fn verify(app: &App, allow_unsafe_durability: bool) -> Result<(), StartupError> {
    let settings = app.db.server_settings(Deadline::of_request()).await?;
    if settings.version < OLDEST_SERVER {
        return Err(StartupError::TooOld);
    }
    if let Some(danger) = danger(&settings)
        && !allow_unsafe_durability
    {
        return Err(StartupError::Unsafe(danger));
    }
    match app.db.schema_state(Deadline::of_request()).await? {
        SchemaState::Current => Ok(()),
        SchemaState::Behind(pending) => Err(StartupError::Behind(pending)),
        SchemaState::Newer => Err(StartupError::Newer),
        SchemaState::Drifted(version) => Err(StartupError::Drifted(version)),
    }
}

/// Refuses to take payments with another `ICHIDO_SECRET_KEY` than the stored secrets are sealed with.
///
/// # Errors
///
/// [`StartupError::Secrets`], [`StartupError::App`].
pub async fn verify_secrets(app: &App) -> Result<(), StartupError> {
    match check_secrets(app, Deadline::of_request()).await?.closed {
        0 => Ok(()),
        closed => Err(StartupError::Secrets(closed)),
    }
}

/// Which settings could lose an acknowledged order; `None` when none does.
#[must_use]
pub fn danger(settings: &ServerSettings) -> Option<String> {
    let off: Vec<_> = [
        ("fsync", &settings.fsync),
        ("full_page_writes", &settings.full_page_writes),
        ("synchronous_commit", &settings.synchronous_commit),
    ]
    .into_iter()
    .filter(|(_, value)| *value == "off")
    .map(|(name, _)| format!("{name} is off"))
    .collect();
    (!off.is_empty()).then(|| off.join(", "))
}
