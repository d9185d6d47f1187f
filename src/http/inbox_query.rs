//! The queries of `GET /v1/receipts` and `GET /v1/events`, read strictly.

use crate::db::inbox::event_list::EventFilter;
use crate::db::inbox::receipts::ReceiptFilter;
use crate::domain::cursor;
use crate::domain::ids::OrderId;
use crate::domain::inbox::fact::What;
use crate::domain::inbox::signature::Verdict;
use crate::domain::inbox::{Classification, EventOutcome};
use crate::http::list_query::{Pairs, limit, text};
use crate::http::problem::Problem;
use uuid::Uuid;

/// What was asked for.
#[derive(Debug, PartialEq, Eq)]
pub struct Query<F> {
    /// Entries in a page, 1 to 100.
    pub limit: u8,
    /// Where the page begins.
    pub below: Uuid,
    /// Which entries.
    pub filter: F,
    /// The filters as they were given.
    given: Vec<(&'static str, String)>,
    version: &'static str,
}

/// What the cursors of the list of receipts begin with.
pub const RECEIPTS: &str = "r1_";
/// What the cursors of the list of events begin with.
pub const EVENTS: &str = "e1_";

const OF_RECEIPTS: [&str; 8] =
    ["limit", "cursor", "classification", "signature", "type", "endpoint_id", "notification_id", "order_id"];
const OF_EVENTS: [&str; 6] = ["limit", "cursor", "outcome", "what", "fact_key", "order_id"];
const MAX_KEY: usize = 600;

/// Reads a query for receipts.
///
/// # Errors
///
/// `invalid_request` for an unknown, repeated or malformed parameter.
pub fn receipts(query: &str) -> Result<Query<ReceiptFilter>, Problem> {
    let mut parsed = Query::new(RECEIPTS);
    for pair in Pairs::of(query, &OF_RECEIPTS) {
        let (name, value) = pair?;
        if parsed.page(name, &value)? {
            continue;
        }
        let filter: &mut ReceiptFilter = &mut parsed.filter;
        match name {
            "classification" => {
                filter.classification = Some(one_of(name, &value, Classification::parse, Classification::ALL)?);
            }
            "signature" => filter.signature = Some(one_of(name, &value, Verdict::parse, Verdict::ALL)?),
            "endpoint_id" => filter.endpoint_id = Some(id(name, &value, "an endpoint")?.0),
            "order_id" => filter.order_id = Some(id(name, &value, "an order")?),
            "type" => filter.kind = Some(text(name, value.clone(), 255)?),
            _ => filter.notification_id = Some(text(name, value.clone(), 255)?),
        }
        parsed.given.push((name, value));
    }
    Ok(parsed)
}

/// Reads a query for events.
///
/// # Errors
///
/// As [`receipts`].
pub fn events(query: &str) -> Result<Query<EventFilter>, Problem> {
    let mut parsed = Query::new(EVENTS);
    for pair in Pairs::of(query, &OF_EVENTS) {
        let (name, value) = pair?;
        if parsed.page(name, &value)? {
            continue;
        }
        let filter: &mut EventFilter = &mut parsed.filter;
        match name {
            "outcome" => filter.outcome = Some(one_of(name, &value, EventOutcome::parse, EventOutcome::ALL)?),
            "what" => filter.what = Some(one_of(name, &value, What::parse, What::ALL)?),
            "order_id" => filter.order_id = Some(id(name, &value, "an order")?),
            _ => filter.fact_key = Some(text(name, value.clone(), MAX_KEY)?),
        }
        parsed.given.push((name, value));
    }
    Ok(parsed)
}

fn one_of<T>(name: &'static str, value: &str, parse: impl Fn(&str) -> Option<T>, all: &[&str]) -> Result<T, Problem> {
    parse(value).ok_or_else(|| Problem::parameter(name, format!("must be one of {}", all.join(", "))))
}

fn id(name: &'static str, value: &str, what: &str) -> Result<OrderId, Problem> {
    OrderId::parse(value).ok_or_else(|| Problem::parameter(name, format!("must be the id of {what}")))
}

impl<F: Default> Query<F> {
    fn new(version: &'static str) -> Self {
        Self { limit: 20, below: Uuid::max(), filter: F::default(), given: Vec::new(), version }
    }

    /// Takes a parameter that says which page; `false` for one that does not.
    fn page(&mut self, name: &'static str, value: &str) -> Result<bool, Problem> {
        match name {
            "limit" => self.limit = limit(value)?,
            "cursor" => {
                let below = cursor::decode(self.version, value);
                self.below = below.ok_or_else(|| Problem::parameter(name, "must be a next_cursor of this list"))?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The same query, for the page below an entry.
    #[must_use]
    pub fn with_cursor(&self, below: Uuid) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.append_pair("limit", &self.limit.to_string()).append_pair("cursor", &cursor::encode(self.version, below));
        for (name, value) in &self.given {
            query.append_pair(name, value);
        }
        query.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_next_link_asks_for_the_same_filters() {
        let query = receipts("limit=7&classification=new&type=a%26b+c&signature=valid").unwrap();
        let followed = receipts(&query.with_cursor(Uuid::from_u128(1))).unwrap();
        assert_eq!(followed, Query { below: Uuid::from_u128(1), ..query });
        let query = events("outcome=parked&what=refund&fact_key=refund:re_1:failed").unwrap();
        let followed = events(&query.with_cursor(Uuid::from_u128(2))).unwrap();
        assert_eq!(followed, Query { below: Uuid::from_u128(2), ..query });
    }

    #[test]
    fn what_is_unknown_repeated_or_malformed_is_refused() {
        for query in [
            "limit=0",
            "cursor=e1_00000000000000000000000000000001",
            "classification=New",
            "signature=ok",
            "endpoint_id=1",
            "order_id=x",
            "type=",
            "notification_id=%00",
            "what=refund",
            "type=a&type=a",
        ] {
            assert!(receipts(query).is_err(), "{query}");
        }
        for query in ["cursor=r1_00000000000000000000000000000001", "outcome=done", "what=money", "fact_key=", "type=a"]
        {
            assert!(events(query).is_err(), "{query}");
        }
        assert!(receipts("").is_ok() && events("&").is_ok());
    }
}
