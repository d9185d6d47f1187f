//! What a request gets whose key is taken: the answer of whoever took it, or what is known of the work it waits for.

use crate::app::App;
use crate::app::charge::recover::recover_charge;
use crate::app::claiming::begun;
use crate::app::command::Keyed;
use crate::app::error::AppError;
use crate::db::deadline::Deadline;
use crate::db::operations::OperationId;
use crate::domain::claim::{Decision, FoundClaim, Mine, decide, replay_status};
use crate::domain::differing::differing;
use crate::domain::json;
use crate::domain::reply::{self, StoredReply};
use time::OffsetDateTime;

/// The answer to give.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// What it is.
    pub kind: AnswerKind,
    /// Status, headers and bytes.
    pub reply: StoredReply,
    /// When the key may be removed; `None` is never.
    pub expires_at: Option<OffsetDateTime>,
}

/// What an answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerKind {
    /// This request did the work.
    First,
    /// An earlier request did it; give its answer with this status.
    Replay {
        /// HTTP status, by the organisation's policy.
        status: u16,
    },
    /// The key belongs to another request, and the organisation wants that one's answer returned.
    Mismatch {
        /// HTTP status, by the organisation's policy.
        status: u16,
    },
    /// The work is recorded and not settled. Never stored.
    Accepted {
        /// When it makes sense to ask again.
        retry_after_seconds: u64,
    },
}

impl Answer {
    /// The answer of the request that did the work.
    #[must_use]
    pub fn first(reply: StoredReply, expires_at: Option<OffsetDateTime>) -> Self {
        Self { kind: AnswerKind::First, reply, expires_at }
    }
}

impl Keyed {
    /// The claim under this key.
    ///
    /// # Errors
    ///
    /// [`AppError::Unavailable`], [`AppError::Internal`].
    pub async fn find(&self, app: &App, deadline: Deadline) -> Result<Option<FoundClaim>, AppError> {
        Ok(app.db.find_claim(self.command.org.org_id, &self.command.key, deadline).await?)
    }

    /// What is to be done about a claim that was found.
    #[must_use]
    pub fn decide(&self, found: &FoundClaim, minted: Mine) -> Decision {
        decide(found, &self.fingerprint, minted, self.command.org.on_mismatch)
    }

    /// The answer from a claim that was found, or from the work that it waits for. A claim of this very try whose work is
    /// not done is [`AppError::OutcomeUnknown`] here: only the flow that holds its lease goes on with it.
    ///
    /// # Errors
    ///
    /// [`AppError`].
    pub async fn answer(&self, app: &App, found: FoundClaim, minted: Mine) -> Result<Answer, AppError> {
        match self.decide(&found, minted) {
            // Rare and large: on the heap, so that no other answer carries its size about.
            Decision::TakeOver { attempt } => Box::pin(self.take_over(app, found, attempt)).await,
            decision => self.answer_as(app, found, decision).await,
        }
    }

    /// Goes on with work whose holder is gone, or whose next look is due; then the claim tells what came of it.
    async fn take_over(&self, app: &App, found: FoundClaim, attempt: i32) -> Result<Answer, AppError> {
        let id = OperationId::charge(self.command.org.org_id, found.order_id, attempt);
        recover_charge(app, &id, "request", self.command.request_id).await.map_err(begun)?;
        let again = self.find(app, Deadline::of_request()).await.map_err(begun)?.unwrap_or(found);
        match self.decide(&again, Mine::default()) {
            // Due again already: the next retry takes it up.
            Decision::TakeOver { .. } => self.unsettled(app, &again, 1).await,
            decision => self.answer_as(app, again, decision).await,
        }
    }

    async fn answer_as(&self, app: &App, found: FoundClaim, decision: Decision) -> Result<Answer, AppError> {
        match decision {
            Decision::Own | Decision::Replay => planted!(
                "replay_renders_anew",
                self.unsettled(app, &found, 1)
                    .await
                    .map(|anew| Answer { kind: AnswerKind::Replay { status: 200 }, ..anew }),
                self.stored(decision, found).ok_or(AppError::Internal)
            ),
            Decision::ReturnOriginal => match self.differing(app, &found).await? {
                // Of another method, path or query the original is no answer, whatever the policy.
                None => Err(AppError::KeyReused { differing: Vec::new() }),
                Some(_) => self.stored(decision, found).ok_or(AppError::Internal),
            },
            Decision::Mismatch => {
                Err(AppError::KeyReused { differing: self.differing(app, &found).await?.unwrap_or_default() })
            }
            Decision::InProgress { retry_after_seconds } => {
                Err(AppError::InFlight { order_id: found.order_id, retry_after_seconds })
            }
            Decision::Unsettled { retry_after_seconds } => self.unsettled(app, &found, retry_after_seconds).await,
            Decision::OtherVersion => Err(AppError::Unavailable),
            Decision::OwnWork | Decision::TakeOver { .. } => Err(AppError::OutcomeUnknown),
        }
    }

    fn stored(&self, decision: Decision, found: FoundClaim) -> Option<Answer> {
        let reply = found.reply?;
        let status = replay_status(reply.status, &self.command.org);
        let kind = match decision {
            Decision::Own => AnswerKind::First,
            Decision::ReturnOriginal => AnswerKind::Mismatch { status },
            _ => AnswerKind::Replay { status },
        };
        Some(Answer { kind, reply, expires_at: found.expires_at })
    }

    /// 202: the order as it stands. That it could not be read does not mean that nothing was done.
    pub(super) async fn unsettled(
        &self,
        app: &App,
        found: &FoundClaim,
        retry_after_seconds: u64,
    ) -> Result<Answer, AppError> {
        let order = app.db.get_order(self.command.org.org_id, found.order_id, Deadline::of_request()).await;
        let order = order.map_err(|error| begun(AppError::reading(&error)))?.ok_or(AppError::Internal)?;
        let kind = AnswerKind::Accepted { retry_after_seconds };
        Ok(Answer { kind, reply: reply::shown(&order, 202), expires_at: found.expires_at })
    }

    /// Where the body differs from that of the key's own request; `None` when method, path or query do.
    async fn differing(&self, app: &App, found: &FoundClaim) -> Result<Option<Vec<String>>, AppError> {
        let command = &self.command;
        let first = app.db.request_of(command.org.org_id, &command.key, Deadline::of_request()).await?;
        let Some(first) = first.filter(|first| command.fingerprint_of(first) == found.fingerprint) else {
            return Ok(None);
        };
        let bodies = json::parse(first.as_bytes()).ok().zip(json::parse(self.canonical.as_bytes()).ok());
        Ok(bodies.map(|(first, second)| differing(&first, &second)))
    }
}
