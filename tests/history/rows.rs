//! The database's rows, as far as the checker compares them.

use crate::history::reader::Name;
use std::collections::BTreeMap;

/// What the tables hold once everything is over.
#[derive(Debug, Clone, Default)]
pub struct Rows {
    /// `idempotency_keys`, by organisation and key.
    pub claims: BTreeMap<Name, ClaimRow>,
    /// `orders`, by organisation and id: the amount.
    pub orders: BTreeMap<Name, i64>,
}

/// A row of `idempotency_keys`.
#[derive(Debug, Clone, Default)]
pub struct ClaimRow {
    /// The order.
    pub order_id: Option<String>,
    /// SHA-256 of the stored answer's bytes, as in the history; `None` while the claim is in progress.
    pub answer: Option<String>,
}
