//! Whether this process can open what is stored sealed.

use crate::app::App;
use crate::app::error::AppError;
use crate::app::gateways::GATEWAY_PURPOSE;
use crate::app::inbox::endpoints::open_secret;
use crate::app::steps::partners::partner_purpose;
use crate::db::deadline::Deadline;
use crate::domain::sealed::{Place, open};

/// How many secrets are stored, and how many of them this process cannot open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Secrets {
    /// All of them.
    pub stored: usize,
    /// Those that need another `ICHIDO_SECRET_KEY`.
    pub closed: usize,
}

/// Tries each.
///
/// # Errors
///
/// [`AppError::Unavailable`], [`AppError::Internal`].
pub async fn check_secrets(app: &App, deadline: Deadline) -> Result<Secrets, AppError> {
    let gateways = app.db.sealed_gateway_secrets(deadline).await?;
    let partners = app.db.sealed_partner_secrets(deadline).await?;
    let gateways = gateways.into_iter().map(|(org_id, secret)| (org_id, GATEWAY_PURPOSE.to_owned(), secret));
    let partners = partners.into_iter().map(|(org_id, kind, secret)| (org_id, partner_purpose(kind), secret));
    let (mut stored, mut closed) = (0, 0);
    for (org_id, purpose, secret) in gateways.chain(partners) {
        let place = Place { org_id, purpose: &purpose };
        let opens = app.payments.sealing_key.as_deref().is_some_and(|key| open(key, place, &secret).is_ok());
        stored += 1;
        closed += usize::from(!opens);
    }
    for webhook in app.db.sealed_webhook_secrets(deadline).await? {
        let opened = open_secret(app, webhook.org_id, webhook.endpoint_id, &webhook.secret);
        stored += 1;
        closed += usize::from(opened.is_none());
    }
    Ok(Secrets { stored, closed })
}
