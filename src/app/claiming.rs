//! Claims a key with whatever is committed beside the claim, however often an answer of the database is lost.

use crate::app::App;
use crate::app::answer::Answer;
use crate::app::command::Keyed;
use crate::app::error::AppError;
use crate::db::claims::CommandClaim;
use crate::db::deadline::Deadline;
use crate::db::error::DbError;
use crate::domain::claim::{Decision, FoundClaim, Mine};

/// A claim is tried this often: after a deadlock, a lost answer, or a clean-up that removed the key in between.
const ATTEMPTS: usize = 4;

/// A claim on its way.
pub(super) struct Claiming<'a> {
    pub app: &'a App,
    pub keyed: &'a Keyed,
    /// By which a claim of ours is known whose answer was lost.
    pub minted: Mine,
    /// The order reference that must be free, too.
    pub reference: Option<&'a str>,
    pub deadline: Deadline,
}

/// What one try came to.
pub(super) enum Tried<T> {
    /// It is committed.
    Won(T),
    /// The key (or the order's reference) is taken; nothing was written.
    Taken,
    /// The command cannot be carried out; nothing was written.
    Refused(AppError),
}

/// What came of it.
pub(super) enum Claimed<T> {
    /// It is committed.
    Won(T),
    /// It was committed by a try whose answer was lost, and the lease of its work is ours.
    Own(FoundClaim),
    /// The key is taken; this is its answer.
    Answered(Answer),
}

impl Claiming<'_> {
    /// Tries until it is known who has the key.
    ///
    /// # Errors
    ///
    /// Those of the command; [`AppError::OutcomeUnknown`] only when a try was sent and nothing could be learned of it.
    pub async fn run<T, F>(&self, attempt: impl Fn() -> F) -> Result<Claimed<T>, AppError>
    where
        F: Future<Output = Result<Tried<T>, DbError>>,
    {
        // Whether a try was sent whose answer never came. Sending it again settles that: its unique index waits for the
        // old connection's transaction, and the row, if it is ours, carries what we minted.
        let mut unsure = false;
        for _ in 0..ATTEMPTS {
            // With no time left to hear the answer nothing more is sent.
            if self.deadline.left().is_zero() {
                break;
            }
            let refused = match attempt().await {
                Ok(Tried::Won(won)) => return Ok(Claimed::Won(won)),
                Ok(Tried::Taken) => None,
                // Whoever has the key comes first: what is in the way may be this very command's own work.
                Ok(Tried::Refused(error)) => Some(error),
                Err(error) if error.is_unique_violation() => None,
                Err(error) if error.is_conflict() => continue,
                Err(DbError::Lost { reason }) => {
                    let key = self.keyed.command.key.log_hash();
                    tracing::warn!(reason, key, "claim without an answer, asking again");
                    unsure = true;
                    continue;
                }
                Err(error) => return Err(failed(AppError::reading(&error), unsure)),
            };
            if let Some(claimed) = Box::pin(self.ask_holder()).await.map_err(|error| failed(error, unsure))? {
                return Ok(claimed);
            }
            if let Some(error) = refused {
                return Err(error);
            }
        }
        Err(failed(AppError::Unavailable, unsure))
    }

    /// From whoever has the key or the order's reference; `None` when nobody has either any more.
    async fn ask_holder<T>(&self) -> Result<Option<Claimed<T>>, AppError> {
        if let Some(found) = self.keyed.find(self.app, self.deadline).await? {
            if self.keyed.decide(&found, self.minted) == Decision::OwnWork {
                return Ok(Some(Claimed::Own(found)));
            }
            return self.keyed.answer(self.app, found, self.minted).await.map(|answer| Some(Claimed::Answered(answer)));
        }
        let Some(reference) = self.reference else {
            return Ok(None);
        };
        let org_id = self.keyed.command.org.org_id;
        match self.app.db.find_order_by_reference(org_id, reference, self.deadline).await? {
            Some(order_id) => Err(AppError::ReferenceTaken { order_id }),
            None => Ok(None),
        }
    }
}

/// What a failure means once it is certain that the work has begun: that it was not done can no longer be said.
pub(super) fn begun(error: AppError) -> AppError {
    match error {
        AppError::Unavailable => AppError::OutcomeUnknown,
        other => other,
    }
}

impl Keyed {
    /// What today's rules refuse may have been accepted by earlier ones: its retry still gets its answer.
    ///
    /// # Errors
    ///
    /// `refusal`, unless this very request has the key.
    pub(super) async fn despite(&self, app: &App, refusal: AppError, deadline: Deadline) -> Result<Answer, AppError> {
        match self.find(app, deadline).await?.filter(|found| found.fingerprint == self.fingerprint) {
            Some(found) => self.answer(app, found, Mine::default()).await,
            None => Err(refusal),
        }
    }

    /// What the claim of a command on an order that exists consists of.
    pub(super) fn claim(&self) -> CommandClaim<'_> {
        CommandClaim {
            key: &self.command.key,
            fingerprint: self.fingerprint,
            kept_for_seconds: self.command.org.keys_kept_for_seconds,
            request: &self.canonical,
        }
    }
}

/// What a failure means when a claim may be on its way (`unsure`) or certainly is not.
fn failed(error: AppError, unsure: bool) -> AppError {
    if unsure { begun(error) } else { error }
}
