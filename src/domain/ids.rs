//! The identifiers, each a type of its own so that one cannot stand in for another.

use serde::Serialize;
use std::fmt;
use uuid::Uuid;

/// A tenant. A `bigint` that the database numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct OrgId(pub i64);

impl fmt::Display for OrgId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// An order: a UUID v7 (RFC 9562) made by the server, so that ids are in order of creation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct OrderId(pub Uuid);

impl OrderId {
    /// Reads the hyphenated lower- or upper-case form. `None` for anything else: such an id names no order.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        (text.len() == 36).then(|| Uuid::try_parse(text).ok().map(Self))?
    }
}

impl fmt::Display for OrderId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_named_by_the_hyphenated_form_only() {
        let (lower, upper) = ("019caddc-4f3a-7d15-9c42-83b6f0e2a917", "019CADDC-4F3A-7D15-9C42-83B6F0E2A917");
        let order_id = OrderId::parse(lower).unwrap();
        assert_eq!((order_id.to_string().as_str(), OrderId::parse(upper)), (lower, Some(order_id)));
        let (simple, braced) = (lower.replace('-', ""), format!("{{{lower}}}"));
        for other in ["", &simple, &braced, &format!("urn:uuid:{lower}"), &lower.replace('9', "g"), &"0".repeat(36)] {
            assert_eq!(OrderId::parse(other), None, "{other}");
        }
    }

    #[test]
    fn an_organisation_is_shown_by_its_number() {
        assert_eq!((OrgId(42).to_string().as_str(), format!("{:>4}", OrgId(-7)).as_str()), ("42", "  -7"));
    }
}
