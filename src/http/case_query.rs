//! The query of `GET /v1/reconciliation-cases`, read strictly.

use crate::db::cases::CaseFilter;
use crate::domain::case::CaseState;
use crate::domain::cursor;
use crate::domain::ids::OrderId;
use crate::http::list_query::{Pairs, limit, text};
use crate::http::problem::Problem;
use uuid::Uuid;

/// What was asked for.
#[derive(Debug, PartialEq, Eq)]
pub struct CaseQuery {
    /// Cases in a page, 1 to 100.
    pub limit: u8,
    /// Where the page begins.
    pub below: Uuid,
    /// Which cases.
    pub filter: CaseFilter,
}

const NAMES: [&str; 5] = ["limit", "cursor", "state", "reason", "order_id"];
const VERSION: &str = "c1_";

/// Reads a query.
///
/// # Errors
///
/// `invalid_request` for an unknown, repeated or malformed parameter.
pub fn parse(query: &str) -> Result<CaseQuery, Problem> {
    let mut parsed = CaseQuery { limit: 20, below: Uuid::max(), filter: CaseFilter::default() };
    for pair in Pairs::of(query, &NAMES) {
        let (name, value) = pair?;
        let refuse = |detail: &str| Problem::parameter(name, detail);
        match name {
            "limit" => parsed.limit = limit(&value)?,
            "cursor" => {
                let below = cursor::decode(VERSION, &value);
                parsed.below = below.ok_or_else(|| refuse("must be a next_cursor of this list"))?;
            }
            "state" => {
                let state = CaseState::parse(&value).ok_or_else(|| refuse("must be one of open, resolved"))?;
                parsed.filter.state = Some(state);
            }
            "order_id" => {
                let order_id = OrderId::parse(&value).ok_or_else(|| refuse("must be the id of an order"))?;
                parsed.filter.order_id = Some(order_id);
            }
            _ => parsed.filter.reason = Some(text(name, value, 64)?),
        }
    }
    Ok(parsed)
}

/// A cursor's text.
#[must_use]
pub fn encode(below: Uuid) -> String {
    cursor::encode(VERSION, below)
}

impl CaseQuery {
    /// The same query, for the page below a case.
    #[must_use]
    pub fn with_cursor(&self, below: Uuid) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.append_pair("limit", &self.limit.to_string()).append_pair("cursor", &encode(below));
        let order_id = self.filter.order_id.map(|id| id.to_string());
        let texts = [
            ("state", self.filter.state.map(CaseState::as_str)),
            ("reason", self.filter.reason.as_deref()),
            ("order_id", order_id.as_deref()),
        ];
        for (name, value) in texts {
            if let Some(value) = value {
                query.append_pair(name, value);
            }
        }
        query.finish()
    }
}
