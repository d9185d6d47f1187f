//! Whether this process can open what is stored sealed.

use crate::app::App;
use crate::app::error::AppError;
use crate::app::gateways::GATEWAY_PURPOSE;
use crate::app::inbox::endpoints::open_secret;
use crate::db::deadline::Deadline;
use crate::db::inbox::endpoints::StoredSecret;
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
    let sealed = app.db.sealed_gateway_secrets(deadline).await?;
    let opens = |(org_id, secret): &&(_, Vec<u8>)| {
        let place = Place { org_id: *org_id, purpose: GATEWAY_PURPOSE };
        app.payments.sealing_key.as_deref().is_some_and(|key| open(key, place, secret).is_ok())
    };
    let webhooks = app.db.sealed_webhook_secrets(deadline).await?;
    let stored = sealed.len() + webhooks.len();
    let open = sealed.iter().filter(opens).count() + webhooks.iter().filter(|each| opens_webhook(app, each)).count();
    Ok(Secrets { stored, closed: stored - open })
}

fn opens_webhook(app: &App, stored: &StoredSecret) -> bool {
    open_secret(app, stored.org_id, stored.endpoint_id, &stored.secret).is_some()
}
