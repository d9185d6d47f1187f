//! Settings from the environment and the command line, checked together before anything starts.

use crate::domain::sealed::SealingKey;
use actix_web::http::Uri;
use secrecy::SecretString;
use std::env;
use std::fs;
use std::time::Duration;
use thiserror::Error;

/// A setting that cannot be used. Names the variable, never its value.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// Nothing was given.
    #[error("{0} is not set (or {0}_FILE, naming a file that holds it)")]
    Missing(&'static str),
    /// Both forms were given.
    #[error("{0} and {0}_FILE are both set; set one of them")]
    Twice(&'static str),
    /// The file of the `_FILE` form cannot be read.
    #[error("the file named by {0}_FILE cannot be read as text")]
    File(&'static str),
    /// The value is not of the right form.
    #[error("{name} is not valid: {why}")]
    Invalid {
        /// The variable.
        name: &'static str,
        /// What is expected.
        why: &'static str,
    },
}

/// Connections that one process opens at most. PostgreSQL does best with a few for each core; more only wait there
/// instead of here.
pub const DEFAULT_POOL: usize = 16;

/// How long one call to a payment gateway may take, the last byte of its answer included.
pub const DEFAULT_GATEWAY_TIMEOUT: Duration = Duration::from_secs(10);

/// The database's address, from `DATABASE_URL` or the file that `DATABASE_URL_FILE` names.
///
/// # Errors
///
/// [`ConfigError`].
pub fn database_url() -> Result<SecretString, ConfigError> {
    secret("DATABASE_URL")?.ok_or(ConfigError::Missing("DATABASE_URL"))
}

/// A secret from `name` or from the file that `name_FILE` names (a trailing line end is cut); `None` without either.
///
/// # Errors
///
/// [`ConfigError`].
pub fn secret(name: &'static str) -> Result<Option<SecretString>, ConfigError> {
    let value = env::var(name).ok().filter(|value| !value.is_empty());
    let file = env::var(format!("{name}_FILE")).ok().filter(|path| !path.is_empty());
    match (value, file) {
        (Some(_), Some(_)) => Err(ConfigError::Twice(name)),
        (Some(value), None) => Ok(Some(SecretString::from(value))),
        (None, Some(path)) => {
            let text = fs::read_to_string(path).map_err(|_| ConfigError::File(name))?;
            Ok(Some(SecretString::from(text.trim_end_matches(['\r', '\n']).to_owned())))
        }
        (None, None) => Ok(None),
    }
}

/// Reads the size of the pool.
///
/// # Errors
///
/// A text for the command line.
pub fn pool_size(text: &str) -> Result<usize, String> {
    let size = text.parse().ok().filter(|size| (1..=1_000).contains(size));
    size.ok_or_else(|| "a number from 1 to 1000 is expected".to_owned())
}

/// The key that encrypts stored secrets, from `ICHIDO_SECRET_KEY` or the file that `ICHIDO_SECRET_KEY_FILE` names; `None`
/// without either.
///
/// # Errors
///
/// [`ConfigError`].
pub fn sealing_key() -> Result<Option<SealingKey>, ConfigError> {
    let name = "ICHIDO_SECRET_KEY";
    let invalid = ConfigError::Invalid { name, why: "64 hexadecimal digits are expected" };
    secret(name)?.map(|text| SealingKey::parse(&text).ok_or(invalid)).transpose()
}

/// Reads how long one call to a gateway may take, such as `10s`.
///
/// # Errors
///
/// A text for the command line.
pub fn gateway_timeout(text: &str) -> Result<Duration, String> {
    let timeout = humantime::parse_duration(text).ok();
    let timeout = timeout.filter(|timeout| (Duration::from_secs(1)..=Duration::from_secs(80)).contains(timeout));
    timeout.ok_or_else(|| "a time from 1s to 80s is expected".to_owned())
}

/// Whether a database with unsafe settings may be used, from `ICHIDO_ALLOW_UNSAFE_DURABILITY`.
///
/// # Errors
///
/// [`ConfigError::Invalid`] for anything but `true`, `false`, `1` or `0`.
pub fn allow_unsafe_durability() -> Result<bool, ConfigError> {
    let name = "ICHIDO_ALLOW_UNSAFE_DURABILITY";
    match env::var(name).unwrap_or_default().as_str() {
        "" | "false" | "0" => Ok(false),
        "true" | "1" => Ok(true),
        _ => Err(ConfigError::Invalid { name, why: "true or false is expected" }),
    }
}

/// Reads a web origin (RFC 6454): `https://shop.example` and the like.
///
/// # Errors
///
/// A text for the command line.
pub fn origin(text: &str) -> Result<String, String> {
    let uri = text.parse::<Uri>().ok();
    // An origin has a scheme and an authority and nothing else; the parser writes a missing path as "/".
    let is_origin = uri.is_some_and(|uri| uri.scheme().is_some() && uri.path() == "/" && uri.query().is_none());
    if is_origin && !text.ends_with('/') {
        return Ok(text.to_owned());
    }
    Err("an origin such as https://shop.example is expected".to_owned())
}
