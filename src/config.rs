//! Settings from the environment and the command line, checked together before anything starts.

use crate::app::gateways::PaymentSettings;
use crate::domain::operation::{ASK_AFTER, CHARGE_POLICY, OperationPolicy};
use crate::domain::sealed::SealingKey;
use actix_web::http::Uri;
use secrecy::SecretString;
use std::env;
use std::fs;
use std::sync::Arc;
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

/// Connections of one process, besides those that carry batches. PostgreSQL does best with a few for each core; more only wait there
/// instead of here.
pub const DEFAULT_POOL: usize = 16;

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

/// A secret from the environment variable that the operator named; `None` when it is empty or not set.
#[must_use]
pub fn named_secret(name: &str) -> Option<SecretString> {
    env::var(name).ok().filter(|value| !value.is_empty()).map(SecretString::from)
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

/// Reads the number of the server's threads.
///
/// # Errors
///
/// A text for the command line.
pub fn http_threads(text: &str) -> Result<usize, String> {
    let threads = text.parse().ok().filter(|threads| (1..=256).contains(threads));
    threads.ok_or_else(|| "a number from 1 to 256 is expected".to_owned())
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
    // An empty variable is none.
    if text.is_empty() {
        return Ok(String::new());
    }
    let uri = text.parse::<Uri>().ok();
    // An origin has a scheme and an authority and nothing else; the parser writes a missing path as "/".
    let is_origin = uri.is_some_and(|uri| uri.scheme().is_some() && uri.path() == "/" && uri.query().is_none());
    if is_origin && !text.ends_with('/') {
        return Ok(text.to_owned());
    }
    Err("an origin such as https://shop.example is expected".to_owned())
}

/// How long whatever belongs to a payment may take.
#[derive(Debug, Clone)]
pub struct PaymentTimes {
    /// The longest call to a gateway.
    pub gateway_timeout: Duration,
    /// How long a charge belongs to whoever took it.
    pub lease: Duration,
    /// When the gateway is asked; empty is the default.
    pub ask_after: Vec<Duration>,
}

impl Default for PaymentTimes {
    fn default() -> Self {
        Self { gateway_timeout: Duration::from_secs(10), lease: Duration::from_secs(30), ask_after: Vec::new() }
    }
}

/// How payments are carried out, with `ICHIDO_SECRET_KEY` or the file that `ICHIDO_SECRET_KEY_FILE` names.
///
/// # Errors
///
/// [`ConfigError`], also when the times do not fit each other: a lease has to outlast a call.
pub fn payments(times: &PaymentTimes) -> Result<PaymentSettings, ConfigError> {
    let PaymentTimes { gateway_timeout, lease, .. } = *times;
    if gateway_timeout.is_zero() || gateway_timeout > LONGEST {
        return Err(ConfigError::Invalid { name: "ICHIDO_GATEWAY_TIMEOUT", why: "up to 1h is expected, and not 0" });
    }
    if lease < gateway_timeout + MARGIN || lease > LONGEST {
        let why = "at least 2 s longer than ICHIDO_GATEWAY_TIMEOUT, and at most 1h, is expected";
        return Err(ConfigError::Invalid { name: "ICHIDO_LEASE", why });
    }
    let sealing_key = secret("ICHIDO_SECRET_KEY")?
        .map(|text| SealingKey::parse(&text).ok_or(ConfigError::Invalid { name: "ICHIDO_SECRET_KEY", why: KEY_FORM }))
        .transpose()?;
    let policy = OperationPolicy { ask_after: ask_after(times)?, ..CHARGE_POLICY };
    Ok(PaymentSettings { lease, gateway_timeout, sealing_key: sealing_key.map(Arc::new), policy })
}

/// What recording an outcome may take after the call has ended.
const MARGIN: Duration = Duration::from_secs(2);
/// Longer times than this are mistakes.
const LONGEST: Duration = Duration::from_hours(1);
const KEY_FORM: &str = "64 hexadecimal digits are expected, as `openssl rand -hex 32` prints them";

fn ask_after(times: &PaymentTimes) -> Result<[time::Duration; 4], ConfigError> {
    let mut waits = ASK_AFTER;
    if times.ask_after.is_empty() {
        // When the lease would have ended.
        waits[0] = (times.lease.saturating_sub(times.gateway_timeout)).try_into().unwrap_or(waits[0]);
        return Ok(waits);
    }
    let fits = times.ask_after.len() == waits.len();
    for (wait, given) in waits.iter_mut().zip(&times.ask_after) {
        *wait = (*given).min(Duration::from_hours(24)).try_into().unwrap_or(*wait);
    }
    let why = "four times such as 20s,1m,5m,1h are expected";
    if fits { Ok(waits) } else { Err(ConfigError::Invalid { name: "ICHIDO_ASK_AFTER", why }) }
}
