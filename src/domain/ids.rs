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
