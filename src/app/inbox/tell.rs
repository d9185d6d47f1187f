//! Facts that we found out ourselves, filed and applied like those that a notification tells.

use crate::app::App;
use crate::app::error::AppError;
use crate::app::inbox::WAIT;
use crate::app::inbox::apply::apply_event;
use crate::db::deadline::Deadline;
use crate::db::error::DbError;
use crate::db::inbox::events::{EventId, NewEvent};
use crate::domain::ids::{OrderId, OrgId};
use crate::domain::inbox::EventOutcome;
use crate::domain::inbox::fact::Fact;
use uuid::Uuid;

/// What was seen at the gateway.
pub(in crate::app) struct SeenFact {
    /// The fact.
    pub fact: Fact,
    /// In ISO 4217 minor units; `None` when it cannot be said in those.
    pub amount: Option<i64>,
    /// The order that it is about.
    pub order_id: OrderId,
}

/// Files a fact, or adds what we know to one that was told before, and applies it if it still waits. Gives what became of it by
/// now, and whether it is new.
///
/// # Errors
///
/// [`AppError`]. What was filed then is applied by the worker.
pub(in crate::app) async fn tell(
    app: &App,
    org_id: OrgId,
    provider: &str,
    seen: &SeenFact,
) -> Result<(EventOutcome, bool), AppError> {
    let id = EventId { org_id, provider: provider.to_owned(), fact_key: seen.fact.key.clone() };
    let is_new = file(app, &id, seen).await?;
    if !is_new {
        // It may have been told without naming its order, and been put off or given up as somebody else's.
        app.db.match_event(&id, seen.order_id, Deadline::of_request()).await?;
    }
    apply_event(app, &id).await?;
    let tx = app.db.begin(Deadline::of_request()).await?;
    let known = tx.find_event(&id).await?.ok_or(AppError::Internal)?;
    tx.rollback().await;
    Ok((known.outcome, is_new))
}

async fn file(app: &App, id: &EventId, seen: &SeenFact) -> Result<bool, DbError> {
    let new = NewEvent {
        event_id: Uuid::now_v7(),
        fact: &seen.fact,
        amount: seen.amount,
        provider_time: None,
        order_id: Some(seen.order_id),
        outcome: EventOutcome::Pending,
        wait_seconds: WAIT.as_secs_f64(),
    };
    let tx = app.db.begin(Deadline::of_request()).await?;
    let is_new = tx.add_event(id, &new).await?;
    // As a notification of its own would name the order.
    tx.add_alias(id, &format!("seen:{}", id.fact_key), &seen.fact).await?;
    failpoint!("inbox/tell/before_commit");
    tx.commit().await?;
    failpoint!("inbox/tell/committed");
    Ok(is_new)
}
