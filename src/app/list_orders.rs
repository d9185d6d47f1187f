//! Lists orders, newest first, a page at a time.

use crate::app::App;
use crate::app::error::AppError;
use crate::db::deadline::Deadline;
use crate::db::orders::OrderFilter;
use crate::domain::cursor::Cursor;
use crate::domain::ids::OrgId;
use crate::domain::order::Order;

/// One page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The orders, newest first.
    pub orders: Vec<Order>,
    /// Where the next page begins; `None` on the last.
    pub next: Option<Cursor>,
}

/// The page below `cursor`, with at most `limit` orders. Following `next` shows every order that was committed before
/// the first page was asked for, once.
///
/// # Errors
///
/// [`AppError::Unavailable`], [`AppError::Internal`].
pub async fn list_orders(
    app: &App,
    org_id: OrgId,
    filter: &OrderFilter,
    cursor: Cursor,
    limit: u8,
    deadline: Deadline,
) -> Result<Page, AppError> {
    // One more than asked for tells whether there is a next page.
    let mut orders = app.db.list_orders(org_id, filter, cursor, i64::from(limit) + 1, deadline).await?;
    let more = orders.len() > usize::from(limit);
    orders.truncate(usize::from(limit));
    let next = orders.last().filter(|_| more).map(|last| Cursor(last.order_id));
    Ok(Page { orders, next })
}
