//! Looks at orders, keys, cases, effects and traces; changes nothing.

use crate::app::App;
use crate::app::error::AppError;
use crate::db::cases::CaseFilter;
use crate::db::deadline::Deadline;
use crate::db::inbox::event_list::EventFilter;
use crate::domain::case::Case;
use crate::domain::claim::FoundClaim;
use crate::domain::ids::{OrderId, OrgId};
use crate::domain::key::IdempotencyKey;
use crate::domain::operation_view::{Operation, OperationCursor, OperationFilter};
use crate::domain::order::Order;
use crate::domain::trace::{MOST_ENTRIES, Parts, Trace, trace};
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

/// Everything that happened to one order, as one story.
///
/// # Errors
///
/// As [`get_order`].
pub async fn get_trace(app: &App, org_id: OrgId, order_id: OrderId, deadline: Deadline) -> Result<Trace, AppError> {
    let order = get_order(app, org_id, order_id, deadline).await?;
    // One more than is shown tells whether there is more.
    let limit = i64::try_from(MOST_ENTRIES).unwrap_or(i64::MAX) + 1;
    let filter = CaseFilter { order_id: Some(order_id), ..CaseFilter::default() };
    let operations = app.db.operations_of_order(org_id, order_id, limit, deadline).await?;
    let cases = app.db.list_cases(org_id, &filter, Uuid::max(), limit, deadline).await?;
    let receipts = app.db.receipts_of_order(org_id, order_id, limit, deadline).await?;
    let about = EventFilter { order_id: Some(order_id), ..EventFilter::default() };
    let events = app.db.list_events(org_id, &about, Uuid::max(), limit, deadline).await?;
    // Last, so that it tells of everything that was seen before.
    let journal = app.db.journal_of_order(org_id, order_id, limit, deadline).await?;
    Ok(trace(Parts { order, journal, operations, cases, receipts, events }))
}

/// A page of effects below a cursor, those of the newest order first, and where the next one begins.
///
/// # Errors
///
/// [`AppError::Unavailable`], [`AppError::Internal`].
pub async fn list_operations(
    app: &App,
    org_id: OrgId,
    filter: &OperationFilter,
    below: &OperationCursor,
    limit: u8,
    deadline: Deadline,
) -> Result<(Vec<Operation>, Option<OperationCursor>), AppError> {
    // One more than asked for tells whether there is a next page.
    let mut operations = app.db.list_operations(org_id, filter, below, i64::from(limit) + 1, deadline).await?;
    let more = operations.len() > usize::from(limit);
    operations.truncate(usize::from(limit));
    let next = operations.last().filter(|_| more).map(OperationCursor::below);
    Ok((operations, next))
}
