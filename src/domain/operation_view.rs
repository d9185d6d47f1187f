//! An effect as the API shows it, and where a list of effects goes on.

use crate::domain::ids::OrderId;
use crate::domain::operation::OperationState;
use crate::domain::reply::timestamp;
use serde::Serialize;
use std::fmt::Write;
use time::OffsetDateTime;
use uuid::Uuid;

/// One effect of one order, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    /// The order.
    pub order_id: OrderId,
    /// `charge`, `refund`, or a step.
    pub kind: String,
    /// Which one of its kind.
    pub fact: String,
    /// Where it stands.
    pub state: OperationState,
    /// Its key at the other side.
    pub operation_key: String,
    /// In the currency's minor unit, where money moves.
    pub amount: Option<i64>,
    /// The keyed request that waits for it.
    pub idempotency_key: Option<String>,
    /// How often it was taken up.
    pub attempts: i32,
    /// How often the other side was asked in vain.
    pub questions: i32,
    /// When somebody looks at it again.
    pub next_attempt_at: Option<OffsetDateTime>,
    /// Until when it is tried.
    pub deadline_at: OffsetDateTime,
    /// Until when somebody holds it.
    pub lease_until: Option<OffsetDateTime>,
    /// When it was first sent.
    pub first_sent_at: Option<OffsetDateTime>,
    /// When it was last sent.
    pub last_sent_at: Option<OffsetDateTime>,
    /// The other side's name for it.
    pub external_reference: Option<String>,
    /// The short code of what was last learned.
    pub last_outcome: Option<String>,
    /// When it was asked for.
    pub created_at: OffsetDateTime,
    /// When it last moved.
    pub updated_at: OffsetDateTime,
}

/// An effect's members, in the order of the documentation.
#[derive(Debug, Serialize)]
pub struct OperationView<'a> {
    object: &'static str,
    order_id: OrderId,
    kind: &'a str,
    fact: &'a str,
    state: &'static str,
    operation_key: &'a str,
    idempotency_key: Option<&'a str>,
    amount: Option<i64>,
    external_reference: Option<&'a str>,
    last_outcome: Option<&'a str>,
    attempts: i32,
    questions: i32,
    next_attempt_at: Option<String>,
    lease_until: Option<String>,
    first_sent_at: Option<String>,
    last_sent_at: Option<String>,
    deadline: String,
    created_at: String,
    updated_at: String,
}

impl<'a> OperationView<'a> {
    /// The view of one effect.
    #[must_use]
    pub fn of(operation: &'a Operation) -> Self {
        Self {
            object: "operation",
            order_id: operation.order_id,
            kind: &operation.kind,
            fact: &operation.fact,
            state: operation.state.as_str(),
            operation_key: &operation.operation_key,
            idempotency_key: operation.idempotency_key.as_deref(),
            amount: operation.amount,
            external_reference: operation.external_reference.as_deref(),
            last_outcome: operation.last_outcome.as_deref(),
            attempts: operation.attempts,
            questions: operation.questions,
            next_attempt_at: operation.next_attempt_at.map(timestamp),
            lease_until: operation.lease_until.map(timestamp),
            first_sent_at: operation.first_sent_at.map(timestamp),
            last_sent_at: operation.last_sent_at.map(timestamp),
            deadline: timestamp(operation.deadline_at),
            created_at: timestamp(operation.created_at),
            updated_at: timestamp(operation.updated_at),
        }
    }
}

/// Which effects a list shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OperationFilter {
    /// Only those in this state.
    pub state: Option<OperationState>,
    /// Only those of this kind.
    pub kind: Option<String>,
    /// Only those of this order.
    pub order_id: Option<OrderId>,
}

/// A position in a list of effects: everything below it comes next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperationCursor {
    /// The order.
    pub order_id: OrderId,
    /// The kind.
    pub kind: String,
    /// The fact.
    pub fact: String,
}

const VERSION: &str = "p1_";
const ID_DIGITS: usize = 32;

impl OperationCursor {
    /// Above every effect: the first page.
    #[must_use]
    pub fn start() -> Self {
        Self { order_id: OrderId(Uuid::max()), kind: String::new(), fact: String::new() }
    }

    /// Where the page below an effect begins.
    #[must_use]
    pub fn below(operation: &Operation) -> Self {
        Self { order_id: operation.order_id, kind: operation.kind.clone(), fact: operation.fact.clone() }
    }

    /// The text a client is given.
    #[must_use]
    pub fn encode(&self) -> String {
        let mut text = format!("{VERSION}{}", self.order_id.0.simple());
        // Neither part holds U+0000.
        for byte in self.kind.bytes().chain([0]).chain(self.fact.bytes()) {
            // Writing into a string does not fail.
            let _ = write!(text, "{byte:02x}");
        }
        text
    }

    /// Reads that text back; `None` for anything this server did not write.
    #[must_use]
    pub fn decode(text: &str) -> Option<Self> {
        let digits = text.strip_prefix(VERSION)?;
        let lower_hex = digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let (id, rest) = lower_hex.then(|| digits.split_at_checked(ID_DIGITS))??;
        if rest.len() % 2 != 0 {
            return None;
        }
        let byte = |at: usize| u8::from_str_radix(rest.get(at..at + 2)?, 16).ok();
        let bytes: Vec<u8> = (0..rest.len()).step_by(2).map(byte).collect::<Option<_>>()?;
        let rest = String::from_utf8(bytes).ok()?;
        let (kind, fact) = rest.split_once('\0')?;
        let order_id = OrderId(Uuid::try_parse(id).ok()?);
        (!fact.contains('\0')).then(|| Self { order_id, kind: kind.to_owned(), fact: fact.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_back_and_others_are_refused() {
        for (kind, fact) in [("charge", "1"), ("shipment_request", ""), ("", "茶")] {
            let order_id = OrderId(Uuid::from_u128(42));
            let cursor = OperationCursor { order_id, kind: kind.to_owned(), fact: fact.to_owned() };
            assert_eq!(OperationCursor::decode(&cursor.encode()), Some(cursor));
        }
        let zeros = "0".repeat(ID_DIGITS);
        for text in [
            "",
            "p1_",
            "o1_00",
            &format!("p1_{zeros}"),
            &format!("p1_{zeros}0"),
            &format!("p1_{zeros}ff00"),
            &format!("p1_{zeros}000000"),
            &format!("p1_{zeros}6A00"),
        ] {
            assert_eq!(OperationCursor::decode(text), None, "{text}");
        }
    }

    #[test]
    fn the_first_page_begins_above_every_effect() {
        let first = OperationCursor::start();
        assert_eq!(first.order_id, OrderId(Uuid::max()));
        assert_eq!(first.encode(), format!("p1_{}00", "f".repeat(32)));
        assert_eq!(OperationCursor::decode(&first.encode()), Some(first));
    }
}
