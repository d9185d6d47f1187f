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

/// Files a fact, unless somebody told it before, and applies it if it still waits. Gives what became of it by now.
///
/// # Errors
///
/// [`AppError`]. What was filed then is applied by the worker.
pub(in crate::app) async fn tell(
    app: &App,
    org_id: OrgId,
    provider: &str,
    seen: &SeenFact,
) -> Result<EventOutcome, AppError> {
    let id = EventId { org_id, provider: provider.to_owned(), fact_key: seen.fact.key.clone() };
    file(app, &id, seen).await?;
    apply_event(app, &id).await?;
    let tx = app.db.begin(Deadline::of_request()).await?;
    let known = tx.find_event(&id).await?.ok_or(AppError::Internal)?;
    tx.rollback().await;
    Ok(known.outcome)
}

async fn file(app: &App, id: &EventId, seen: &SeenFact) -> Result<(), DbError> {
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
    tx.add_event(id, &new).await?;
    tx.commit().await
}
