//! Looks payments and refunds up by the metadata we wrote.
//!
//! Stripe's search lags ("Search", section "Data freshness": usually under a minute, longer during an outage; use lists
//! for reading after writing), so what search does not know proves nothing: only a hit counts, and even that is read
//! again by its id. Absence is proven by the list of everything that was made in the time in question, and only once no
//! request of ours can still be on its way.

use crate::gateway::outcome::{Lookup, Outcome, reason};
use crate::gateway::stripe::classify::{self, Expected, read};
use crate::gateway::stripe::wire::{self, Intent, Metadata, Page, Refund};
use crate::gateway::stripe::{MAX_RETRY_AFTER, Stripe, answer, nothing_learnt};
use crate::gateway::{FindRefundRequest, FindRequest, RetrieveRequest};
use serde::de::DeserializeOwned;
use std::time::Duration;
use time::OffsetDateTime;

/// How far the caller's clock and Stripe's may differ.
pub const CLOCK_MARGIN: Duration = Duration::from_mins(2);
/// So long after the last sending, a request that was not carried out will not be: Stripe's own libraries stop waiting
/// for an answer after 80 s.
pub const SETTLED_AFTER: Duration = Duration::from_mins(2);
/// Payments on one page. An intent is 2 to 4 KB long, so that a page stays below the cap for answers.
const PAGE: &str = "50";
const MAX_PAGES: usize = 20;
/// Hits of a search that are looked at; more than one is a fault already.
const MAX_HITS: usize = 3;

impl Stripe {
    /// A look-up takes several calls; together they take no longer than one may.
    pub(super) async fn in_time(&self, lookup: impl Future<Output = Lookup>) -> Lookup {
        let ended = tokio::time::timeout(self.outgoing.timeout(), lookup).await;
        ended.unwrap_or(Lookup::unknown(reason::TIMEOUT))
    }

    pub(super) async fn payment_by_metadata(&self, request: &FindRequest) -> Lookup {
        let Ok(expected) = self.expected(request.amount, &request.currency) else {
            return Lookup::unknown(reason::NOT_BUILT);
        };
        match self.searched(request).await {
            Ok(hits) if hits.is_empty() => {}
            Ok(hits) => return self.hits(&hits, request).await,
            Err(nothing) => return nothing,
        }
        let margin = CLOCK_MARGIN.as_secs().cast_signed();
        let settled = SETTLED_AFTER.as_secs().cast_signed();
        let from = (request.first_sent_at.unix_timestamp() - margin).to_string();
        let to = (request.last_sent_at.unix_timestamp() + settled + margin).to_string();
        let filter = [("created[gte]", from.as_str()), ("created[lte]", to.as_str())];
        let ours = |found: &Intent| is_ours(found.metadata.as_ref(), request);
        match self.listed("payment_intents", &filter, |found: &Intent| &found.id, ours).await {
            Ok(found) => {
                let outcomes = found.iter().map(|found| classify::intent(found, &expected)).collect();
                conclude(outcomes, request.last_sent_at, request.now, &expected)
            }
            Err(nothing) => nothing,
        }
    }

    pub(super) async fn refund_by_metadata(&self, request: &FindRefundRequest) -> Lookup {
        if !wire::is_id(&request.reference) {
            return Lookup::unknown(reason::REFERENCE);
        }
        let Ok(expected) = self.expected(request.amount, &request.currency) else {
            return Lookup::unknown(reason::NOT_BUILT);
        };
        let ours = |found: &Refund| {
            found.metadata.as_ref().is_some_and(|metadata| metadata.refund_key.as_ref() == Some(&request.key))
        };
        let filter = [("payment_intent", request.reference.as_str())];
        match self.listed("refunds", &filter, |found: &Refund| &found.id, ours).await {
            Ok(found) => {
                let outcomes = found.iter().map(|found| classify::made_refund(found, &expected)).collect();
                conclude(outcomes, request.last_sent_at, request.now, &expected)
            }
            Err(nothing) => nothing,
        }
    }

    /// The ids that search knows. None where an account has no search (it is not offered everywhere).
    async fn searched(&self, request: &FindRequest) -> Result<Vec<String>, Lookup> {
        let query = format!(
            "metadata['{}']:'{}' AND metadata['{}']:'{}' AND metadata['{}']:'{}'",
            wire::ORDER,
            request.order_id,
            wire::ORG,
            request.org_id,
            wire::ATTEMPT,
            request.attempt
        );
        let received = self.get("payment_intents/search", &[("query", &query), ("limit", "10")]).await;
        let received = received.map_err(nothing_learnt)?;
        let answer = answer(&received);
        match answer.status {
            200 => {
                let page: Page<Intent> = read(&answer).ok_or(Lookup::unknown(reason::UNREADABLE))?;
                let ours = page.data.into_iter().filter(|found| is_ours(found.metadata.as_ref(), request));
                Ok(ours.map(|found| found.id).collect())
            }
            400 | 403 | 404 => Ok(Vec::new()),
            _ => Err(classify::not_looked_up(&answer)),
        }
    }

    async fn hits(&self, ids: &[String], request: &FindRequest) -> Lookup {
        let Ok(expected) = self.expected(request.amount, &request.currency) else {
            return Lookup::unknown(reason::NOT_BUILT);
        };
        let mut outcomes = Vec::new();
        for id in ids.iter().take(MAX_HITS) {
            let by_id =
                RetrieveRequest { reference: id.clone(), amount: request.amount, currency: request.currency.clone() };
            match self.retrieved(&by_id).await {
                Lookup::Found(outcome) => outcomes.push(outcome),
                // Search has just told of it.
                Lookup::NotFound => return Lookup::unknown(reason::CONTRADICTORY),
                nothing @ Lookup::Unknown { .. } => return nothing,
            }
        }
        best(outcomes, &expected).map_or(Lookup::unknown(reason::CONTRADICTORY), Lookup::Found)
    }

    /// Every object of a list that is `ours`, the newest first.
    async fn listed<T: DeserializeOwned>(
        &self,
        path: &str,
        filter: &[(&str, &str)],
        id: impl Fn(&T) -> &String,
        ours: impl Fn(&T) -> bool,
    ) -> Result<Vec<T>, Lookup> {
        let (mut found, mut after) = (Vec::new(), None::<String>);
        for _ in 0..MAX_PAGES {
            let mut query = filter.to_vec();
            query.push(("limit", PAGE));
            query.extend(after.as_deref().map(|after| ("starting_after", after)));
            let received = self.get(path, &query).await.map_err(nothing_learnt)?;
            let answer = answer(&received);
            if answer.status != 200 {
                return Err(classify::not_looked_up(&answer));
            }
            let page: Page<T> = read(&answer).ok_or(Lookup::unknown(reason::UNREADABLE))?;
            let last = page.data.last().map(|last| id(last).clone());
            found.extend(page.data.into_iter().filter(|object| ours(object)));
            match last {
                _ if !page.has_more => return Ok(found),
                Some(last) if wire::is_id(&last) && after.as_ref() != Some(&last) => after = Some(last),
                _ => return Err(Lookup::unknown(reason::CONTRADICTORY)),
            }
        }
        Err(Lookup::unknown(reason::TOO_MANY))
    }
}

fn is_ours(metadata: Option<&Metadata>, request: &FindRequest) -> bool {
    metadata.is_some_and(|found| {
        found.order_id.as_deref() == Some(request.order_id.to_string().as_str())
            && found.org_id.as_deref() == Some(request.org_id.to_string().as_str())
            && found.attempt.as_deref() == Some(request.attempt.to_string().as_str())
    })
}

/// A complete list was read: what it says, given when the last request was sent.
fn conclude(
    outcomes: Vec<Outcome>,
    last_sent_at: OffsetDateTime,
    now: OffsetDateTime,
    expected: &Expected<'_>,
) -> Lookup {
    if let Some(outcome) = best(outcomes, expected) {
        return Lookup::Found(outcome);
    }
    let rest = SETTLED_AFTER - (now - last_sent_at);
    if rest.is_positive() {
        let retry_after = Some(rest.unsigned_abs().min(MAX_RETRY_AFTER));
        return Lookup::Unknown { reason: reason::TOO_SOON, retry_after };
    }
    Lookup::NotFound
}

/// One attempt has one payment; should there be several, the one that moved money speaks, and two of those conflict.
fn best(mut outcomes: Vec<Outcome>, expected: &Expected<'_>) -> Option<Outcome> {
    outcomes.sort_by_key(|outcome| match outcome {
        Outcome::Conflict { .. } => 0,
        Outcome::Succeeded { .. } => 1,
        Outcome::Unknown { .. } | Outcome::NotSent { .. } => 2,
        Outcome::Processing { .. } => 3,
        Outcome::Declined { .. } | Outcome::Refused { .. } => 4,
    });
    let successes = outcomes.iter().filter(|outcome| matches!(outcome, Outcome::Succeeded { .. })).count();
    match outcomes.into_iter().next()? {
        Outcome::Succeeded { reference, currency, .. } if successes > 1 => Some(Outcome::Conflict {
            reference,
            reason: reason::FOUND_TWICE,
            gateway_amount: expected.stripe_amount,
            gateway_currency: currency,
        }),
        outcome => Some(outcome),
    }
}
