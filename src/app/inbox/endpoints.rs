//! Endpoints that notifications come to, and the secrets that they are signed with.

use crate::app::App;
use crate::app::check_secrets::check_secrets;
use crate::app::error::AppError;
use crate::app::inbox::PROVIDER;
use crate::db::deadline::Deadline;
use crate::db::inbox::endpoints::SealedSecret;
use crate::domain::ids::OrgId;
use crate::domain::sealed::{NONCE_LENGTH, Place, open, seal};
use secrecy::{ExposeSecret, SecretString};
use std::time::Duration;
use subtle::ConstantTimeEq;
use thiserror::Error;
use time::OffsetDateTime;
use uuid::Uuid;

/// Why nothing was set.
#[derive(Debug, Error)]
pub enum EndpointError {
    /// Nobody to make it for.
    #[error("there is no such organisation")]
    NoOrg,
    /// No such endpoint.
    #[error("there is no such webhook endpoint in this organisation")]
    NoEndpoint,
    /// The endpoint has no such secret.
    #[error("this endpoint has no such secret")]
    NoSecret,
    /// Nothing to seal the secret with.
    #[error("ICHIDO_SECRET_KEY is not set (or ICHIDO_SECRET_KEY_FILE, naming a file that holds it)")]
    NoKey,
    /// Servers use one key for all secrets.
    #[error("the stored secrets cannot be opened with this ICHIDO_SECRET_KEY; nothing was changed")]
    OtherKey,
    /// The database.
    #[error(transparent)]
    App(#[from] AppError),
}

/// A secret with the name that the operator knows it by.
pub struct NewSecret {
    /// Its name; another secret of the endpoint under the same name makes it `name-2`, `name-3` …
    pub name: String,
    /// What it is.
    pub secret: SecretString,
}

fn purpose(endpoint_id: Uuid, label: &str) -> String {
    format!("webhook:{endpoint_id}:{label}")
}

/// A stored secret, if this process can open it.
pub(in crate::app) fn open_secret(
    app: &App,
    org_id: OrgId,
    endpoint_id: Uuid,
    stored: &SealedSecret,
) -> Option<SecretString> {
    let place = Place { org_id, purpose: &purpose(endpoint_id, &stored.label) };
    open(app.payments.sealing_key.as_deref()?, place, &stored.sealed).ok()
}

/// Makes an endpoint with its first secret; gives its id.
///
/// # Errors
///
/// [`EndpointError`].
pub async fn create_endpoint(
    app: &App,
    org_id: OrgId,
    new: &NewSecret,
    deadline: Deadline,
) -> Result<Uuid, EndpointError> {
    require_key(app, deadline).await?;
    let endpoint_id = Uuid::now_v7();
    // Without its secret it refuses everything, should this end in between.
    if !app.db.create_endpoint(org_id, endpoint_id, PROVIDER, deadline).await.map_err(AppError::from)? {
        return Err(EndpointError::NoOrg);
    }
    store(app, org_id, endpoint_id, &new.name, &new.secret, deadline).await?;
    Ok(endpoint_id)
}

/// Adds a secret, or makes one active again that was retiring; gives its label. Adding one twice makes no second one.
///
/// # Errors
///
/// [`EndpointError`].
pub async fn add_secret(
    app: &App,
    org_id: OrgId,
    endpoint_id: Uuid,
    new: &NewSecret,
    deadline: Deadline,
) -> Result<String, EndpointError> {
    require_key(app, deadline).await?;
    let stored = stored(app, org_id, endpoint_id, deadline).await?;
    let label = match same(app, org_id, endpoint_id, &stored, &new.secret) {
        Some(label) => label,
        None => free_label(&new.name, &stored),
    };
    store(app, org_id, endpoint_id, &label, &new.secret, deadline).await?;
    Ok(label)
}

/// Lets a secret count for `grace` and then no more; gives its label and until when.
///
/// # Errors
///
/// [`EndpointError`].
pub async fn retire_secret(
    app: &App,
    org_id: OrgId,
    endpoint_id: Uuid,
    secret: &SecretString,
    grace: Duration,
    deadline: Deadline,
) -> Result<(String, OffsetDateTime), EndpointError> {
    require_key(app, deadline).await?;
    let stored = stored(app, org_id, endpoint_id, deadline).await?;
    let label = same(app, org_id, endpoint_id, &stored, secret).ok_or(EndpointError::NoSecret)?;
    let until = app.db.retire_endpoint_secret(org_id, endpoint_id, &label, grace.as_secs_f64(), deadline).await;
    let until = until.map_err(AppError::from)?.ok_or(EndpointError::NoSecret)?;
    Ok((label, until))
}

/// One secret under another key, and no server could open all of them.
async fn require_key(app: &App, deadline: Deadline) -> Result<(), EndpointError> {
    if app.payments.sealing_key.is_none() {
        return Err(EndpointError::NoKey);
    }
    if check_secrets(app, deadline).await?.closed > 0 { Err(EndpointError::OtherKey) } else { Ok(()) }
}

async fn stored(
    app: &App,
    org_id: OrgId,
    endpoint_id: Uuid,
    deadline: Deadline,
) -> Result<Vec<SealedSecret>, EndpointError> {
    let stored = app.db.endpoint_secrets(org_id, endpoint_id, deadline).await.map_err(AppError::from)?;
    stored.ok_or(EndpointError::NoEndpoint)
}

/// The label under which this very secret is stored.
fn same(app: &App, org_id: OrgId, endpoint_id: Uuid, stored: &[SealedSecret], secret: &SecretString) -> Option<String> {
    let equals = |each: &&SealedSecret| {
        open_secret(app, org_id, endpoint_id, each)
            .is_some_and(|known| known.expose_secret().as_bytes().ct_eq(secret.expose_secret().as_bytes()).into())
    };
    stored.iter().find(equals).map(|each| each.label.clone())
}

fn free_label(name: &str, stored: &[SealedSecret]) -> String {
    let taken = |label: &String| stored.iter().any(|each| each.label == *label);
    let others = (2..).map(|number: u64| format!("{name}-{number}"));
    std::iter::once(name.to_owned()).chain(others).find(|label| !taken(label)).unwrap_or_default()
}

async fn store(
    app: &App,
    org_id: OrgId,
    endpoint_id: Uuid,
    label: &str,
    secret: &SecretString,
    deadline: Deadline,
) -> Result<(), EndpointError> {
    let key = app.payments.sealing_key.as_deref().ok_or(EndpointError::NoKey)?;
    let nonce: [u8; NONCE_LENGTH] = rand::random();
    let place = Place { org_id, purpose: &purpose(endpoint_id, label) };
    let sealed = seal(key, place, secret, nonce).map_err(|_| AppError::Internal)?;
    let secret = SealedSecret { label: label.to_owned(), sealed };
    app.db.set_endpoint_secret(org_id, endpoint_id, &secret, deadline).await.map_err(AppError::from)?;
    Ok(())
}
