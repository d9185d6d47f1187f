//! Sets the five answers for a step of an organisation's orders.

use crate::app::App;
use crate::app::error::AppError;
use crate::app::set_gateway::{SetGatewayError, mode_of, sealing_key};
use crate::app::steps::partners::partner_purpose;
use crate::db::deadline::Deadline;
use crate::db::step_policies::StepPolicy;
use crate::domain::ids::OrgId;
use crate::domain::sealed::{NONCE_LENGTH, Place, seal};
use crate::gateway::http_partner::HttpPartner;
use secrecy::SecretString;

/// Stores a policy; orders that are confirmed from now on get the step, and running servers use it at once.
///
/// # Errors
///
/// [`SetGatewayError`].
pub async fn set_step_policy(
    app: &App,
    org_id: OrgId,
    mut policy: StepPolicy,
    secret: Option<&SecretString>,
    deadline: Deadline,
) -> Result<(), SetGatewayError> {
    let mode = mode_of(app, org_id, deadline).await?;
    let outgoing = app.gateways.outgoing(mode, app.payments.gateway_timeout)?;
    HttpPartner::new(outgoing, &policy.url, policy.status_url.as_deref(), None)?;
    if let Some(secret) = secret {
        let key = sealing_key(app, deadline).await?;
        let nonce: [u8; NONCE_LENGTH] = rand::random();
        let place = Place { org_id, purpose: &partner_purpose(policy.kind) };
        policy.secret_sealed = Some(seal(&key, place, secret, nonce).map_err(|_| AppError::Internal)?);
    }
    let set = app.db.set_step_policy(org_id, &policy, deadline).await.map_err(AppError::from)?;
    if set { Ok(()) } else { Err(SetGatewayError::NoOrg) }
}
