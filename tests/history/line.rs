//! The format: one JSON object a line, in the order in which things happened at the clients.
//!
//! ```json
//! {"call":7,"at_ms":1201,"event":"invoke","client":3,"op":"order","org":1,"key":"order-0-4","request":"9f2c…","amount":2400}
//! {"call":7,"at_ms":1209,"event":"ok","status":201,"order_id":"0193…","amount":2400,"answer":"51aa…","ids":["0193…"]}
//! {"call":8,"at_ms":1300,"event":"fail","status":422,"code":"idempotency_key_reused","answer":"…","ids":[]}
//! {"call":9,"at_ms":1400,"event":"no_answer"}
//! ```
//!
//! The place of a line is the logical time: a call whose answer stands before another's `invoke` was over before that one
//! began. `at_ms` is for people.

use serde::{Deserialize, Serialize};

/// A line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// The number of the call. An answer has its call's.
    pub call: u64,
    /// Milliseconds since the history began.
    pub at_ms: u64,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A client is about to send.
    Invoke(Invoke),
    /// It was told what the key came to: 200, 201, 402.
    Ok(Said),
    /// It was told that this call has had no effect.
    Fail(Said),
    /// It was told nothing, or nothing definite (202, an unknown outcome).
    NoAnswer(Said),
}

/// What a call is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    /// It makes an order.
    Order,
    /// It does something to an order that is there.
    Change,
}

/// A call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Invoke {
    /// Who calls.
    pub client: u64,
    /// What for.
    pub op: Op,
    /// For which organisation.
    pub org: i64,
    /// Under which key.
    pub key: String,
    /// SHA-256 of method, path and body, in hex.
    pub request: String,
    /// What the order is to come to, in the currency's minor unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amount: Option<i64>,
}

/// What a client was told.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said {
    /// The HTTP status, if an answer came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The problem's code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The order that the answer is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order_id: Option<String>,
    /// The order's amount.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amount: Option<i64>,
    /// SHA-256 of the answer's bytes, in hex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// Every UUID in the body and in `Location`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ids: Vec<String>,
}
