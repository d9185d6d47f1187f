//! Makes the connection pool.

use deadpool_postgres::{Hook, HookError, Manager, ManagerConfig, Pool, RecyclingMethod, Runtime};
use rustls::ClientConfig;
use secrecy::{ExposeSecret, SecretString};
use std::time::Duration;
use thiserror::Error;
use tokio_postgres::Config;
use tokio_postgres_rustls::MakeRustlsConnect;

const SESSION: &str = include_str!("../../sql/session.sql");
/// How a session that carries batches is set.
pub const BATCH_SESSION: &str = include_str!("../../sql/batch_session.sql");

/// Connections that carry the batches of one thread: for claims, for claims with a payment, and for look-ups of either kind.
pub const FOR_BATCHES: usize = 3;

/// Why no pool could be made. Never holds the connection string.
#[derive(Debug, Error)]
pub enum PoolSetupError {
    /// The URL is not one.
    #[error("DATABASE_URL is not a PostgreSQL connection string (postgres://user:password@host:port/database)")]
    Url,
    /// The pool could not be built.
    #[error("the connection pool could not be made")]
    Pool,
}

/// How to connect to a database. TLS is used as `sslmode` in the URL says, with the system's certificate authorities.
pub struct Connecting {
    config: Config,
    tls: MakeRustlsConnect,
}

impl Connecting {
    /// As a URL says.
    ///
    /// # Errors
    ///
    /// [`PoolSetupError::Url`].
    pub fn to(url: &SecretString) -> Result<Self, PoolSetupError> {
        Ok(Self { config: config(url)?, tls: tls() })
    }

    /// A pool of at most `size` connections. Connects when first asked.
    ///
    /// # Errors
    ///
    /// [`PoolSetupError::Pool`].
    pub fn pool(&self, size: usize) -> Result<Pool, PoolSetupError> {
        self.pool_with(size, SESSION)
    }

    /// The few connections that carry the batches of one thread.
    ///
    /// # Errors
    ///
    /// [`PoolSetupError::Pool`].
    pub fn batch_pool(&self) -> Result<Pool, PoolSetupError> {
        self.pool_with(FOR_BATCHES, BATCH_SESSION)
    }

    fn pool_with(&self, size: usize, session: &'static str) -> Result<Pool, PoolSetupError> {
        let manager = Manager::from_config(
            self.config.clone(),
            self.tls.clone(),
            // Fast: a connection known to be closed is replaced; a dead one that looks alive is found by its first statement.
            ManagerConfig { recycling_method: RecyclingMethod::Fast },
        );
        Pool::builder(manager)
            .max_size(size)
            .runtime(Runtime::Tokio1)
            .post_create(Hook::async_fn(move |client, _| {
                Box::pin(async move { client.batch_execute(session).await.map_err(HookError::Backend) })
            }))
            .build()
            .map_err(|_| PoolSetupError::Pool)
    }
}

/// The connection's settings: those of the URL, with bounds on every wait the URL leaves open.
///
/// # Errors
///
/// [`PoolSetupError::Url`].
pub fn config(url: &SecretString) -> Result<Config, PoolSetupError> {
    let mut config: Config = url.expose_secret().parse().map_err(|_| PoolSetupError::Url)?;
    if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
        return Err(PoolSetupError::Url);
    }
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(Duration::from_secs(2));
    }
    if config.get_application_name().is_none() {
        config.application_name("ichido");
    }
    // A peer that vanished without a word is noticed after half a minute, whether something was sent to it or not.
    if config.get_tcp_user_timeout().is_none() {
        config.tcp_user_timeout(Duration::from_secs(30));
    }
    config.keepalives_idle(Duration::from_secs(15)).keepalives_interval(Duration::from_secs(5)).keepalives_retries(3);
    Ok(config)
}

/// TLS by rustls. Certificates are checked against the system's authorities whenever TLS is used.
#[must_use]
pub fn tls() -> MakeRustlsConnect {
    let mut roots = rustls::RootCertStore::empty();
    // Certificates that cannot be read are left out; a server signed by one of them is then refused.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    MakeRustlsConnect::new(ClientConfig::builder().with_root_certificates(roots).with_no_client_auth())
}
