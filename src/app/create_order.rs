//! Creates an order once.
//!
//! The claim, the order and the answer are one statement; there is no moment at which one exists without the others, so
//! a crash at any point leaves nothing to recover. What happens when the key is taken is [`decide`].

use crate::app::App;
use crate::app::error::AppError;
use crate::db::deadline::Deadline;
use crate::db::error::DbError;
use crate::db::idempotency_keys::NewClaim;
use crate::domain::canonical::canonical;
use crate::domain::claim::{Decision, FoundClaim, decide, replay_status};
use crate::domain::differing::differing;
use crate::domain::fingerprint::{Fingerprint, fingerprint};
use crate::domain::ids::OrderId;
use crate::domain::json;
use crate::domain::key::IdempotencyKey;
use crate::domain::order::Order;
use crate::domain::order_request::OrderRequest;
use crate::domain::org::Org;
use crate::domain::reply::{self, StoredReply};
use crate::domain::validate::{Invalid, validate};
use std::sync::Arc;
use time::OffsetDateTime;
use uuid::Uuid;

/// A request for an order, its caller authenticated and its body read.
#[derive(Debug, Clone)]
pub struct CreateOrder {
    /// Who asks.
    pub org: Arc<Org>,
    /// The client's name for the command.
    pub key: IdempotencyKey,
    /// HTTP method, part of what makes a request the same.
    pub method: &'static str,
    /// Path, likewise.
    pub path: String,
    /// Query without the question mark, likewise.
    pub query: Option<String>,
    /// The body's bytes.
    pub body: Vec<u8>,
}

/// The answer to give.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// What it is.
    pub kind: AnswerKind,
    /// The stored answer.
    pub reply: StoredReply,
    /// When the key may be removed; `None` is never.
    pub expires_at: Option<OffsetDateTime>,
}

/// What an answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerKind {
    /// This request made the order.
    Created,
    /// An earlier request made it; give its answer with this status.
    Replay {
        /// HTTP status, by the organisation's policy.
        status: u16,
    },
    /// The key belongs to another request, and the organisation wants that one's answer returned.
    Mismatch {
        /// HTTP status, by the organisation's policy.
        status: u16,
    },
}

/// A statement is tried this often: after a deadlock, a lost answer, or a clean-up that removed the key in between.
const ATTEMPTS: usize = 4;

/// Creates the order or finds the answer that its key already has.
///
/// The caller must run this detached from its connection ([`App::detached`]), so that a client's reset changes nothing.
///
/// # Errors
///
/// [`AppError`]. Only [`AppError::OutcomeUnknown`] leaves it open whether the order exists.
pub async fn create_order(app: &App, command: &CreateOrder, deadline: Deadline) -> Result<Answer, AppError> {
    let result = run(app, command, deadline).await;
    app.metrics.claim(outcome(&result));
    result
}

async fn run(app: &App, command: &CreateOrder, deadline: Deadline) -> Result<Answer, AppError> {
    let body = json::parse(&command.body).map_err(AppError::Json)?;
    let canonical = canonical(&body);
    let fingerprint = fingerprint(command.method, &command.path, command.query.as_deref(), &canonical);
    let attempt = Attempt { app, command, canonical, fingerprint, deadline };
    match validate(&body) {
        Ok(request) => {
            if let Some(answer) = attempt.limit().await? {
                return Ok(answer);
            }
            attempt.claim(request).await
        }
        Err(invalid) => attempt.replay_despite(invalid).await,
    }
}

/// One request on its way through.
struct Attempt<'a> {
    app: &'a App,
    command: &'a CreateOrder,
    canonical: String,
    fingerprint: Fingerprint,
    deadline: Deadline,
}

impl Attempt<'_> {
    /// Claims the key, or answers from whoever has it.
    async fn claim(&self, request: OrderRequest) -> Result<Answer, AppError> {
        let org = &self.command.org;
        let order = Order::new(org.org_id, OrderId(Uuid::now_v7()), request, self.app.clock.now());
        let reply = reply::created(&order);
        let claim = NewClaim {
            key: self.command.key.clone(),
            fingerprint: self.fingerprint,
            kept_for_seconds: org.keys_kept_for_seconds,
            order: order.clone(),
            canonical_request: self.canonical.clone(),
            reply: reply.clone(),
        };
        // Whether a claim of ours was sent whose answer never came. Sending it again settles that: its unique index
        // waits for the old connection's transaction, and the row, if it is ours, carries our order id.
        let mut unsure = false;
        for _ in 0..ATTEMPTS {
            // With no time left to hear the answer nothing more is sent.
            if self.deadline.left().is_zero() {
                break;
            }
            match self.app.db.claim_with_order(claim.clone(), self.deadline).await {
                Ok(Some(won)) => {
                    return Ok(Answer { kind: AnswerKind::Created, reply, expires_at: won.expires_at });
                }
                Ok(None) => {}
                Err(error) if error.is_unique_violation() => {}
                Err(error) if error.is_conflict() => continue,
                Err(DbError::Lost { reason }) => {
                    tracing::warn!(reason, key = self.command.key.log_hash(), "claim without an answer, asking again");
                    unsure = true;
                    continue;
                }
                Err(error) => return Err(failed(&error, unsure)),
            }
            if let Some(found) = self.find(unsure).await? {
                return self.answer(found, order.order_id).await;
            }
            if let Some(order_id) = self.reference_holder(&order, unsure).await? {
                return Err(AppError::ReferenceTaken { order_id });
            }
        }
        Err(if unsure { AppError::OutcomeUnknown } else { AppError::Unavailable })
    }

    /// Counts this request against the organisation's limit, unless its key is known already: replays are free. Only
    /// organisations with a limit pay for this look-up, and it decides nothing but the counting.
    async fn limit(&self) -> Result<Option<Answer>, AppError> {
        let org = &self.command.org;
        let Some(per_second) = org.new_claims_per_second else {
            return Ok(None);
        };
        if let Some(found) = self.find(false).await? {
            return self.answer(found, OrderId(Uuid::nil())).await.map(Some);
        }
        match self.app.limits.take(org.org_id, per_second) {
            Ok(()) => Ok(None),
            Err(retry_after_seconds) => Err(AppError::RateLimited { retry_after_seconds }),
        }
    }

    /// A request that today's rules refuse may have been accepted by earlier ones: its retry still gets its answer.
    async fn replay_despite(&self, invalid: Invalid) -> Result<Answer, AppError> {
        match self.find(false).await? {
            Some(found) if found.fingerprint == self.fingerprint => self.answer(found, OrderId(Uuid::nil())).await,
            _ => Err(match invalid {
                Invalid::Fields(errors) => AppError::Invalid(errors),
                Invalid::PaymentNotConfigured => AppError::PaymentNotConfigured,
            }),
        }
    }

    async fn answer(&self, found: FoundClaim, my_order_id: OrderId) -> Result<Answer, AppError> {
        let org = &self.command.org;
        let decision = decide(&found, &self.fingerprint, my_order_id, org.on_mismatch);
        let kind = |reply: &StoredReply| {
            let status = replay_status(reply.status, org);
            match decision {
                Decision::Own => AnswerKind::Created,
                Decision::ReturnOriginal => AnswerKind::Mismatch { status },
                _ => AnswerKind::Replay { status },
            }
        };
        match (decision, found.reply) {
            (Decision::ReturnOriginal, Some(reply)) => {
                // Of another method, path or query the original is no answer, whatever the policy.
                let differing = self.differing(found.order_id).await?;
                if differing.is_empty() {
                    return Err(AppError::KeyReused { differing });
                }
                Ok(Answer { kind: kind(&reply), reply, expires_at: found.expires_at })
            }
            (Decision::OtherVersion, _) => Err(AppError::Unavailable),
            (Decision::Own | Decision::Replay, Some(reply)) => {
                Ok(Answer { kind: kind(&reply), reply, expires_at: found.expires_at })
            }
            (Decision::Mismatch, _) => Err(AppError::KeyReused { differing: self.differing(found.order_id).await? }),
            _ => Err(AppError::InFlight { order_id: found.order_id, retry_after_seconds: 1 }),
        }
    }

    async fn differing(&self, order_id: OrderId) -> Result<Vec<String>, AppError> {
        let first = self.app.db.order_request(self.command.org.org_id, order_id, self.deadline).await?;
        let first = first.and_then(|text| json::parse(text.as_bytes()).ok());
        let second = json::parse(self.canonical.as_bytes()).ok();
        Ok(first.zip(second).map(|(first, second)| differing(&first, &second)).unwrap_or_default())
    }

    async fn find(&self, unsure: bool) -> Result<Option<FoundClaim>, AppError> {
        let found = self.app.db.find_claim(self.command.org.org_id, &self.command.key, self.deadline).await;
        found.map_err(|error| failed(&error, unsure))
    }

    async fn reference_holder(&self, order: &Order, unsure: bool) -> Result<Option<OrderId>, AppError> {
        let Some(reference) = &order.request.order_reference else {
            return Ok(None);
        };
        let holder = self.app.db.find_order_by_reference(order.org_id, reference, self.deadline).await;
        holder.map_err(|error| failed(&error, unsure))
    }
}

/// What a failed statement means when a claim may be on its way (`unsure`) or certainly is not.
fn failed(error: &DbError, unsure: bool) -> AppError {
    match AppError::reading(error) {
        AppError::Unavailable if unsure => AppError::OutcomeUnknown,
        other => other,
    }
}

/// The name of a result in the metrics.
fn outcome(result: &Result<Answer, AppError>) -> &'static str {
    match result {
        Ok(answer) => match answer.kind {
            AnswerKind::Created => "created",
            AnswerKind::Replay { .. } => "replayed",
            AnswerKind::Mismatch { .. } => "mismatch_returned",
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
