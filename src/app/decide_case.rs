//! A person settles what the machine cannot know.

use crate::app::App;
use crate::app::answer::Answer;
use crate::app::carry_out_decision::carry_out;
use crate::app::claiming::{Claimed, Claiming, Tried};
use crate::app::command::{Command, Keyed};
use crate::app::error::AppError;
use crate::db::cases::Resolution;
use crate::db::deadline::Deadline;
use crate::db::error::DbError;
use crate::db::operations::OperationId;
use crate::domain::case::{CaseState, possible};
use crate::domain::case_view;
use crate::domain::claim::Mine;
use crate::domain::fields::FieldError;
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
    let asked = validate_decision(&body).map_err(AppError::Invalid)?;
    let keyed = command.keyed(body, &[]);
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
    let order = tx.lock_order(org_id, case.order_id).await?.ok_or(DbError::Decode { column: "order_id" })?;
    let case = tx.case(org_id, case_id).await?.ok_or(DbError::Decode { column: "case_id" })?;
    let Some(won) = tx.claim(org_id, case.order_id, None, &keyed.claim()).await? else {
        tx.rollback().await;
        return Ok(Tried::Taken);
    };
    let id = OperationId { org_id, order_id: case.order_id, kind: case.kind.clone(), fact: case.fact.clone() };
    let operation = tx.lock_operation(&id).await?.ok_or(DbError::Decode { column: "fact" })?;
    let refused = if case.state == CaseState::Resolved {
        Some(AppError::CaseResolved)
    } else if possible(asked.decision, &case, operation.facts.state) {
        None
    } else {
        let detail = "is not possible for what this case is about, as it stands now".to_owned();
        Some(AppError::Invalid(vec![FieldError { pointer: "/decision".to_owned(), detail }]))
    };
    if let Some(error) = refused {
        tx.rollback().await;
        return Ok(Tried::Refused(error));
    }
    let (decided_by, proof) = (command.asked_by.as_str(), asked.proof.as_deref());
    let resolution = Resolution { decision: asked.decision.as_str(), decided_by, reason: &asked.reason, proof };
    tx.resolve_case(org_id, case_id, &resolution).await?;
    let details = json!({
        "case_id": case_id, "decision": asked.decision.as_str(), "reason": asked.reason, "proof": asked.proof,
    });
    tx.journal((org_id, case.order_id), decided_by, "case_decided", &details).await?;
    carry_out(app, &tx, keyed, &id, (&order, &operation), asked).await?;
    let decided = tx.case(org_id, case_id).await?.ok_or(DbError::Decode { column: "case_id" })?;
    let headers = ReplyHeaders { location: Some(case_view::location(case_id)), ..ReplyHeaders::default() };
    let reply = StoredReply { status: 200, headers, body: case_view::body(&decided) };
    tx.complete_claim(org_id, command.key.as_str(), &reply).await?;
    tx.commit().await?;
    Ok(Tried::Won(Answer::first(reply, won.expires_at)))
}
