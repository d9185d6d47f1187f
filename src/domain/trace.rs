//! The one-record trace of an order: several stories, each in its own order, told as one.
//!
//! A new kind of thing that happens to orders is one more [`Source`] and one more list for [`merge`].

use crate::domain::case::Case;
use crate::domain::ids::OrderId;
use crate::domain::inbox::view::{Event, Receipt};
use crate::domain::operation::OperationState;
use crate::domain::operation_view::Operation;
use crate::domain::order::Order;
use crate::domain::org::spelled;
use crate::domain::reply::timestamp;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use stories::{asked_for, created, learnt, received, told_cases};
use time::OffsetDateTime;

mod stories;

/// The most entries that a trace holds.
pub const MOST_ENTRIES: usize = 1_000;

/// Where an entry comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The order's own row.
    Order,
    /// The journal, which everybody who changes an order writes.
    Journal,
    /// The ledger of effects: that one was asked for.
    Operation,
    /// A reconciliation case.
    Case,
    /// A delivery of a notification.
    Receipt,
    /// A fact that notifications told of.
    Event,
}

spelled!(Source {
    Order = "order",
    Journal = "journal",
    Operation = "operation",
    Case = "case",
    Receipt = "receipt",
    Event = "event",
});

/// One thing that happened.
#[derive(Debug, Clone, PartialEq)]
pub struct TraceEntry {
    /// When, by the database's clock.
    pub at: OffsetDateTime,
    /// Where it is written.
    pub source: Source,
    /// Who: `request`, `recovery`, `sweep`, `evidence`, or the id of an API key.
    pub actor: String,
    /// What; a code.
    pub what: String,
    /// What else is known; codes, names and amounts.
    pub details: Value,
}

/// What really happened outside, as far as it is known here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Effect {
    /// `charge`, `refund`, or a step.
    pub kind: String,
    /// Which one of its kind.
    pub fact: String,
    /// How often. More than 1 is a fault.
    pub count: usize,
}

/// An order's trace.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    /// The order.
    pub order_id: OrderId,
    /// What happened, oldest first.
    pub entries: Vec<TraceEntry>,
    /// Whether there is more than is shown.
    pub truncated: bool,
    /// The effects that are done.
    pub effects: Vec<Effect>,
}

/// What a trace is made of, each list in its own order.
#[derive(Debug)]
pub struct Parts {
    /// The order as it stands.
    pub order: Order,
    /// The journal, oldest first.
    pub journal: Vec<TraceEntry>,
    /// The order's effects.
    pub operations: Vec<Operation>,
    /// The order's cases.
    pub cases: Vec<Case>,
    /// The deliveries that were known to be about the order when they came, oldest first.
    pub receipts: Vec<Receipt>,
    /// What notifications told about the order.
    pub events: Vec<Event>,
}

/// Tells the parts as one story.
#[must_use]
pub fn trace(parts: Parts) -> Trace {
    let Parts { order, journal, operations, cases, receipts, events } = parts;
    let effects = effects(&operations);
    let asked_for = asked_for(&operations, &journal);
    let (mut entries, mut truncated) =
        merge(vec![received(&receipts), learnt(&events), journal, asked_for, told_cases(&cases)], MOST_ENTRIES);
    // Its moment is of another clock than the others', and nothing can come before it.
    entries.insert(0, created(&order));
    if entries.len() > MOST_ENTRIES {
        entries.truncate(MOST_ENTRIES);
        truncated = true;
    }
    Trace { order_id: order.order_id, entries, truncated, effects }
}

/// Merges stories, each in its own order, which is kept even where its moments are not: the moment of an entry is when its
/// transaction began, and one that began early may have waited for another. Of entries of the same moment, those of
/// the earlier story come first. Gives at most `limit` entries, and whether there were more.
#[must_use]
pub fn merge(sources: Vec<Vec<TraceEntry>>, limit: usize) -> (Vec<TraceEntry>, bool) {
    let mut heads: Vec<_> = sources.into_iter().map(|source| source.into_iter().peekable()).collect();
    let mut merged = Vec::new();
    loop {
        let first = heads
            .iter_mut()
            .enumerate()
            .filter_map(|(number, head)| head.peek().map(|entry| (entry.at, number)))
            .min()
            .and_then(|(_, number)| heads.get_mut(number));
        let Some(entry) = first.and_then(Iterator::next) else {
            return (merged, false);
        };
        if merged.len() == limit {
            return (merged, true);
        }
        merged.push(entry);
    }
}

fn effects(operations: &[Operation]) -> Vec<Effect> {
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for done in operations.iter().filter(|operation| operation.state == OperationState::Done) {
        *counts.entry((&done.kind, &done.fact)).or_default() += 1;
    }
    let effect =
        |((kind, fact), count): ((&str, &str), usize)| Effect { kind: kind.to_owned(), fact: fact.to_owned(), count };
    counts.into_iter().map(effect).collect()
}

/// The members of a trace, in the order of the documentation.
#[derive(Debug, Serialize)]
pub struct TraceView<'a> {
    object: &'static str,
    order_id: OrderId,
    entries: Vec<EntryView<'a>>,
    truncated: bool,
    effects: &'a [Effect],
}

#[derive(Debug, Serialize)]
struct EntryView<'a> {
    at: String,
    source: &'static str,
    actor: &'a str,
    what: &'a str,
    details: &'a Value,
}

impl<'a> TraceView<'a> {
    /// The view of one trace.
    #[must_use]
    pub fn of(trace: &'a Trace) -> Self {
        let entry = |entry: &'a TraceEntry| EntryView {
            at: timestamp(entry.at),
            source: entry.source.as_str(),
            actor: &entry.actor,
            what: &entry.what,
            details: &entry.details,
        };
        Self {
            object: "order_trace",
            order_id: trace.order_id,
            entries: trace.entries.iter().map(entry).collect(),
            truncated: trace.truncated,
            effects: &trace.effects,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use time::Duration;

    fn entry(second: i64, what: &str) -> TraceEntry {
        TraceEntry {
            at: OffsetDateTime::UNIX_EPOCH + Duration::seconds(second),
            source: Source::Journal,
            actor: String::new(),
            what: what.to_owned(),
            details: Value::Null,
        }
    }

    fn names(entries: &[TraceEntry]) -> Vec<&str> {
        entries.iter().map(|entry| entry.what.as_str()).collect()
    }

    #[test]
    fn stories_are_told_in_time_and_each_in_its_own_order() {
        // `b` waited for `a`, and its transaction had begun before.
        let one = vec![entry(3, "a"), entry(1, "b"), entry(5, "c")];
        let two = vec![entry(2, "x"), entry(5, "y"), entry(6, "z")];
        let (merged, more) = merge(vec![one, Vec::new(), two], 10);
        assert_eq!((names(&merged), more), (vec!["x", "a", "b", "c", "y", "z"], false));
    }

    #[test]
    fn what_is_too_long_is_cut_and_says_so() {
        let story = || (0..5).map(|second| entry(second, "e")).collect::<Vec<_>>();
        assert!(!merge(vec![story(), story()], 10).1);
        let (merged, more) = merge(vec![story(), story()], 9);
        assert_eq!((merged.len(), more), (9, true));
    }
}
