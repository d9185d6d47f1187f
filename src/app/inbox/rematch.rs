//! The worker's part: what was committed and not applied, and what waits for its order.

use crate::app::App;
use crate::app::error::AppError;
use crate::app::inbox::apply::apply_event;
use crate::db::deadline::Deadline;
use crate::db::inbox::events::EventId;
use futures_util::StreamExt;
use futures_util::stream;
use rand::seq::SliceRandom;

/// Facts of one organisation in a round, and how many of them at once: one whose order is locked holds up few others.
const IN_A_ROUND: i64 = 32;
const AT_ONCE: usize = 4;

/// One round: applies what waits and whose time has come. Gives how many it took up.
///
/// # Errors
///
/// [`AppError::Unavailable`], [`AppError::Internal`] when it cannot be found out what waits; one fact's failure is its own.
pub async fn apply_waiting(app: &App) -> Result<usize, AppError> {
    let mut orgs = app.db.orgs_with_due_events(Deadline::of_request()).await?;
    orgs.shuffle(&mut rand::rng());
    let mut taken = 0;
    for org_id in orgs {
        let due = app.db.due_events(org_id, IN_A_ROUND, Deadline::of_request()).await?;
        let results = stream::iter(due).map(|id| take(app.clone(), id)).buffer_unordered(AT_ONCE);
        taken += results.filter(|was_taken| std::future::ready(*was_taken)).count().await;
    }
    Ok(taken)
}

async fn take(app: App, id: EventId) -> bool {
    match app.db.take_event(&id, Deadline::of_request()).await {
        Ok(true) => {
            if let Err(error) = apply_event(&app, &id).await {
                tracing::warn!(%error, org_id = id.org_id.0, "notification has to wait");
            }
            true
        }
        Ok(false) => false,
        Err(error) => {
            tracing::warn!(%error, org_id = id.org_id.0, "notification has to wait");
            false
        }
    }
}
