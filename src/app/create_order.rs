//! Creates an order once, and takes its payment once.

use crate::app::App;
use crate::app::answer::{Answer, AnswerKind};
use crate::app::command::{Command, Keyed};
use crate::app::error::AppError;
use crate::app::payment::{Method, Payment};
use crate::app::place::place;
use crate::db::deadline::Deadline;
use crate::domain::claim::Mine;
use crate::domain::masked::IN_ORDER;
use crate::domain::validate::{Valid, validate};
use std::sync::Arc;

/// Creates the order or finds the answer that its key already has.
///
/// The caller must run this detached from its connection ([`App::detached`]), so that a client's reset changes nothing.
///
/// # Errors
///
/// [`AppError`]. Only [`AppError::OutcomeUnknown`] leaves it open whether the order exists.
pub async fn create_order(app: &App, command: &Arc<Command>, deadline: Deadline) -> Result<Answer, AppError> {
    let result = run(app, command, deadline).await;
    app.metrics.claim(outcome(&result));
    if result.is_ok() {
        app.seen.remember(command.org.org_id, &command.key);
    }
    result
}

async fn run(app: &App, command: &Arc<Command>, deadline: Deadline) -> Result<Answer, AppError> {
    let body = command.json()?;
    let validated = validate(&body);
    let keyed = command.keyed(body, IN_ORDER);
    let valid = match validated {
        Ok(valid) => valid,
        Err(errors) => return Box::pin(keyed.despite(app, AppError::Invalid(errors), deadline)).await,
    };
    // A look-up before the claim decides nothing. It spares replays what only a new order needs: a place in the limit of
    // new claims, a gateway; and a claim in vain.
    let limited = command.org.new_claims_per_second.is_some();
    if (limited || valid.method.is_some() || app.seen.contains(command.org.org_id, &command.key))
        && let Some(found) = keyed.find(app, deadline).await?
    {
        return keyed.answer(app, found, Mine::default()).await;
    }
    begin(app, &keyed, valid, deadline).await
}

async fn begin(app: &App, keyed: &Keyed, valid: Valid, deadline: Deadline) -> Result<Answer, AppError> {
    let org = &keyed.command.org;
    let payment = match &valid.method {
        None => None,
        Some(method) => {
            let method = Method { text: method, pointer: "/payment" };
            // On the heap, so that an order without payment does not carry its size about.
            Some(Box::pin(Payment::prepare(app, org.org_id, method, deadline)).await?)
        }
    };
    if let Some(per_second) = org.new_claims_per_second {
        let taken = app.limits.take(org.org_id, per_second);
        taken.map_err(|retry_after_seconds| AppError::RateLimited { retry_after_seconds })?;
    }
    place(app, keyed, valid.request, payment, deadline).await
}

/// The name of a result in the metrics.
fn outcome(result: &Result<Answer, AppError>) -> &'static str {
    match result {
        Ok(answer) => match answer.kind {
            AnswerKind::First if answer.reply.status == 402 => "declined",
            AnswerKind::First => "created",
            AnswerKind::Replay { .. } => "replayed",
            AnswerKind::Mismatch { .. } => "mismatch_returned",
            AnswerKind::Accepted { .. } => "accepted",
        },
        Err(AppError::InFlight { .. }) => "in_flight",
        Err(AppError::ReferenceTaken { .. }) => "reference_taken",
        Err(AppError::KeyReused { .. }) => "key_reused",
        Err(AppError::RateLimited { .. }) => "rate_limited",
        Err(AppError::Unavailable) => "unavailable",
        Err(AppError::OutcomeUnknown) => "outcome_unknown",
        Err(AppError::Internal) => "internal_error",
        Err(_) => "invalid",
    }
}
