//! The query of `GET /v1/operations`, read strictly.

use crate::domain::ids::OrderId;
use crate::domain::operation::OperationState;
use crate::domain::operation_view::{OperationCursor, OperationFilter};
use crate::http::list_query::{Pairs, limit, text};
use crate::http::problem::Problem;

/// What was asked for.
#[derive(Debug, PartialEq, Eq)]
pub struct OperationQuery {
    /// Effects in a page, 1 to 100.
    pub limit: u8,
    /// Where the page begins.
    pub below: OperationCursor,
    /// Which effects.
    pub filter: OperationFilter,
}

const NAMES: [&str; 5] = ["limit", "cursor", "state", "kind", "order_id"];

/// Reads a query.
///
/// # Errors
///
/// `invalid_request` for an unknown, repeated or malformed parameter.
pub fn parse(query: &str) -> Result<OperationQuery, Problem> {
    let mut parsed = OperationQuery { limit: 20, below: OperationCursor::start(), filter: OperationFilter::default() };
    for pair in Pairs::of(query, &NAMES) {
        let (name, value) = pair?;
        let refuse = |detail: &str| Problem::parameter(name, detail);
        match name {
            "limit" => parsed.limit = limit(&value)?,
            "cursor" => {
                let below = OperationCursor::decode(&value);
                parsed.below = below.ok_or_else(|| refuse("must be a next_cursor of this list"))?;
            }
            "state" => {
                let expected = || refuse(&format!("must be one of {}", OperationState::ALL.join(", ")));
                parsed.filter.state = Some(OperationState::parse(&value).ok_or_else(expected)?);
            }
            "order_id" => {
                let order_id = OrderId::parse(&value).ok_or_else(|| refuse("must be the id of an order"))?;
                parsed.filter.order_id = Some(order_id);
            }
            _ => parsed.filter.kind = Some(text(name, value, 64)?),
        }
    }
    Ok(parsed)
}

impl OperationQuery {
    /// The same query, for the page below an effect.
    #[must_use]
    pub fn with_cursor(&self, below: &OperationCursor) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.append_pair("limit", &self.limit.to_string()).append_pair("cursor", &below.encode());
        let order_id = self.filter.order_id.map(|id| id.to_string());
        let texts = [
            ("state", self.filter.state.map(OperationState::as_str)),
            ("kind", self.filter.kind.as_deref()),
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
