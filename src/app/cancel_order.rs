//! Records that an order is to be cancelled, and carries out what can be carried out at once.

use crate::app::App;
use crate::app::answer::Answer;
use crate::app::charge::CHARGE_TIME;
use crate::app::claiming::{Claimed, Claiming, Tried};
use crate::app::command::{Command, Keyed};
use crate::app::error::AppError;
use crate::app::refund::refund_all;
use crate::app::steps::stop_steps;
use crate::db::claims::Waiting;
use crate::db::deadline::Deadline;
use crate::db::error::DbError;
use crate::db::orders::LockedOrder;
use crate::db::tx::Tx;
use crate::domain::claim::Mine;
use crate::domain::ids::{OrderId, OrgId};
use crate::domain::order::OrderStatus;
use crate::domain::reply;
use crate::domain::validate::validate_cancel;
use serde_json::json;
use std::sync::Arc;

/// Cancels an order, once for each key. An attempt that is not settled is looked up and ended, never sent again; money
/// that was taken is given back by an operation of its own. The answer is the order as it stands once that is recorded.
///
/// # Errors
///
/// [`AppError::NotFound`], and those of a keyed command.
pub async fn cancel_order(
    app: &App,
    command: &Arc<Command>,
    order_id: OrderId,
    deadline: Deadline,
) -> Result<Answer, AppError> {
    let body = command.json()?;
    let validated = validate_cancel(&body);
    let keyed = command.keyed(body, &[]);
    if let Err(errors) = validated {
        return keyed.despite(app, AppError::Invalid(errors), deadline).await;
    }
    let claiming = Claiming { app, keyed: &keyed, minted: Mine::default(), reference: None, deadline };
    match claiming.run(async || record(app, &keyed, order_id, deadline).await).await? {
        Claimed::Won(answer) | Claimed::Answered(answer) => Ok(answer),
        Claimed::Own(_) => Err(AppError::Internal),
    }
}

async fn record(app: &App, keyed: &Keyed, order_id: OrderId, deadline: Deadline) -> Result<Tried<Answer>, DbError> {
    let command = &keyed.command;
    let org_id = command.org.org_id;
    let tx = app.db.begin(deadline).await?;
    let Some(order) = tx.lock_order(org_id, order_id).await? else {
        tx.rollback().await;
        return Ok(Tried::Refused(AppError::NotFound));
    };
    let Some(won) = tx.claim(org_id, order_id, None, &keyed.claim()).await? else {
        tx.rollback().await;
        return Ok(Tried::Taken);
    };
    if order.status != OrderStatus::Cancelled {
        cancel(&tx, org_id, order_id, &order).await?;
        let after = tx.order(org_id, order_id).await?.map_or(order.status, |after| after.status);
        let (from, to) = (order.status.as_str(), after.as_str());
        let details = json!({ "from": from, "order": { "from": from, "to": to } });
        tx.journal((org_id, order_id), &command.asked_by, "cancel_requested", &details).await?;
    }
    let shown = tx.order(org_id, order_id).await?.ok_or(DbError::Decode { column: "order_id" })?;
    let reply = reply::shown(&shown, 200);
    let of = Waiting { key: command.key.as_str(), order_id, attempt: None };
    tx.complete_claim(org_id, of, &reply).await?;
    failpoint!("cancel/before_commit");
    tx.commit().await?;
    failpoint!("cancel/committed");
    Ok(Tried::Won(Answer::first(reply, won.expires_at)))
}

async fn cancel(tx: &Tx, org_id: OrgId, order_id: OrderId, order: &LockedOrder) -> Result<(), DbError> {
    tx.request_cancel(org_id, order_id).await?;
    if tx.has_open_charge(org_id, order_id).await? {
        // Recovery looks it up and ends it; the order is cancelled when that is known. Asking for it twice makes nothing
        // quicker, and would only use up questions.
        if order.cancel_requested {
            return Ok(());
        }
        tx.hurry_charge(org_id, order_id, CHARGE_TIME).await?;
        return tx.set_order_status(org_id, order_id, order, order.status).await;
    }
    refund_all(tx, org_id, order_id).await?;
    stop_steps(tx, org_id, order_id).await?;
    tx.set_order_status(org_id, order_id, order, OrderStatus::Cancelled).await
}
