//! Whether this process can open what is stored sealed.

use crate::app::App;
use crate::app::error::AppError;
use crate::app::gateways::GATEWAY_PURPOSE;
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
    let sealed = app.db.sealed_gateway_secrets(deadline).await?;
    let opens = |(org_id, secret): &&(_, Vec<u8>)| {
        let place = Place { org_id: *org_id, purpose: GATEWAY_PURPOSE };
        app.payments.sealing_key.as_deref().is_some_and(|key| open(key, place, secret).is_ok())
    };
    let open = sealed.iter().filter(opens).count();
    Ok(Secrets { stored: sealed.len(), closed: sealed.len() - open })
}
