//! Places an order: claims its key, or answers from whoever has it.
//!
//! Without a payment, claim, order and answer are one statement; there is no moment at which one exists without the others,
//! so a crash at any point leaves nothing to recover. With a payment, claim, order, attempt and leased charge are one
//! statement, and only then is the gateway called.

use crate::app::App;
use crate::app::answer::Answer;
use crate::app::charge::{FirstCharge, carry_out};
use crate::app::claiming::{Claimed, Claiming, Tried, begun};
use crate::app::command::Keyed;
use crate::app::error::AppError;
use crate::app::payment::Payment;
use crate::db::deadline::Deadline;
use crate::db::idempotency_keys::{NewClaim, Won};
use crate::domain::claim::{Decision, Mine};
use crate::domain::ids::OrderId;
use crate::domain::order::Order;
use crate::domain::order_request::OrderRequest;
use crate::domain::reply;
use std::sync::Arc;
use time::OffsetDateTime;
use uuid::Uuid;

/// Claims the key and places the order, or answers from whoever has the key.
pub(super) async fn place(
    app: &App,
    keyed: &Keyed,
    request: OrderRequest,
    payment: Option<Payment>,
    deadline: Deadline,
) -> Result<Answer, AppError> {
    let org_id = keyed.command.org.org_id;
    let order = Order::new(org_id, OrderId(Uuid::now_v7()), request, app.clock.now());
    match payment {
        None => place_unpaid(app, keyed, order, deadline).await,
        // On the heap, so that an order without payment does not carry its size about.
        Some(payment) => Box::pin(place_paid(app, keyed, order, payment, deadline)).await,
    }
}

async fn place_unpaid(app: &App, keyed: &Keyed, order: Order, deadline: Deadline) -> Result<Answer, AppError> {
    // Shared with the batch that it goes into, and the answer taken from it once it is won: thousands may wait at once.
    let claim = Arc::new(NewClaim {
        key: keyed.command.key.clone(),
        fingerprint: keyed.fingerprint,
        kept_for_seconds: keyed.command.org.keys_kept_for_seconds,
        reply: reply::created(&order),
        order,
        canonical_request: Arc::clone(&keyed.canonical),
    });
    let claiming = claiming(app, keyed, &claim.order, None, deadline);
    let claimed = claiming.run(async || app.db.claim_with_order(Arc::clone(&claim), deadline).await.map(tried)).await?;
    match claimed {
        Claimed::Won(won) => {
            // Nobody else holds it any more, unless a try of it is still on its way.
            let reply = Arc::try_unwrap(claim).map_or_else(|claim| claim.reply.clone(), |claim| claim.reply);
            Ok(Answer::first(reply, won.expires_at))
        }
        Claimed::Own(_) => Err(AppError::Internal),
        Claimed::Answered(answer) => Ok(answer),
    }
}

async fn place_paid(
    app: &App,
    keyed: &Keyed,
    order: Order,
    payment: Payment,
    deadline: Deadline,
) -> Result<Answer, AppError> {
    // Shared with the batch that it goes into.
    let new = Arc::new(payment.claim(app, keyed, order));
    let order = &new.order;
    let claiming = claiming(app, keyed, order, Some(payment.lease.token), deadline);
    let claimed = claiming.run(async || app.db.claim_with_charge(Arc::clone(&new), deadline).await.map(tried)).await?;
    let expires_at = match claimed {
        Claimed::Won(won) => won.expires_at,
        Claimed::Own(found) => found.expires_at,
        Claimed::Answered(answer) => return Ok(answer),
    };
    let charge = payment.into_charge(keyed, (order.order_id, 1), order.amount, order.request.currency.clone());
    charged(app, keyed, charge, expires_at).await
}

fn claiming<'a>(
    app: &'a App,
    keyed: &'a Keyed,
    order: &'a Order,
    lease_token: Option<Uuid>,
    deadline: Deadline,
) -> Claiming<'a> {
    let minted = Mine { order_id: Some(order.order_id), lease_token };
    Claiming { app, keyed, minted, reference: order.request.order_reference.as_deref(), deadline }
}

fn tried(won: Option<Won>) -> Tried<Won> {
    won.map_or(Tried::Taken, Tried::Won)
}

/// Carries a charge out whose lease this request holds, and answers with what came of it.
pub(super) async fn charged(
    app: &App,
    keyed: &Keyed,
    charge: FirstCharge,
    expires_at: Option<OffsetDateTime>,
) -> Result<Answer, AppError> {
    let minted = Mine { order_id: Some(charge.id.order_id), lease_token: None };
    if let Some(reply) = carry_out(app, charge).await.map_err(begun)?.reply {
        return Ok(Answer::first(reply, expires_at));
    }
    // Not settled; or by somebody else, for instance a notification that was faster. Then the claim has the answer, and this
    // request is still the one that did the work.
    let found = keyed.find(app, Deadline::of_request()).await.map_err(begun)?.ok_or(AppError::OutcomeUnknown)?;
    match keyed.decide(&found, minted) {
        // Due already: the next retry takes it up.
        Decision::TakeOver { .. } => keyed.unsettled(app, &found, 1).await,
        // Somebody else works on it by now. Not 409, which says of a request that it has done nothing.
        Decision::InProgress { retry_after_seconds } => keyed.unsettled(app, &found, retry_after_seconds).await,
        _ => keyed.answer(app, found, minted).await.map_err(begun),
    }
}
