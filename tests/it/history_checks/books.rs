//! I1 to I5: what clients were told, beside what the tables hold.

use crate::history::check;
use crate::history::line::{Event, Invoke, Line, Op, Said};
use crate::history::reader::History;
use crate::history::rows::{ClaimRow, Rows};
use std::collections::BTreeSet;

/// Two organisations use one key each, the same one.
const KEY: &str = "order-0";

/// A history and the tables beside it.
pub struct Books {
    lines: Vec<Line>,
    pub rows: Rows,
}

pub fn said(status: u16, order: &str, answer: &str) -> Said {
    Said {
        status: Some(status),
        order_id: Some(order.to_owned()),
        amount: Some(100),
        answer: Some(answer.to_owned()),
        ids: vec![order.to_owned()],
        code: None,
    }
}

pub fn refused(status: u16, code: &str) -> Said {
    Said { status: Some(status), code: Some(code.to_owned()), ..Said::default() }
}

impl Books {
    pub fn empty() -> Self {
        Self { lines: Vec::new(), rows: Rows::default() }
    }

    /// A line of its own for the sending; gives the call's number.
    pub fn sends(&mut self, org: i64, op: Op, key: &str, request: &str) -> u64 {
        let call = self.lines.len() as u64;
        let amount = (op == Op::Order).then_some(100);
        let (key, request) = (key.to_owned(), request.to_owned());
        let invoke = Invoke { client: 0, op, org, key, request, amount };
        self.lines.push(Line { call, at_ms: 0, event: Event::Invoke(invoke) });
        call
    }

    pub fn hears(&mut self, call: u64, event: Event) {
        self.lines.push(Line { call, at_ms: 0, event });
    }

    /// A call that is over at once.
    pub fn call(&mut self, org: i64, request: &str, event: Event) {
        let call = self.sends(org, Op::Order, KEY, request);
        self.hears(call, event);
    }

    pub fn store(&mut self, org: i64, key: &str, order: &str, answer: &str) {
        let row = ClaimRow { order_id: Some(order.to_owned()), answer: Some(answer.to_owned()) };
        self.rows.claims.insert((org, key.to_owned()), row);
        self.rows.orders.insert((org, order.to_owned()), 100);
    }

    pub fn history(&self) -> History {
        let text: String = self.lines.iter().map(|line| serde_json::to_string(line).unwrap() + "\n").collect();
        History::parse(&text).unwrap()
    }

    /// The invariants that are violated.
    pub fn violated(&self) -> BTreeSet<String> {
        let verdict = check(&self.history(), &self.rows, None);
        verdict.violations.iter().map(|violation| format!("{:?}", violation.invariant)).collect()
    }

    pub fn said(&self) -> String {
        let verdict = check(&self.history(), &self.rows, None);
        verdict.violations.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }
}

/// Organisation 1 orders and asks again, tries another request, and changes its order; organisation 2 orders, too.
fn good() -> Books {
    let mut books = Books::empty();
    books.call(1, "r", Event::NoAnswer(Said::default()));
    books.call(1, "r", Event::Fail(refused(503, "unavailable")));
    books.call(1, "r", Event::NoAnswer(refused(503, "outcome_unknown")));
    books.call(1, "r", Event::Ok(said(201, "a", "bytes")));
    books.call(1, "r", Event::Ok(said(200, "a", "bytes")));
    books.call(1, "other", Event::Fail(refused(422, "idempotency_key_reused")));
    let change = books.sends(1, Op::Change, "cancel-0", "c");
    books.hears(change, Event::Ok(said(200, "a", "cancelled")));
    books.call(2, "r", Event::Ok(said(201, "b", "theirs")));
    books.store(1, KEY, "a", "bytes");
    books.store(1, "cancel-0", "a", "cancelled");
    books.store(2, KEY, "b", "theirs");
    books
}

/// A fault: why it is one, what has to be named, and how it comes about.
type Fault = (&'static str, &'static str, fn(&mut Books));

const FAULTS: [Fault; 20] = [
    ("a retry made a second order", "I1", |it| it.call(1, "r", Event::Ok(said(201, "a2", "bytes")))),
    ("the key belongs to another order than was told", "I1", |it| it.store(1, KEY, "a2", "bytes")),
    ("an order that no key has made", "I1", |it| {
        it.rows.orders.insert((1, "a2".to_owned()), 100);
    }),
    ("two keys share an order", "I1", |it| {
        let other = it.sends(1, Op::Order, "order-1", "r");
        it.hears(other, Event::NoAnswer(Said::default()));
        it.store(1, "order-1", "a", "bytes");
    }),
    ("a replay has other bytes", "I2", |it| it.call(1, "r", Event::Ok(said(200, "a", "newly rendered")))),
    ("a replay has another amount", "I2", |it| {
        it.call(1, "r", Event::Ok(Said { amount: Some(101), ..said(200, "a", "bytes") }));
    }),
    ("what was made is declined later", "I2", |it| it.call(1, "r", Event::Ok(said(402, "a", "bytes")))),
    ("other bytes are stored than were told", "I2", |it| it.store(1, KEY, "a", "newly rendered")),
    ("another amount than was asked for", "I2", |it| {
        it.call(3, "r", Event::Ok(Said { amount: Some(99), ..said(201, "c", "x") }));
        it.store(3, KEY, "c", "x");
    }),
    ("an acknowledged order is gone", "I3", |it| {
        it.rows.orders.remove(&(1, "a".to_owned()));
    }),
    ("an acknowledged key is gone", "I3", |it| {
        it.rows.claims.remove(&(1, KEY.to_owned()));
    }),
    ("an acknowledged key has no answer any more", "I3", |it| {
        it.rows.claims.get_mut(&(1, KEY.to_owned())).unwrap().answer = None;
    }),
    ("an acknowledged order has another amount", "I3", |it| {
        it.rows.orders.insert((1, "a".to_owned()), 7);
    }),
    ("an acknowledged cancellation is gone", "I3", |it| {
        it.rows.claims.remove(&(1, "cancel-0".to_owned()));
    }),
    ("another request under the key was acknowledged", "I4", |it| {
        it.call(1, "other", Event::Ok(said(200, "a", "bytes")));
    }),
    ("a claim that nobody sent", "I4", |it| it.store(1, "order-9", "a", "bytes")),
    ("an answer is about another organisation's order", "I5", |it| it.call(1, "r", Event::Ok(said(200, "b", "bytes")))),
    ("an answer mentions another organisation's order", "I5", |it| {
        it.call(1, "r", Event::Ok(Said { ids: vec!["a".to_owned(), "b".to_owned()], ..said(200, "a", "bytes") }));
    }),
    ("a refusal mentions another organisation's order", "I5", |it| {
        it.call(1, "x", Event::Fail(Said { ids: vec!["b".to_owned()], ..refused(409, "order_reference_taken") }));
    }),
    ("an answer holds an order that only another client was told of", "I5", |it| {
        it.call(2, "r", Event::Ok(said(200, "lost", "theirs")));
        it.call(1, "r", Event::Fail(Said { ids: vec!["lost".to_owned()], ..refused(422, "idempotency_key_reused") }));
    }),
];

#[test]
fn a_good_history_is_left_in_peace() {
    assert_eq!(good().said(), "");
    let verdict = check(&good().history(), &good().rows, None);
    assert_eq!((verdict.calls, verdict.keys), (8, 3));
}

#[test]
fn every_fault_is_seen() {
    for (name, invariant, plant) in FAULTS {
        let mut books = good();
        plant(&mut books);
        assert!(books.violated().contains(invariant), "{name}: {invariant} is not named in {:?}", books.said());
    }
}

#[test]
fn without_an_acknowledgement_a_key_may_have_an_order_or_none() {
    let mut books = Books::empty();
    books.call(1, "r", Event::NoAnswer(Said::default()));
    assert_eq!(books.said(), "");
    books.store(1, KEY, "a", "bytes");
    assert_eq!(books.said(), "");
}
