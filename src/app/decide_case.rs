//! A person settles what the machine cannot know.

use crate::app::App;
use crate::app::answer::Answer;
use crate::app::carry_out_decision::carry_out;
use crate::app::claiming::{Claimed, Claiming, Tried};
use crate::app::command::{Command, Keyed};
use crate::app::error::AppError;
use crate::db::cases::Resolution;
use crate::db::claims::Waiting;
use crate::db::deadline::Deadline;
use crate::db::error::DbError;
use crate::db::operations::OperationId;
use crate::db::tx::Tx;
use crate::domain::case::{Case, CaseState, Decision, possible};
use crate::domain::case_view;
use crate::domain::claim::Mine;
use crate::domain::fields::FieldError;
use crate::domain::operation::OperationState;
use crate::domain::reply::{ReplyHeaders, StoredReply};
use crate::domain::validate::{AskedDecision, validate_decision};
use serde_json::json;
use std::sync::Arc;
use uuid::Uuid;

/// Decides a case, once for each key, and carries the decision out through the same ledger, in one transaction.
///
/// # Errors
///
/// [`AppError::CaseResolved`] under another key than the deciding one's; [`AppError::Invalid`] for a decision that does not
/// fit what the case is about; [`AppError::NotFound`]; and those of a keyed command.
pub async fn decide_case(
    app: &App,
    command: &Arc<Command>,
    case_id: Uuid,
    deadline: Deadline,
) -> Result<Answer, AppError> {
    let body = command.json()?;
    let validated = validate_decision(&body);
    let keyed = command.keyed(body, &[]);
    let asked = match validated {
        Ok(asked) => asked,
        Err(errors) => return keyed.despite(app, AppError::Invalid(errors), deadline).await,
    };
    let claiming = Claiming { app, keyed: &keyed, minted: Mine::default(), reference: None, deadline };
    match claiming.run(async || decide(app, &keyed, case_id, &asked, deadline).await).await? {
        Claimed::Won(answer) | Claimed::Answered(answer) => Ok(answer),
        Claimed::Own(_) => Err(AppError::Internal),
    }
}

async fn decide(
    app: &App,
    keyed: &Keyed,
    case_id: Uuid,
    asked: &AskedDecision,
    deadline: Deadline,
) -> Result<Tried<Answer>, DbError> {
    let command = &keyed.command;
    let org_id = command.org.org_id;
    let tx = app.db.begin(deadline).await?;
    // Only for the order that it is about: that one is locked before anything else of it, as everywhere.
    let Some(case) = tx.case(org_id, case_id).await? else {
        tx.rollback().await;
        return Ok(Tried::Refused(AppError::NotFound));
    };
    // A notification may be about an order that never came.
    let order = tx.lock_order(org_id, case.order_id).await?;
    let case = tx.case(org_id, case_id).await?.ok_or(DbError::Decode { column: "case_id" })?;
    let Some(won) = tx.claim(org_id, case.order_id, None, &keyed.claim()).await? else {
        tx.rollback().await;
        return Ok(Tried::Taken);
    };
    let id = OperationId { org_id, order_id: case.order_id, kind: case.kind.clone(), fact: case.fact.clone() };
    // Money that the gateway has for the order, and that nobody here asked for, is about no effect of ours.
    let operation = tx.lock_operation(&id).await?;
    let state = operation.as_ref().map(|operation| operation.facts.state);
    if let Some(error) = refused(&tx, &id, &case, state, asked).await? {
        tx.rollback().await;
        return Ok(Tried::Refused(error));
    }
    let (decided_by, proof) = (command.asked_by.as_str(), asked.proof.as_deref());
    let resolution = Resolution { decision: asked.decision.as_str(), decided_by, reason: &asked.reason, proof };
    if !tx.resolve_case(org_id, case_id, &resolution).await? {
        return Err(DbError::LostRace);
    }
    let details = json!({
        "case_id": case_id, "kind": case.kind, "fact": case.fact, "decision": asked.decision.as_str(),
        "reason": asked.reason, "proof": asked.proof, "from": state.map(OperationState::as_str),
    });
    if let Some(order) = &order {
        tx.journal((org_id, case.order_id), decided_by, "case_decided", &details).await?;
        match &operation {
            Some(operation) => carry_out(app, &tx, keyed, &id, (order, operation), asked).await?,
            None => tx.set_order_status(org_id, case.order_id, order, order.status).await?,
        }
    }
    let decided = tx.case(org_id, case_id).await?.ok_or(DbError::Decode { column: "case_id" })?;
    let headers = ReplyHeaders { location: Some(case_view::location(case_id)), ..ReplyHeaders::default() };
    let reply = StoredReply { status: 200, headers, body: case_view::body(&decided) };
    let of = Waiting { key: command.key.as_str(), order_id: case.order_id, attempt: None };
    tx.complete_claim(org_id, of, &reply).await?;
    failpoint!("decide/before_commit");
    tx.commit().await?;
    failpoint!("decide/committed");
    Ok(Tried::Won(Answer::first(reply, won.expires_at)))
}

/// Why a decision cannot be carried out, if it cannot.
async fn refused(
    tx: &Tx,
    id: &OperationId,
    case: &Case,
    state: Option<OperationState>,
    asked: &AskedDecision,
) -> Result<Option<AppError>, DbError> {
    let invalid = |pointer: &str, detail: &str| {
        AppError::Invalid(vec![FieldError { pointer: pointer.to_owned(), detail: detail.to_owned() }])
    };
    if case.state == CaseState::Resolved {
        return Ok(Some(AppError::CaseResolved));
    }
    if !state.map_or(asked.decision == Decision::Dismiss, |state| possible(asked.decision, case, state)) {
        return Ok(Some(invalid("/decision", "is not possible for what this case is about, as it stands now")));
    }
    let Some((attempt, reference)) = id.attempt().zip(asked.reference()) else {
        return Ok(None);
    };
    let known = tx.lock_payment(id.org_id, id.order_id, attempt).await?.and_then(|(payment, _)| payment.reference);
    let other = known.is_some_and(|known| known != reference)
        || tx.known_elsewhere((id.org_id, id.order_id, attempt), reference).await?.is_some();
    Ok(other.then(|| invalid("/proof", "names a payment that is known to be another one")))
}
