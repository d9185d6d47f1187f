//! Looks at orders, keys and cases; changes nothing.

use crate::app::App;
use crate::app::error::AppError;
use crate::db::cases::CaseFilter;
use crate::db::deadline::Deadline;
use crate::domain::case::Case;
use crate::domain::claim::FoundClaim;
use crate::domain::ids::{OrderId, OrgId};
use crate::domain::key::IdempotencyKey;
use crate::domain::order::Order;
use uuid::Uuid;

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

/// One case of an organisation.
///
/// # Errors
///
/// As [`get_order`].
pub async fn get_case(app: &App, org_id: OrgId, case_id: Uuid, deadline: Deadline) -> Result<Case, AppError> {
    app.db.get_case(org_id, case_id, deadline).await?.ok_or(AppError::NotFound)
}

/// A page of cases below a cursor, newest first, and where the next one begins.
///
/// # Errors
///
/// [`AppError::Unavailable`], [`AppError::Internal`].
pub async fn list_cases(
    app: &App,
    org_id: OrgId,
    filter: &CaseFilter,
    below: Uuid,
    limit: u8,
    deadline: Deadline,
) -> Result<(Vec<Case>, Option<Uuid>), AppError> {
    // One more than asked for tells whether there is a next page.
    let mut cases = app.db.list_cases(org_id, filter, below, i64::from(limit) + 1, deadline).await?;
    let more = cases.len() > usize::from(limit);
    cases.truncate(usize::from(limit));
    let next = cases.last().filter(|_| more).map(|last| last.case_id);
    Ok((cases, next))
}
