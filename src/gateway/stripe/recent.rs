//! Lists what was made lately (<https://docs.stripe.com/api/pagination>): newest first, by pages.

use crate::domain::ids::{OrderId, OrgId};
use crate::gateway::currency::from_stripe;
use crate::gateway::outcome::{Lookup, reason};
use crate::gateway::outgoing::Failure;
use crate::gateway::recent::{Owner, Recent, RecentPage, RecentRequest, RefundState, SeenPayment, SeenRefund};
use crate::gateway::stripe::classify::{not_looked_up, read};
use crate::gateway::stripe::wire::{Intent, Metadata, Page, is_id};
use crate::gateway::stripe::{Stripe, answer};
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// Objects on one page. An intent is 2 to 4 KB long, so that a page stays below the cap for answers.
const PAGE: &str = "50";

/// A `refund` with the payment it belongs to.
#[derive(Debug, Deserialize)]
struct Refund {
    id: String,
    object: String,
    status: Option<String>,
    amount: Option<i64>,
    currency: Option<String>,
    payment_intent: Option<String>,
    metadata: Option<Metadata>,
}

impl Stripe {
    pub(super) async fn payments_page(&self, request: &RecentRequest) -> Recent<SeenPayment> {
        let page: Page<Intent> = self.page("payment_intents", request).await?;
        let next = next(&page, |found| &found.id, request)?;
        let items = page.data.iter().filter(|found| found.object == "payment_intent" && is_id(&found.id));
        Ok(RecentPage { items: items.map(|found| self.payment(found, request.org_id)).collect(), next })
    }

    pub(super) async fn refunds_page(&self, request: &RecentRequest) -> Recent<SeenRefund> {
        let page: Page<Refund> = self.page("refunds", request).await?;
        let next = next(&page, |found| &found.id, request)?;
        let items = page.data.iter().filter(|found| found.object == "refund" && is_id(&found.id));
        Ok(RecentPage { items: items.map(|found| refund(found, request.org_id)).collect(), next })
    }

    async fn page<T: DeserializeOwned>(&self, path: &str, request: &RecentRequest) -> Result<Page<T>, &'static str> {
        let since = request.since.unix_timestamp().to_string();
        let mut query = vec![("created[gte]", since.as_str()), ("limit", PAGE)];
        query.extend(request.payment.as_deref().map(|payment| ("payment_intent", payment)));
        query.extend(request.after.as_deref().map(|after| ("starting_after", after)));
        let received = self.get(path, &query).await;
        let received = received.map_err(|(Failure::NotSent(reason) | Failure::NoAnswer(reason))| reason)?;
        let answer = answer(&received);
        if answer.status != 200 {
            return Err(match not_looked_up(&answer) {
                Lookup::Unknown { reason, .. } => reason,
                _ => reason::UNEXPECTED_STATUS,
            });
        }
        read(&answer).ok_or(reason::UNREADABLE)
    }

    fn payment(&self, found: &Intent, org_id: OrgId) -> SeenPayment {
        let currency = currency_of(found.currency.as_deref());
        // In live mode, money of the test mode is none.
        let taken = found.status == "succeeded" && (!self.live || found.livemode == Some(true));
        SeenPayment {
            reference: found.id.clone(),
            owner: owner(found.metadata.as_ref(), org_id),
            taken,
            amount: found.amount_received.and_then(|amount| from_stripe(amount, &currency).ok()),
            currency,
        }
    }
}

fn refund(found: &Refund, org_id: OrgId) -> SeenRefund {
    let currency = currency_of(found.currency.as_deref());
    SeenRefund {
        reference: found.id.clone(),
        payment: found.payment_intent.clone().filter(|id| is_id(id)),
        owner: owner(found.metadata.as_ref(), org_id),
        key: found.metadata.as_ref().and_then(|metadata| metadata.refund_key.clone()),
        state: match found.status.as_deref() {
            Some("succeeded") => RefundState::Given,
            Some("failed" | "canceled") => RefundState::Failed,
            _ => RefundState::Open,
        },
        amount: found.amount.and_then(|amount| from_stripe(amount, &currency).ok()),
        currency,
    }
}

fn owner(metadata: Option<&Metadata>, org_id: OrgId) -> Owner {
    let Some(metadata) = metadata else { return Owner::Nobody };
    match (&metadata.org_id, &metadata.order_id) {
        (None, None) => Owner::Nobody,
        (Some(org), _) if *org != org_id.to_string() => Owner::Other,
        (_, order_id) => Owner::Ours {
            order_id: order_id.as_deref().and_then(OrderId::parse),
            attempt: metadata.attempt.as_deref().and_then(|attempt| attempt.parse().ok()),
        },
    }
}

fn currency_of(code: Option<&str>) -> String {
    let code = code.unwrap_or_default().to_ascii_uppercase();
    let is_currency = code.len() == 3 && code.bytes().all(|byte| byte.is_ascii_uppercase());
    if is_currency { code } else { String::new() }
}

/// What the next page comes after. A page that leads nowhere new would be asked for without end.
fn next<T>(
    page: &Page<T>,
    id: impl Fn(&T) -> &String,
    request: &RecentRequest,
) -> Result<Option<String>, &'static str> {
    match page.data.last().map(id) {
        _ if !page.has_more => Ok(None),
        Some(last) if is_id(last) && request.after.as_ref() != Some(last) => Ok(Some(last.clone())),
        _ => Err(reason::CONTRADICTORY),
    }
}
