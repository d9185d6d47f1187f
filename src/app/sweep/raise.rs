//! Puts a contradiction before a person, once.

use crate::app::App;
use crate::app::error::AppError;
use crate::app::sweep::report::Found;
use crate::db::deadline::Deadline;
use crate::db::operations::OperationId;
use crate::domain::case::NewCase;
use serde_json::json;
use uuid::Uuid;

/// Opens a case about an effect, unless one is open, or a person has decided about the same evidence before.
///
/// # Errors
///
/// [`AppError`].
pub(super) async fn raise(app: &App, id: &OperationId, case: &NewCase) -> Result<Found, AppError> {
    let tx = app.db.begin(Deadline::of_request()).await?;
    let Some(order) = tx.lock_order(id.org_id, id.order_id).await? else {
        tx.rollback().await;
        return Err(AppError::Internal);
    };
    if tx.knows_case(id, case).await? {
        tx.rollback().await;
        return Ok(Found::CaseKnown);
    }
    tx.open_case(id, Uuid::now_v7(), case).await?;
    let status = order.status.as_str();
    let details = json!({
        "kind": id.kind, "fact": id.fact, "reason": case.reason, "theirs": case.evidence.get("theirs"),
        "order": { "from": status, "to": status },
    });
    tx.journal((id.org_id, id.order_id), "sweep", "contradiction_found", &details).await?;
    tx.set_order_status(id.org_id, id.order_id, &order, order.status).await?;
    failpoint!("sweep/raise/before_commit");
    tx.commit().await?;
    failpoint!("sweep/raise/committed");
    Ok(Found::CaseOpened)
}
