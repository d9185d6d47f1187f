//! Records what is known, however the database stumbles: what a gateway or a partner has told must not be lost because a
//! server restarts or a row is locked for a moment.

use crate::app::error::AppError;
use crate::db::error::DbError;
use crate::domain::ids::OrderId;
use std::time::Duration;
use tokio::time::sleep;

const ATTEMPTS: u32 = 5;
const BETWEEN: Duration = Duration::from_millis(200);

/// Runs one transaction until it is committed; each try has a deadline of its own. Repeating one whose commit was not heard of
/// must be harmless, as it is where state and token are compared.
///
/// # Errors
///
/// [`AppError::OutcomeUnknown`] when it cannot be recorded now: the lease ends, and recovery asks again.
pub(super) async fn persist<T, F>(order_id: OrderId, write: impl Fn() -> F) -> Result<T, AppError>
where
    F: Future<Output = Result<T, DbError>>,
{
    for attempt in 1..=ATTEMPTS {
        match write().await {
            Ok(written) => return Ok(written),
            Err(error) if error.is_temporary() || error.is_conflict() => {
                tracing::warn!(%error, %order_id, attempt, "what is known was not recorded, trying again");
                sleep(BETWEEN * attempt).await;
            }
            Err(error) => {
                tracing::error!(%error, %order_id, "what is known cannot be recorded");
                return Err(AppError::OutcomeUnknown);
            }
        }
    }
    Err(AppError::OutcomeUnknown)
}
