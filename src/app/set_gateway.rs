//! Sets how an organisation's payments are taken.

use crate::app::App;
use crate::app::check_secrets::check_secrets;
use crate::app::error::AppError;
use crate::app::gateways::GATEWAY_PURPOSE;
use crate::db::deadline::Deadline;
use crate::domain::ids::OrgId;
use crate::domain::org::Mode;
use crate::domain::sealed::{NONCE_LENGTH, Place, SealingKey, seal};
use crate::gateway::outgoing::{Outgoing, SetupError};
use crate::gateway::stripe::Stripe;
use secrecy::SecretString;
use std::sync::Arc;
use thiserror::Error;

/// Why it was not set. Nothing was written.
#[derive(Debug, Error)]
pub enum SetGatewayError {
    /// Nobody to set it for.
    #[error("there is no such organisation")]
    NoOrg,
    /// Nothing to seal the secret with.
    #[error("ICHIDO_SECRET_KEY is not set (or ICHIDO_SECRET_KEY_FILE, naming a file that holds it)")]
    NoKey,
    /// Servers use one key for all secrets.
    #[error("the stored secrets cannot be opened with this ICHIDO_SECRET_KEY; nothing was changed")]
    OtherKey,
    /// No client could be made of it: a URL that is none, plain http or a private address for a live organisation, an
    /// unusable secret.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// The database.
    #[error(transparent)]
    App(#[from] AppError),
}

/// Seals the secret and stores it with the address. Servers that are running use it for the next payment.
///
/// # Errors
///
/// [`SetGatewayError`].
pub async fn set_gateway(
    app: &App,
    org_id: OrgId,
    api_base: &str,
    secret: &SecretString,
    deadline: Deadline,
) -> Result<(), SetGatewayError> {
    let mode = mode_of(app, org_id, deadline).await?;
    let outgoing = Outgoing::new(Stripe::reach(mode), app.payments.gateway_timeout)?;
    Stripe::new(outgoing, api_base, secret, mode)?;
    let key = sealing_key(app, deadline).await?;
    let nonce: [u8; NONCE_LENGTH] = rand::random();
    let place = Place { org_id, purpose: GATEWAY_PURPOSE };
    let sealed = seal(&key, place, secret, nonce).map_err(|_| AppError::Internal)?;
    let set = app.db.set_gateway(org_id, "stripe", api_base, &sealed, deadline).await.map_err(AppError::from)?;
    if set { Ok(()) } else { Err(SetGatewayError::NoOrg) }
}

/// What secrets are sealed with: the key that opens those that are stored already.
pub(in crate::app) async fn sealing_key(app: &App, deadline: Deadline) -> Result<Arc<SealingKey>, SetGatewayError> {
    let key = app.payments.sealing_key.clone().ok_or(SetGatewayError::NoKey)?;
    // One secret under another key, and no server could open all of them.
    if check_secrets(app, deadline).await?.closed > 0 {
        return Err(SetGatewayError::OtherKey);
    }
    Ok(key)
}

/// Test or live.
pub(in crate::app) async fn mode_of(app: &App, org_id: OrgId, deadline: Deadline) -> Result<Mode, SetGatewayError> {
    let orgs = app.db.list_orgs(deadline).await.map_err(AppError::from)?;
    let org = orgs.iter().find(|named| named.org.org_id == org_id);
    org.map(|named| named.org.mode).ok_or(SetGatewayError::NoOrg)
}
