//! What a sweep found.

use crate::domain::ids::{OrderId, OrgId};
use crate::domain::org::spelled;
use crate::domain::reply::timestamp;
use serde_json::{Map, Value, json};
use time::OffsetDateTime;

/// Lines that are shown; all are counted.
const MOST_LINES: usize = 1_000;

/// What came of one payment or refund.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// Both sides say the same.
    Agreed,
    /// Somebody else's, as far as can be told.
    Others,
    /// It happened, and is recorded now.
    Settled,
    /// A refund that was made at the gateway, past us, is booked now.
    Booked,
    /// It contradicts, and a person has it now.
    CaseOpened,
    /// It contradicts, and a person has had it before.
    CaseKnown,
    /// Somebody is at work on it, or the gateway could not tell: the next sweep looks again.
    Later,
    /// It says that it is ours, and there is no such order.
    Stranger,
    /// It could not be recorded.
    Failed,
}

spelled!(Found {
    Agreed = "agreed",
    Others = "others",
    Settled = "settled",
    Booked = "booked",
    CaseOpened = "case_opened",
    CaseKnown = "case_known",
    Later = "later",
    Stranger = "stranger",
    Failed = "failed",
});

/// One payment or refund.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// What came of it.
    pub found: Found,
    /// `payment` or `refund`.
    pub what: &'static str,
    /// The gateway's name for it.
    pub reference: String,
    /// The order it belongs to, or names.
    pub order_id: Option<OrderId>,
}

impl Line {
    /// Of which nothing is found yet.
    #[must_use]
    pub fn of(what: &'static str, reference: &str, order_id: Option<OrderId>) -> Self {
        Self { found: Found::Agreed, what, reference: reference.to_owned(), order_id }
    }
}

/// All of it.
#[derive(Debug, Clone)]
pub struct Report {
    /// Whose.
    pub org_id: OrgId,
    /// Since when.
    pub since: OffsetDateTime,
    /// Payments that the gateway listed.
    pub payments: usize,
    /// Refunds that the gateway listed.
    pub refunds: usize,
    /// Why it is not complete, if it is not; a short code.
    pub stopped_by: Option<&'static str>,
    /// What agrees and what is somebody else's.
    quiet: [u64; 2],
    /// Everything else.
    pub lines: Vec<Line>,
}

impl Report {
    pub(super) fn new(org_id: OrgId, since: OffsetDateTime) -> Self {
        Self { org_id, since, payments: 0, refunds: 0, stopped_by: None, quiet: [0, 0], lines: Vec::new() }
    }

    pub(super) fn add(&mut self, line: Line) {
        let [agreed, others] = &mut self.quiet;
        match line.found {
            Found::Agreed => *agreed += 1,
            Found::Others => *others += 1,
            _ => self.lines.push(line),
        }
    }

    /// Notes why it is not complete; the first reason stands.
    pub(super) fn stop(&mut self, reason: &'static str) {
        self.stopped_by.get_or_insert(reason);
    }

    /// How often something was found.
    #[must_use]
    pub fn count(&self, found: Found) -> u64 {
        let [agreed, others] = self.quiet;
        match found {
            Found::Agreed => agreed,
            Found::Others => others,
            _ => self.lines.iter().filter(|line| line.found == found).count() as u64,
        }
    }

    /// Whether a person has to look at something that nobody had looked at before.
    #[must_use]
    pub fn needs_person(&self) -> bool {
        self.count(Found::CaseOpened) + self.count(Found::Stranger) > 0
    }

    fn counts(&self) -> impl Iterator<Item = (&'static str, u64)> {
        Found::ALL.iter().map(|name| (*name, Found::parse(name).map_or(0, |found| self.count(found))))
    }

    /// For programs.
    #[must_use]
    pub fn object(&self) -> Value {
        let counts: Map<String, Value> = self.counts().map(|(name, count)| (name.to_owned(), count.into())).collect();
        let line = |line: &Line| {
            json!({
                "found": line.found.as_str(), "what": line.what, "reference": line.reference, "order_id": line.order_id,
            })
        };
        json!({
            "org_id": self.org_id,
            "since": timestamp(self.since),
            "payments": self.payments,
            "refunds": self.refunds,
            "counts": counts,
            "needs_person": self.needs_person(),
            "complete": self.stopped_by.is_none(),
            "stopped_by": self.stopped_by,
            "lines": self.lines.iter().take(MOST_LINES).map(line).collect::<Vec<_>>(),
        })
    }

    /// For people.
    #[must_use]
    pub fn text(&self) -> String {
        let (since, payments, refunds) = (timestamp(self.since), self.payments, self.refunds);
        let mut lines = vec![format!("since {since} the gateway lists {payments} payment(s) and {refunds} refund(s)")];
        lines.extend(self.lines.iter().take(MOST_LINES).map(|line| {
            let order = line.order_id.map_or_else(|| "no order".to_owned(), |id| format!("order {id}"));
            format!("{:<12} {} {}  {order}", line.found.as_str(), line.what, line.reference)
        }));
        if self.lines.len() > MOST_LINES {
            lines.push(format!("… and {} more", self.lines.len() - MOST_LINES));
        }
        let counts: Vec<_> =
            self.counts().filter(|(_, count)| *count > 0).map(|(name, count)| format!("{count} {name}")).collect();
        lines.push(if counts.is_empty() { "nothing to compare".to_owned() } else { counts.join(", ") });
        lines.join("\n")
    }
}
