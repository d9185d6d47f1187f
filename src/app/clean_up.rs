//! Removes completed keys past their organisation's keeping time, slowly.

use crate::app::App;
use crate::app::error::AppError;
use crate::db::deadline::Deadline;
use crate::domain::ids::OrgId;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Keys removed by one statement. Measured together with [`PAUSE`]: the p99 of new orders stays where it was.
pub const DEFAULT_BATCH: u32 = 5_000;
/// A batch that takes too long is halved down to about this.
const SMALLEST_BATCH: u32 = 50;
/// Between two batches, so that vacuum and the requests keep up.
pub const PAUSE: Duration = Duration::from_millis(250);

/// What a clean-up did, or would do, for one organisation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cleaned {
    /// The organisation.
    pub org_id: OrgId,
    /// Keys.
    pub keys: u64,
}

/// Removes what is due, one organisation after the other, until nothing is left or `stop` is cancelled. Organisations
/// that keep keys for ever have nothing due. Safe to run on several processes at once.
///
/// # Errors
///
/// [`AppError::Unavailable`], [`AppError::Internal`]; what was removed before stays removed.
pub async fn clean_up(app: &App, batch: u32, stop: &CancellationToken) -> Result<Vec<Cleaned>, AppError> {
    let mut cleaned = Vec::new();
    let mut failed = None;
    for org_id in app.db.orgs_with_expired_keys(Deadline::of_request()).await? {
        match clean_org(app, org_id, batch, stop).await {
            Ok(keys) => cleaned.push(Cleaned { org_id, keys }),
            // The other organisations are cleaned all the same.
            Err(error) => {
                tracing::warn!(%error, org_id = org_id.0, "clean-up of an organisation stopped");
                failed = Some(error);
            }
        }
    }
    failed.map_or(Ok(cleaned), Err)
}

/// What [`clean_up`] would remove now.
///
/// # Errors
///
/// [`AppError::Unavailable`], [`AppError::Internal`].
pub async fn count_due(app: &App) -> Result<Vec<Cleaned>, AppError> {
    let mut due = Vec::new();
    for org_id in app.db.orgs_with_expired_keys(Deadline::of_request()).await? {
        let keys = app.db.count_expired_keys(org_id, Deadline::of_request()).await?;
        due.push(Cleaned { org_id, keys: u64::try_from(keys).unwrap_or_default() });
    }
    Ok(due)
}

async fn clean_org(app: &App, org_id: OrgId, batch: u32, stop: &CancellationToken) -> Result<u64, AppError> {
    let (mut removed, mut batch) = (0, batch);
    while !stop.is_cancelled() {
        failpoint!("clean_up/before_delete");
        let count = match app.db.delete_expired_keys(org_id, i64::from(batch), Deadline::of_request()).await {
            Ok(count) => count,
            // Too much for the time that a statement has: large answers, a slow disk.
            Err(error) if error.is_timeout() && batch > SMALLEST_BATCH => {
                batch /= 2;
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        failpoint!("clean_up/deleted");
        app.metrics.keys_removed(count);
        removed += count;
        if count < u64::from(batch) {
            break;
        }
        tokio::select! {
            () = tokio::time::sleep(PAUSE) => {}
            () = stop.cancelled() => {}
        }
    }
    Ok(removed)
}
