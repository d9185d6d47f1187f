//! `GET /v1/payment_intents`, `/v1/charges`, `/v1/refunds`: newest first, by pages
//! (<https://docs.stripe.com/api/pagination>).

use crate::sim::stripe::error::ApiError;
use crate::sim::stripe::expand::Expand;
use crate::sim::stripe::params::Params;
use crate::sim::world::State;
use serde_json::{Value, json};

const MAX_PAGE: i64 = 100;
const DEFAULT_PAGE: usize = 10;

/// What is listed, for paging.
struct Row<'a, T> {
    object: &'a T,
    id: &'a str,
    created: i64,
}

/// Payment intents.
pub fn intents(params: &Params, _id: &str, state: &State) -> Result<Value, ApiError> {
    params.only(&["created", "customer", "expand", "limit", "starting_after"])?;
    let expand = Expand::read(params, "data.", &["latest_charge"])?;
    let customer = params.text("customer");
    let rows = state.intents.iter().rev();
    let rows = rows.filter(|intent| customer.is_none() || intent.customer.as_deref() == customer);
    let rows = rows.map(|object| Row { object, id: &object.id, created: object.created });
    page(params, "payment_intent", rows, |intent| intent.render_in(state, expand.has("latest_charge")))
}

/// Charges, failed ones too.
pub fn charges(params: &Params, _id: &str, state: &State) -> Result<Value, ApiError> {
    params.only(&["created", "expand", "limit", "payment_intent", "starting_after"])?;
    Expand::read(params, "data.", &[])?;
    let intent = params.text("payment_intent");
    let rows = state.charges.iter().rev();
    let rows = rows.filter(|charge| intent.is_none_or(|intent| charge.payment_intent == intent));
    let rows = rows.map(|object| Row { object, id: &object.id, created: object.created });
    page(params, "charge", rows, super::charge::Charge::render)
}

/// Refunds.
pub fn refunds(params: &Params, _id: &str, state: &State) -> Result<Value, ApiError> {
    params.only(&["charge", "created", "expand", "limit", "payment_intent", "starting_after"])?;
    Expand::read(params, "data.", &[])?;
    let (intent, charge) = (params.text("payment_intent"), params.text("charge"));
    let rows = state.refunds.iter().rev();
    let rows = rows.filter(|refund| intent.is_none_or(|intent| refund.payment_intent == intent));
    let rows = rows.filter(|refund| charge.is_none_or(|charge| refund.charge == charge));
    let rows = rows.map(|object| Row { object, id: &object.id, created: object.created });
    page(params, "refund", rows, super::refund::Refund::render)
}

/// How many of a page; 10 without `limit`.
pub fn limit(params: &Params) -> Result<usize, ApiError> {
    let limit = params.integer("limit", 1, MAX_PAGE)?;
    Ok(limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(DEFAULT_PAGE))
}

fn page<'a, T: 'a>(
    params: &Params,
    what: &str,
    rows: impl Iterator<Item = Row<'a, T>>,
    render: impl Fn(&T) -> Value,
) -> Result<Value, ApiError> {
    let limit = limit(params)?;
    let bounds = Bounds::read(params)?;
    let mut rows = rows.peekable();
    if let Some(after) = params.text("starting_after")
        && !rows.any(|row| row.id == after)
    {
        return Err(ApiError::missing(what, after, "starting_after"));
    }
    let mut rows = rows.filter(|row| bounds.hold(row.created));
    let data: Vec<_> = rows.by_ref().take(limit).map(|row| render(row.object)).collect();
    let has_more = rows.next().is_some();
    Ok(json!({ "object": "list", "url": format!("/v1/{what}s"), "has_more": has_more, "data": data }))
}

/// Bounds of `created`.
struct Bounds {
    least: i64,
    most: i64,
}

impl Bounds {
    fn read(params: &Params) -> Result<Self, ApiError> {
        let seconds = |name: &str| params.integer(name, 0, i64::MAX - 1);
        let exactly = seconds("created")?;
        let above = seconds("created[gt]")?.map(|second| second + 1);
        let below = seconds("created[lt]")?.map(|second| second - 1);
        let least = [exactly, above, seconds("created[gte]")?].into_iter().flatten().max();
        let most = [exactly, below, seconds("created[lte]")?].into_iter().flatten().min();
        Ok(Self { least: least.unwrap_or(i64::MIN), most: most.unwrap_or(i64::MAX) })
    }

    fn hold(&self, created: i64) -> bool {
        (self.least..=self.most).contains(&created)
    }
}
