//! What an answer means to a client.

use crate::history::answer::{sha256, told};
use crate::history::line::{Event, Invoke, Op};
use ichido::http::kinds::KINDS;
use serde_json::Value;

/// What a call is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// `POST /v1/orders`.
    Order,
    /// `POST /v1/orders/{id}/cancel`.
    Cancel,
}

/// A call under a key. Every try sends the same bytes.
#[derive(Debug, Clone)]
pub struct Call {
    /// What it is about.
    pub what: What,
    /// Which of the organisations makes it, from 0.
    pub org: usize,
    /// Where it goes.
    pub path: String,
    /// Its key.
    pub key: String,
    /// Its body.
    pub body: Vec<u8>,
    /// What the order is to come to, if it makes one.
    pub amount: Option<i64>,
}

impl Call {
    /// How the history tells of a try of it.
    pub fn invoke(&self, client: u64, org: i64) -> Invoke {
        let op = if self.what == What::Order { Op::Order } else { Op::Change };
        let request = sha256(&[b"POST", self.path.as_bytes(), &self.body]);
        Invoke { client, op, org, key: self.key.clone(), request, amount: self.amount }
    }
}

/// An HTTP answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Status.
    pub status: u16,
    /// The exact bytes of the body.
    pub body: Vec<u8>,
    /// The last part of `Location`.
    pub location: Option<String>,
    /// Whether it says with `Retry-After` when to ask again.
    pub retry_after: bool,
}

/// What a client concludes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Meaning {
    /// It is settled, and stays so.
    Definite,
    /// The same has to be sent again.
    Again,
    /// The same has to be sent again, but this should not have been answered.
    WrongAgain(String),
    /// This should not have been answered, and asking again is of no use.
    Wrong(String),
}

impl Answer {
    /// What the client concludes.
    pub fn meaning(&self, what: What) -> Meaning {
        if self.status >= 400
            && let Some(complaint) = self.complaint()
        {
            return Meaning::WrongAgain(complaint);
        }
        match (what, self.status) {
            (_, 200) | (What::Order, 201 | 402) => Meaning::Definite,
            // A cancellation may have to wait for other work on its order, whatever the code says.
            (What::Cancel, 409) | (_, 202 | 408 | 503) => Meaning::Again,
            (What::Order, 409) if self.code().as_deref() == Some("request_in_flight") => Meaning::Again,
            (_, 500..) => Meaning::WrongAgain(self.to_string()),
            _ => Meaning::Wrong(self.to_string()),
        }
    }

    /// How the history tells of it; of `None`, when no whole answer came.
    pub fn event(answer: Option<&Self>) -> Event {
        told(answer.map(|answer| (answer.status, &answer.body[..], answer.location.as_deref())))
    }

    /// How the table counts it.
    pub fn label(&self) -> String {
        match self.code() {
            Some(code) if self.status >= 400 => format!("{} {code}", self.status),
            _ => self.status.to_string(),
        }
    }

    /// The order that it is about.
    pub fn order_id(&self) -> Option<String> {
        let json = self.json();
        let member = if self.status < 400 { "id" } else { "order_id" };
        let named = json.get(member).and_then(Value::as_str).map(str::to_owned);
        named.or_else(|| self.location.clone())
    }

    /// The payment's status, if it shows one.
    pub fn payment_status(&self) -> Option<String> {
        self.json().pointer("/payment/status").and_then(Value::as_str).map(str::to_owned)
    }

    /// What is wrong with a problem document; the list of codes is closed.
    fn complaint(&self) -> Option<String> {
        let code = self.code();
        let known = code.as_ref().and_then(|code| KINDS.iter().find(|kind| kind.code == code));
        match known {
            Some(kind) if kind.status == self.status => None,
            Some(kind) => Some(format!("the problem {} belongs to {}: {self}", kind.code, kind.status)),
            None => Some(format!("a problem that is not in the list: {self}")),
        }
    }

    fn code(&self) -> Option<String> {
        self.json().get("code").and_then(Value::as_str).map(str::to_owned)
    }

    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }
}

impl std::fmt::Display for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = String::from_utf8_lossy(&self.body);
        write!(f, "{} {}", self.status, text.chars().take(400).collect::<String>())
    }
}
