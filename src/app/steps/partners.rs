//! The partners of an organisation's steps, ready to be called.

use crate::app::App;
use crate::app::error::AppError;
use crate::db::step_policies::StepPolicy;
use crate::domain::ids::OrgId;
use crate::domain::org::Mode;
use crate::domain::sealed::{Place, open};
use crate::domain::step::StepKind;
use crate::gateway::http_partner::HttpPartner;
use sha2::{Digest, Sha256};

/// What a sealed partner secret is for.
#[must_use]
pub fn partner_purpose(kind: StepKind) -> String {
    format!("partner:{}", kind.as_str())
}

/// To whom a step is sent, and on what terms: somebody else, or the same on other terms, knows nothing of an earlier sending.
#[must_use]
pub(super) fn target_sha256(policy: &StepPolicy) -> Vec<u8> {
    let status = policy.status_url.as_deref().unwrap_or_default();
    Sha256::digest(format!("{}\0{status}\0{}", policy.url, policy.honours_keys)).to_vec()
}

/// The partner of a step.
///
/// # Errors
///
/// [`AppError::Unavailable`] when its settings cannot be used by this process.
pub(super) fn partner(app: &App, org_id: OrgId, policy: &StepPolicy, mode: Mode) -> Result<HttpPartner, AppError> {
    let secret = match &policy.secret_sealed {
        None => None,
        Some(sealed) => {
            let place = Place { org_id, purpose: &partner_purpose(policy.kind) };
            let key = app.payments.sealing_key.as_deref().ok_or(AppError::Unavailable)?;
            Some(open(key, place, sealed).map_err(|_| AppError::Unavailable)?)
        }
    };
    let outgoing = app.gateways.outgoing(mode, app.payments.gateway_timeout);
    let partner =
        outgoing.and_then(|outgoing| HttpPartner::new(outgoing, &policy.url, policy.status_url.as_deref(), secret));
    partner.map_err(|error| {
        tracing::error!(org_id = org_id.0, kind = policy.kind.as_str(), %error, "the step's settings cannot be used");
        AppError::Unavailable
    })
}
