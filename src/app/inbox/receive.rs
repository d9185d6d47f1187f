//! Receives a delivery: who said it, what it tells, committed, answered. No business work before the answer, and no lock that
//! an order's work could hold.

use crate::app::App;
use crate::app::error::AppError;
use crate::app::inbox::WAIT;
use crate::app::inbox::apply::apply_event;
use crate::app::inbox::endpoints::open_secret;
use crate::budget::Body;
use crate::db::deadline::Deadline;
use crate::db::error::DbError;
use crate::db::inbox::endpoints::Endpoint;
use crate::db::inbox::events::{EventId, NewEvent};
use crate::db::inbox::receipts::{Accepted, NewReceipt};
use crate::db::tx::Tx;
use crate::domain::ids::OrderId;
use crate::domain::inbox::fact::Fact;
use crate::domain::inbox::signature::{Labelled, Verdict, Verified, verify};
use crate::domain::inbox::stripe::{self, Notification};
use crate::domain::inbox::{Classification, EventOutcome, classify_again};
use crate::domain::org::Mode;
use crate::gateway::currency::from_stripe;
use std::sync::Arc;
use std::time::Duration;
use time::OffsetDateTime;
use tokio::time::timeout;
use uuid::Uuid;

/// Of a refused delivery so many bytes are kept, and of each endpoint so many refused deliveries within an hour.
const KEPT_BYTES: usize = 4 * 1024;
const KEPT_REFUSED: i64 = 100;

/// How long a fact waits for room behind its answer. The worker looks as often.
const ROOM: Duration = Duration::from_secs(1);

/// A delivery as it came.
pub struct Delivery {
    /// Where to.
    pub endpoint_id: Uuid,
    /// The one signature header.
    pub signature: Option<Vec<u8>>,
    /// The exact bytes.
    pub body: Body,
}

/// What a delivery is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Received {
    /// The receipt.
    pub receipt_id: Uuid,
    /// What became of it.
    pub classification: Classification,
}

/// Receives a delivery. What it tells is applied behind the answer.
///
/// # Errors
///
/// [`AppError::NotFound`] without such an endpoint, [`AppError::SignatureInvalid`]; [`AppError::Unavailable`],
/// [`AppError::OutcomeUnknown`] when it could not be committed: it has to be sent again, and does no harm if it was.
pub async fn receive_webhook(app: &App, delivery: &Delivery, deadline: Deadline) -> Result<Received, AppError> {
    let endpoint = app.db.find_endpoint(delivery.endpoint_id, deadline).await?.ok_or(AppError::NotFound)?;
    let verified = verified(app, &endpoint, delivery)?;
    let new = NewReceipt {
        org_id: endpoint.org_id,
        receipt_id: Uuid::now_v7(),
        endpoint_id: delivery.endpoint_id,
        provider: &endpoint.provider,
        skew_seconds: verified.skew_seconds,
        body: &delivery.body,
    };
    if verified.verdict != Verdict::Valid {
        let bounds = (KEPT_BYTES, KEPT_REFUSED);
        app.db.add_refused_receipt(&new, (verified.verdict, 400), bounds, deadline).await?;
        tracing::info!(org_id = endpoint.org_id.0, verdict = verified.verdict.as_str(), "notification refused");
        return Err(AppError::SignatureInvalid);
    }
    let read = read(&endpoint, &delivery.body);
    let stored = store(app, &new, &verified, &read, deadline).await;
    let filed = planted!("answered_before_stored", stored.or(Ok::<_, DbError>(Filed::nothing())), stored);
    let filed = filed.map_err(|error| match error {
        DbError::Lost { .. } => AppError::OutcomeUnknown,
        error => AppError::from(error),
    })?;
    if let Some(id) = filed.to_apply {
        apply_behind(app, id, filed.urgent, filed.found_at_last);
    }
    Ok(Received { receipt_id: new.receipt_id, classification: filed.classification })
}

/// Looks at the signature with every secret that counts. One that this process cannot open may be the right one: that is no
/// reason to refuse.
fn verified(app: &App, endpoint: &Endpoint, delivery: &Delivery) -> Result<Verified, AppError> {
    let mut secrets = Vec::new();
    for stored in &endpoint.secrets {
        if let Some(secret) = open_secret(app, endpoint.org_id, delivery.endpoint_id, stored) {
            secrets.push(Labelled { label: stored.label.clone(), secret });
        }
    }
    let now = app.clock.now().unix_timestamp();
    let verified = verify(delivery.signature.as_deref(), &delivery.body, &secrets, now);
    let unsure = matches!(verified.verdict, Verdict::Mismatch | Verdict::NoSecret);
    if unsure && secrets.len() < endpoint.secrets.len() {
        tracing::error!(org_id = endpoint.org_id.0, "a webhook secret was sealed with another ICHIDO_SECRET_KEY");
        return Err(AppError::Unavailable);
    }
    Ok(verified)
}

/// What a believed delivery tells. For a live organisation, play money is none; and of several organisations at one account of the
/// gateway's, each is told everything.
fn read(endpoint: &Endpoint, body: &[u8]) -> Notification {
    let read = stripe::read(body);
    let play = endpoint.mode == Mode::Live && read.live != Some(true);
    let ours = read.org.as_ref().is_none_or(|org| *org == endpoint.org_id.0.to_string());
    Notification { fact: read.fact.filter(|_| ours && !play), ..read }
}

struct Filed {
    classification: Classification,
    order_id: Option<OrderId>,
    fact_key: Option<String>,
    to_apply: Option<EventId>,
    /// Nothing else would come to it soon.
    urgent: bool,
    /// The order of a fact that waited for one until now.
    found_at_last: Option<OrderId>,
}

impl Filed {
    /// A delivery that tells of no fact.
    fn nothing() -> Self {
        Self {
            classification: Classification::Ignored,
            order_id: None,
            fact_key: None,
            to_apply: None,
            urgent: false,
            found_at_last: None,
        }
    }
}

/// Receipt, event and alias, in one transaction.
async fn store(
    app: &App,
    new: &NewReceipt<'_>,
    verified: &Verified,
    read: &Notification,
    deadline: Deadline,
) -> Result<Filed, DbError> {
    let tx = app.db.begin(deadline).await?;
    let filed = match &read.fact {
        Some(fact) => file(&tx, new, fact, read.id.as_deref()).await?,
        None => Filed::nothing(),
    };
    let accepted = Accepted {
        secret_label: verified.label.as_deref(),
        classification: filed.classification,
        notification_id: read.id.as_deref(),
        kind: read.kind.as_deref(),
        object_id: read.object_id.as_deref(),
        fact_key: filed.fact_key.as_deref(),
        order_id: filed.order_id,
    };
    tx.add_receipt(new, &accepted).await?;
    failpoint!("inbox/receive/before_commit");
    tx.commit().await?;
    failpoint!("inbox/receive/stored");
    Ok(filed)
}

async fn file(tx: &Tx, receipt: &NewReceipt<'_>, fact: &Fact, notification_id: Option<&str>) -> Result<Filed, DbError> {
    let (org_id, provider) = (receipt.org_id, receipt.provider);
    let found = tx.order_of(org_id, provider, fact.order_id, fact.reference.as_deref()).await?.order();
    let amount = fact.amount.zip(fact.currency.as_deref()).and_then(|(amount, code)| from_stripe(amount, code).ok());
    let outcome = match found {
        Some(_) => EventOutcome::Pending,
        // It names nobody, and no money moved: whoever it belongs to, nothing would follow from it.
        None if fact.order_id.is_none() && !fact.what.is_about_money() => EventOutcome::Ignored,
        None => EventOutcome::Parked,
    };
    let new = NewEvent {
        event_id: Uuid::now_v7(),
        fact,
        amount,
        provider_time: fact.told_at.and_then(|at| OffsetDateTime::from_unix_timestamp(at).ok()),
        order_id: found,
        outcome,
        wait_seconds: WAIT.as_secs_f64(),
    };
    let fact_key = planted!("event_key_not_unique", Uuid::now_v7().to_string(), fact.key.clone());
    let mut id = EventId { org_id, provider: provider.to_owned(), fact_key };
    let mut known = None;
    if !tx.add_event(&id, &new).await? {
        known = tx.find_event(&id).await?;
        let other_amount = known.as_ref().is_some_and(|it| it.amount != amount || it.currency != fact.currency);
        if fact.amount.is_some() && other_amount {
            // The same thing happened with two amounts: the second one is a fact of its own, that a person will look at.
            id.fact_key = fact.key_of_another_word();
            known = if tx.add_event(&id, &new).await? { None } else { tx.find_event(&id).await? };
        }
    }
    if let Some(notification_id) = notification_id {
        tx.add_alias(&id, notification_id, fact).await?;
    }
    let order_id = known.as_ref().and_then(|it| it.order_id).or(found);
    let found_at_last = known.as_ref().is_some_and(|it| it.outcome == EventOutcome::Parked) && found.is_some();
    let classification = match known {
        None if found.is_some() => Classification::New,
        None if outcome == EventOutcome::Ignored => Classification::Ignored,
        None => Classification::Parked,
        Some(_) if found_at_last => Classification::Resumable,
        Some(known) => classify_again(known.outcome, known.left),
    };
    let urgent = found_at_last || classification == Classification::New;
    let applies = matches!(classification, Classification::New | Classification::Resumable);
    Ok(Filed {
        classification,
        order_id,
        fact_key: Some(id.fact_key.clone()),
        to_apply: applies.then_some(id),
        urgent,
        found_at_last: found.filter(|_| found_at_last),
    })
}

/// Applies a fact behind the answer. One that finds no room in time, or a repeated one that finds none at once, is left to the
/// worker, who comes to it anyway.
fn apply_behind(app: &App, id: EventId, urgent: bool, found_at_last: Option<OrderId>) {
    let work = app.clone();
    drop(app.detached(async move {
        if let Some(order_id) = found_at_last
            && let Err(error) = work.db.match_event(&id, order_id, Deadline::of_request()).await
        {
            tracing::warn!(%error, org_id = id.org_id.0, "a notification's order is not noted yet");
        }
        let room = Arc::clone(&work.applying);
        let permit = if urgent {
            timeout(ROOM, room.acquire_owned()).await.ok().and_then(Result::ok)
        } else {
            room.try_acquire_owned().ok()
        };
        if permit.is_none() {
            return;
        }
        if let Err(error) = apply_event(&work, &id).await {
            tracing::warn!(%error, org_id = id.org_id.0, "notification not applied yet");
        }
    }));
}
