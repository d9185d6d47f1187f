//! `GET /v1/payment_intents/search` (<https://docs.stripe.com/search>). Stripe's own may be a minute behind; this one
//! is not.

use crate::sim::stripe::error::ApiError;
use crate::sim::stripe::expand::Expand;
use crate::sim::stripe::intent::Intent;
use crate::sim::stripe::list::limit;
use crate::sim::stripe::params::Params;
use crate::sim::world::State;
use serde_json::{Value, json};

/// A condition of a query; all of them have to hold.
#[derive(Debug, PartialEq, Eq)]
enum Clause {
    /// `metadata['name']:'value'`
    Metadata(String, String),
    /// `status:'value'`
    Status(String),
    /// `currency:'value'`
    Currency(String),
}

impl Clause {
    fn holds(&self, intent: &Intent) -> bool {
        match self {
            Self::Metadata(name, value) => intent.metadata.get(name) == Some(value),
            Self::Status(value) => intent.status.as_str() == value,
            Self::Currency(value) => intent.currency == *value,
        }
    }
}

/// Payment intents that fit a query, newest first.
pub fn search(params: &Params, _id: &str, state: &State) -> Result<Value, ApiError> {
    params.only(&["expand", "limit", "page", "query"])?;
    let query = params.required("query")?;
    let clauses = parse(query)
        .ok_or_else(|| ApiError::parameter("query", format!("We were unable to parse your search query: {query}")))?;
    let expand = Expand::read(params, "data.", &["latest_charge"])?;
    let limit = limit(params)?;
    let mut found = state.intents.iter().rev().filter(|intent| clauses.iter().all(|clause| clause.holds(intent)));
    // A page's name is the id of the last object before it.
    if let Some(page) = params.text("page")
        && !found.any(|intent| intent.id == page)
    {
        return Err(ApiError::parameter("page", "Invalid page."));
    }
    let page: Vec<_> = found.by_ref().take(limit).collect();
    let has_more = found.next().is_some();
    let next_page = page.last().filter(|_| has_more).map(|intent| intent.id.as_str());
    let data: Vec<_> = page.iter().map(|intent| intent.render_in(state, expand.has("latest_charge"))).collect();
    Ok(json!({
        "object": "search_result",
        "url": "/v1/payment_intents/search",
        "has_more": has_more,
        "next_page": next_page,
        "data": data,
    }))
}

/// Clauses joined by `AND`; `None` for what this world does not understand.
fn parse(query: &str) -> Option<Vec<Clause>> {
    let mut clauses = Vec::new();
    let mut rest = query.trim_start();
    loop {
        let clause;
        (clause, rest) = parse_clause(rest)?;
        clauses.push(clause);
        rest = rest.trim_start();
        if rest.is_empty() {
            return Some(clauses);
        }
        rest = rest.strip_prefix("AND ")?.trim_start();
    }
}

fn parse_clause(text: &str) -> Option<(Clause, &str)> {
    if let Some(rest) = text.strip_prefix("metadata[") {
        let (name, rest) = quoted(rest)?;
        let (value, rest) = quoted(rest.strip_prefix("]:")?)?;
        return Some((Clause::Metadata(name, value), rest));
    }
    let (field, rest) = text.split_once(':')?;
    let (value, rest) = quoted(rest)?;
    match field {
        "status" => Some((Clause::Status(value), rest)),
        "currency" => Some((Clause::Currency(value), rest)),
        _ => None,
    }
}

/// A text in single or double quotes, with `\` before a quote or another `\`, and what follows it.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut characters = text.char_indices();
    let (_, quote) = characters.next().filter(|(_, first)| matches!(first, '\'' | '"'))?;
    let mut value = String::new();
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => value.push(characters.next()?.1),
            character if character == quote => return Some((value, text.get(at + 1..)?)),
            character => value.push(character),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries() {
        let metadata = |name: &str, value: &str| Clause::Metadata(name.to_owned(), value.to_owned());
        assert_eq!(parse("metadata['a']:'b'"), Some(vec![metadata("a", "b")]));
        assert_eq!(parse("metadata[\"a\"]:\"b 'c'\""), Some(vec![metadata("a", "b 'c'")]));
        assert_eq!(parse(r"metadata['a']:'b\'c\\'"), Some(vec![metadata("a", r"b'c\")]));
        let two = vec![Clause::Status("succeeded".to_owned()), metadata("a", "b")];
        assert_eq!(parse("status:'succeeded' AND metadata['a']:'b'"), Some(two));
        for wrong in ["", "metadata['a']", "metadata[a]:'b'", "x:'y'", "status:'a' OR status:'b'", "status:'a"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
