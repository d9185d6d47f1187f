//! The query of `GET /v1/orders`, read strictly: a misspelled filter would show more than was asked for.

use crate::db::orders::OrderFilter;
use crate::domain::cursor::Cursor;
use crate::domain::fields::Text;
use crate::domain::order::OrderStatus;
use crate::http::kinds::INVALID_REQUEST;
use crate::http::problem::Problem;
use percent_encoding::percent_decode_str;

/// A page's size when none is asked for.
const DEFAULT_LIMIT: u8 = 20;
const MAX_LIMIT: u8 = 100;

/// What was asked for.
#[derive(Debug, PartialEq, Eq)]
pub struct ListQuery {
    /// Orders in a page, 1 to 100.
    pub limit: u8,
    /// Where the page begins.
    pub cursor: Cursor,
    /// Which orders.
    pub filter: OrderFilter,
}

/// Reads a query.
///
/// # Errors
///
/// `invalid_request` for an unknown, repeated or malformed parameter.
pub fn parse(query: &str) -> Result<ListQuery, Problem> {
    let mut parsed = ListQuery { limit: DEFAULT_LIMIT, cursor: Cursor::START, filter: OrderFilter::default() };
    for pair in Pairs::of(query, &NAMES) {
        let (name, value) = pair?;
        parsed.set(name, value)?;
    }
    Ok(parsed)
}

const NAMES: [&str; 6] = ["limit", "cursor", "status", "order_reference", "customer_reference", "needs_reconciliation"];

/// The parameters of a query, each known and given once.
pub struct Pairs<'a> {
    rest: std::str::Split<'a, char>,
    names: &'static [&'static str],
    seen: Vec<&'static str>,
}

impl<'a> Pairs<'a> {
    /// Of a query that may have these parameters.
    #[must_use]
    pub fn of(query: &'a str, names: &'static [&'static str]) -> Self {
        Self { rest: query.split('&'), names, seen: Vec::new() }
    }

    fn read(&mut self, pair: &str) -> Result<(&'static str, String), Problem> {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let name = decode(name).and_then(|name| self.names.iter().copied().find(|known| *known == name));
        // The unknown name is the client's text and is not repeated.
        let name = name.ok_or_else(|| {
            let known = self.names.join(", ");
            Problem::new(&INVALID_REQUEST).detail(format!("There is an unknown query parameter. Known are {known}."))
        })?;
        if self.seen.contains(&name) {
            return Err(Problem::parameter(name, "must be given once"));
        }
        self.seen.push(name);
        let value = decode(value).ok_or_else(|| Problem::parameter(name, "must be percent-encoded UTF-8"))?;
        Ok((name, value))
    }
}

impl Iterator for Pairs<'_> {
    type Item = Result<(&'static str, String), Problem>;

    fn next(&mut self) -> Option<Self::Item> {
        let pair = self.rest.find(|pair| !pair.is_empty())?;
        Some(self.read(pair))
    }
}

/// Decodes a name or value of `application/x-www-form-urlencoded`; `None` unless it is UTF-8.
fn decode(text: &str) -> Option<String> {
    let text = text.replace('+', " ");
    percent_decode_str(&text).decode_utf8().ok().map(std::borrow::Cow::into_owned)
}

/// A page's size.
///
/// # Errors
///
/// `invalid_request`.
pub fn limit(value: &str) -> Result<u8, Problem> {
    let digits = value.bytes().all(|byte| byte.is_ascii_digit());
    let limit = value.parse().ok().filter(|limit| digits && (1..=MAX_LIMIT).contains(limit));
    limit.ok_or_else(|| Problem::parameter("limit", "must be an integer from 1 to 100"))
}

impl ListQuery {
    fn set(&mut self, name: &'static str, value: String) -> Result<(), Problem> {
        let filter = &mut self.filter;
        match name {
            "limit" => self.limit = limit(&value)?,
            "cursor" => {
                let cursor = Cursor::decode(&value);
                self.cursor = cursor.ok_or_else(|| Problem::parameter(name, "must be a next_cursor of this list"))?;
            }
            "status" => {
                let status = OrderStatus::parse(&value);
                let expected = || format!("must be one of {}", OrderStatus::ALL.join(", "));
                filter.status = Some(status.ok_or_else(|| Problem::parameter(name, expected()))?);
            }
            "needs_reconciliation" => {
                let flag = value.parse().map_err(|_| Problem::parameter(name, "must be true or false"))?;
                filter.needs_reconciliation = Some(flag);
            }
            "order_reference" => filter.order_reference = Some(text(name, value, 64)?),
            _ => filter.customer_reference = Some(text(name, value, 255)?),
        }
        Ok(())
    }

    /// The same query, for the page that begins at `cursor`.
    #[must_use]
    pub fn with_cursor(&self, cursor: Cursor) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.append_pair("limit", &self.limit.to_string()).append_pair("cursor", &cursor.encode());
        let filter = &self.filter;
        let texts = [
            ("status", filter.status.map(OrderStatus::as_str)),
            ("order_reference", filter.order_reference.as_deref()),
            ("customer_reference", filter.customer_reference.as_deref()),
            ("needs_reconciliation", filter.needs_reconciliation.map(|flag| if flag { "true" } else { "false" })),
        ];
        for (name, value) in texts {
            if let Some(value) = value {
                query.append_pair(name, value);
            }
        }
        query.finish()
    }
}

/// A text of 1 to `max` characters. U+0000 is in no order, and PostgreSQL refuses it.
///
/// # Errors
///
/// `invalid_request`.
pub fn text(name: &'static str, value: String, max: usize) -> Result<String, Problem> {
    let length = Text { min: 1, max };
    if length.fits(&value) && !value.contains('\0') {
        return Ok(value);
    }
    Err(Problem::parameter(name, format!("must have 1 to {max} characters")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_next_link_asks_for_the_same_filters() {
        let query = parse("limit=7&status=received&customer_reference=a%26b+c&needs_reconciliation=false").unwrap();
        let next = Cursor::decode("o1_00000000000000000000000000000001").unwrap();
        let followed = parse(&query.with_cursor(next)).unwrap();
        assert_eq!(followed, ListQuery { cursor: next, ..query });
        assert_eq!(followed.filter.customer_reference.as_deref(), Some("a&b c"));
    }

    #[test]
    fn what_is_unknown_repeated_or_malformed_is_refused() {
        for query in [
            "limit=0",
            "limit=101",
            "limit=+5",
            "limit=",
            "limit=1&limit=1",
            "cursor=x",
            "status=Received",
            "Limit=1",
            "needs_reconciliation=yes",
            "order_reference=",
            "customer_reference=%00",
            "customer_reference=%FF",
            "x=1",
        ] {
            assert!(parse(query).is_err(), "{query}");
        }
        assert!(parse("").is_ok() && parse("&&").is_ok());
    }
}
