//! Looks at receipts and events; changes nothing.

use crate::app::App;
use crate::app::error::AppError;
use crate::db::deadline::Deadline;
use crate::db::inbox::event_list::EventFilter;
use crate::db::inbox::receipts::ReceiptFilter;
use crate::domain::ids::OrgId;
use crate::domain::inbox::view::{Event, Receipt};
use uuid::Uuid;

/// One receipt of an organisation, with its bytes.
///
/// # Errors
///
/// [`AppError::NotFound`], also for another organisation's; [`AppError::Unavailable`], [`AppError::Internal`].
pub async fn get_receipt(app: &App, org_id: OrgId, id: Uuid, deadline: Deadline) -> Result<Receipt, AppError> {
    app.db.get_receipt(org_id, id, deadline).await?.ok_or(AppError::NotFound)
}

/// A page of receipts below a cursor, newest first, and where the next one begins.
///
/// # Errors
///
/// [`AppError::Unavailable`], [`AppError::Internal`].
pub async fn list_receipts(
    app: &App,
    org_id: OrgId,
    filter: &ReceiptFilter,
    below: Uuid,
    limit: u8,
    deadline: Deadline,
) -> Result<(Vec<Receipt>, Option<Uuid>), AppError> {
    // One more than asked for tells whether there is a next page.
    let receipts = app.db.list_receipts(org_id, filter, below, i64::from(limit) + 1, deadline).await?;
    Ok(page(receipts, limit, |receipt| receipt.receipt_id))
}

/// A page of events below a cursor, newest first, and where the next one begins.
///
/// # Errors
///
/// [`AppError::Unavailable`], [`AppError::Internal`].
pub async fn list_events(
    app: &App,
    org_id: OrgId,
    filter: &EventFilter,
    below: Uuid,
    limit: u8,
    deadline: Deadline,
) -> Result<(Vec<Event>, Option<Uuid>), AppError> {
    let events = app.db.list_events(org_id, filter, below, i64::from(limit) + 1, deadline).await?;
    Ok(page(events, limit, |event| event.event_id))
}

fn page<T>(mut entries: Vec<T>, limit: u8, id: impl Fn(&T) -> Uuid) -> (Vec<T>, Option<Uuid>) {
    let more = entries.len() > usize::from(limit);
    entries.truncate(usize::from(limit));
    let next = entries.last().filter(|_| more).map(id);
    (entries, next)
}
