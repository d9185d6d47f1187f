//! Looks at one order or one key; changes nothing.

use crate::app::App;
use crate::app::error::AppError;
use crate::db::deadline::Deadline;
use crate::domain::claim::FoundClaim;
use crate::domain::ids::{OrderId, OrgId};
use crate::domain::key::IdempotencyKey;
use crate::domain::order::Order;

/// One order of an organisation.
///
/// # Errors
///
/// [`AppError::NotFound`], also for another organisation's order; [`AppError::Unavailable`], [`AppError::Internal`].
pub async fn get_order(app: &App, org_id: OrgId, order_id: OrderId, deadline: Deadline) -> Result<Order, AppError> {
    app.db.get_order(org_id, order_id, deadline).await?.ok_or(AppError::NotFound)
}

/// What is known of a key of an organisation. Nothing is executed.
///
/// # Errors
///
/// [`AppError::NotFound`] when it was never claimed or was removed since; [`AppError::Unavailable`],
/// [`AppError::Internal`].
pub async fn get_key(
    app: &App,
    org_id: OrgId,
    key: &IdempotencyKey,
    deadline: Deadline,
) -> Result<FoundClaim, AppError> {
    app.db.find_claim(org_id, key, deadline).await?.ok_or(AppError::NotFound)
}
