//! Sends steps for the first time, many at once: they are taken, and their sending noted, in one statement; then each partner
//! is called, and what is done is recorded together ([`Finisher`]).
//!
//! Whatever is not this simple (a second look at an order that is cancelled, any answer but "done") goes the way of one step
//! alone, by [`run_taken`] and [`record`].

use crate::app::App;
use crate::app::charge::lease::Lease;
use crate::app::error::AppError;
use crate::app::steps::calling::{Calling, call};
use crate::app::steps::finish::Finisher;
use crate::app::steps::partners::{partner, target_sha256};
use crate::app::steps::record::record;
use crate::app::steps::run::{Taken, Way, run_taken};
use crate::db::deadline::Deadline;
use crate::db::first_sendings::{FirstDone, FirstTaken, Taking};
use crate::db::operations::{OperationId, OperationRow};
use crate::db::step_policies::StepPolicy;
use crate::domain::ids::OrgId;
use crate::domain::operation::{OperationEvent, OperationFacts, OperationState};
use crate::domain::step::{StepKind, StepWay};
use crate::gateway::http_partner::HttpPartner;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// A partner that can be called, and its policy.
pub struct Callable {
    policy: StepPolicy,
    partner: HttpPartner,
}

impl Callable {
    /// What it does.
    #[must_use]
    pub fn kind(&self) -> StepKind {
        self.policy.kind
    }
}

/// The partners of an organisation, but for some kinds of steps, and the kinds whose settings cannot be used.
///
/// # Errors
///
/// [`AppError::Unavailable`], [`AppError::Internal`].
pub async fn callable(
    app: &App,
    org_id: OrgId,
    except: &[String],
) -> Result<(Vec<Arc<Callable>>, Vec<StepKind>), AppError> {
    let (mut usable, mut unusable) = (Vec::new(), Vec::new());
    for (policy, mode) in app.db.step_policies_of(org_id, Deadline::of_request()).await? {
        if except.iter().any(|kind| kind == policy.kind.as_str()) {
            continue;
        }
        match partner(app, org_id, &policy, mode) {
            Ok(partner) => usable.push(Arc::new(Callable { policy, partner })),
            Err(_) => unusable.push(policy.kind),
        }
    }
    Ok((usable, unusable))
}

/// A step under our lease, to be sent for the first time.
pub struct FirstSending {
    id: OperationId,
    step: FirstTaken,
    lease: Lease,
    to: Arc<Callable>,
}

impl FirstSending {
    /// Which step.
    #[must_use]
    pub fn id(&self) -> &OperationId {
        &self.id
    }

    /// Of which kind.
    #[must_use]
    pub fn kind(&self) -> StepKind {
        self.step.kind
    }
}

/// Takes steps that were never sent and are due, so many of each partner's.
///
/// # Errors
///
/// [`AppError::Unavailable`], [`AppError::Internal`]; what was taken then is due again when the lease ends.
pub async fn take(
    app: &App,
    org_id: OrgId,
    partners: &[(Arc<Callable>, usize)],
) -> Result<Vec<FirstSending>, AppError> {
    let wanted = |(to, limit): &(Arc<Callable>, usize)| {
        (to.kind(), target_sha256(&to.policy), i64::try_from(*limit).unwrap_or_default())
    };
    let kinds: Vec<_> = partners.iter().map(wanted).collect();
    let lease = Lease::begin();
    let taking = Taking { kinds: &kinds, token: lease.token, lease: app.payments.lease };
    failpoint!("steps/take/before_send");
    let taken = app.db.take_first_sendings(org_id, taking, Deadline::of_request()).await?;
    failpoint!("steps/take/committed");
    let sending = |step: FirstTaken| {
        let to = partners.iter().map(|(to, _)| to).find(|to| to.kind() == step.kind)?;
        Some(FirstSending {
            id: OperationId::step(org_id, step.order.order_id, step.kind),
            step,
            lease,
            to: Arc::clone(to),
        })
    };
    Ok(taken.into_iter().filter_map(sending).collect())
}

/// Sends a step and records what came of it. `Some`: whether the partner, who was called, gave an answer. `alone` bounds how
/// many are recorded one by one at the same time, since each of those needs a connection.
///
/// # Errors
///
/// [`AppError`]; the lease then ends, and the next one goes on.
pub async fn carry_out(
    app: &App,
    sending: FirstSending,
    finisher: &Finisher,
    alone: &Semaphore,
) -> Result<Option<bool>, AppError> {
    let FirstSending { id, step, lease, to } = sending;
    let Callable { policy, partner } = to.as_ref();
    if !step.may_be_sent {
        let _turn = alone.acquire().await;
        return run_taken(app, &id, policy, partner, lease).await;
    }
    let taken = as_taken(step, lease);
    failpoint!("steps/first/before_call");
    let found = call(&Calling { app, id: &id, partner, policy, taken: &taken }).await?;
    failpoint!("steps/first/answered");
    let is_recorded = found.event == OperationEvent::Happened && {
        let done = FirstDone {
            order_id: id.order_id,
            kind: policy.kind,
            token: lease.token,
            reference: found.reference.clone(),
            operation_key: taken.operation.operation_key.clone(),
        };
        finisher.finish(app, id.org_id, done).await
    };
    if !is_recorded {
        let _turn = alone.acquire().await;
        record(app, &id, lease.token, &found, policy, &taken.operation).await?;
    }
    Ok(found.answered)
}

/// As it was before its sending was noted.
fn as_taken(step: FirstTaken, lease: Lease) -> Taken {
    let facts =
        OperationFacts { state: OperationState::Leased, attempts: 1, questions: 0, deadline_at: step.deadline_at };
    let operation = OperationRow {
        facts,
        operation_key: step.operation_key,
        idempotency_key: None,
        lease_token: Some(lease.token),
        first_sent_at: None,
        last_sent_at: None,
        never_send: false,
        look_only: false,
        external_reference: None,
        amount: None,
        last_outcome: None,
        target_sha256: None,
        created_at: step.asked_for_at,
    };
    Taken { lease, order: step.order, operation, way: Way::By(StepWay::Send), unwanted: false, now: step.now }
}
