//! Empties deliveries whose bytes were kept for long enough; their rows stay, with all that was read of them.

use crate::app::App;
use crate::app::clean_up::PAUSE;
use crate::app::error::AppError;
use crate::db::deadline::Deadline;
use crate::domain::ids::OrgId;
use tokio_util::sync::CancellationToken;

/// How many days the bytes of a delivery are kept, at least: until everything about it is resolved.
pub const BODIES_KEPT_FOR_DAYS: i32 = 90;
/// Deliveries emptied by one statement. A body has up to 256 KiB.
const BATCH: u32 = 1_000;

/// Empties what is due, one organisation after the other, until nothing is left or `stop` is cancelled. Gives how many. Safe to
/// run on several processes at once.
///
/// # Errors
///
/// [`AppError::Unavailable`], [`AppError::Internal`]; what was emptied before stays empty.
pub async fn forget_bodies(app: &App, stop: &CancellationToken) -> Result<u64, AppError> {
    let mut emptied = 0;
    for org_id in app.db.orgs_with_old_bodies(BODIES_KEPT_FOR_DAYS, Deadline::of_request()).await? {
        emptied += forget_of(app, org_id, stop).await?;
    }
    Ok(emptied)
}

/// How many [`forget_bodies`] would empty now.
///
/// # Errors
///
/// [`AppError::Unavailable`], [`AppError::Internal`].
pub async fn count_bodies_due(app: &App) -> Result<u64, AppError> {
    let mut due = 0;
    for org_id in app.db.orgs_with_old_bodies(BODIES_KEPT_FOR_DAYS, Deadline::of_request()).await? {
        due += app.db.count_old_bodies(org_id, BODIES_KEPT_FOR_DAYS, Deadline::of_request()).await?;
    }
    Ok(due)
}

async fn forget_of(app: &App, org_id: OrgId, stop: &CancellationToken) -> Result<u64, AppError> {
    let mut emptied = 0;
    while !stop.is_cancelled() {
        failpoint!("forget_bodies/before_update");
        let count =
            app.db.forget_bodies(org_id, BODIES_KEPT_FOR_DAYS, i64::from(BATCH), Deadline::of_request()).await?;
        failpoint!("forget_bodies/emptied");
        emptied += count;
        if count < u64::from(BATCH) {
            break;
        }
        tokio::select! {
            () = tokio::time::sleep(PAUSE) => {}
            () = stop.cancelled() => {}
        }
    }
    Ok(emptied)
}
