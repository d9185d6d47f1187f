//! Builds a request of the contract out of what stands in its places, asks, and says what of the answer may be compared.

use super::slots::{Place, Slot};
use crate::inbox::endpoint::now;
use crate::openapi::Operation;
use crate::support::app::{Answer, TestApp};
use ichido::sim::signature::stripe_signature;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::{Method, RequestBuilder};
use serde_json::Value;
use std::collections::BTreeSet;
use uuid::Uuid;

/// An id as text.
const ID_LENGTH: usize = 36;

/// What stands in a place.
pub type Given = (Slot, String);

/// One request.
#[derive(Debug, Clone)]
pub struct Question {
    /// What stands where; what is not here is left out, or as in the contract's example.
    pub given: Vec<Given>,
    /// The secret that signs it, if signatures stand for keys.
    pub secret: String,
}

impl Question {
    /// The request, without who asks.
    pub fn request(&self, app: &TestApp, operation: &Operation) -> RequestBuilder {
        let mut path = operation.route.clone();
        let mut query = form_urlencoded::Serializer::new(String::new());
        let mut body = example(operation);
        for (slot, value) in &self.given {
            match slot.place {
                Place::Path => path = path.replace(&format!("{{{}}}", slot.name), &encoded(value)),
                Place::Query => drop(query.append_pair(&slot.name, value)),
                Place::Header => {}
                Place::Body => set(body.as_mut().unwrap(), &slot.name, value),
            }
        }
        let query = query.finish();
        let separator = if query.is_empty() { "" } else { "?" };
        let method = Method::from_bytes(operation.method.as_bytes()).unwrap();
        let mut request = app.request(method, &format!("{path}{separator}{query}"));
        for (slot, value) in self.given.iter().filter(|(slot, _)| slot.place == Place::Header) {
            request = request.header(&slot.name, value);
        }
        let Some(body) = body.map(|body| body.to_string()) else { return request };
        if operation.is_signed() {
            let signature = stripe_signature(self.secret.as_bytes(), now(), body.as_bytes());
            request = request.header("Stripe-Signature", signature);
        }
        request.header("Content-Type", "application/json").body(body)
    }

    /// Asks.
    pub async fn ask(&self, app: &TestApp, operation: &Operation, token: &str) -> Answer {
        let request = self.request(app, operation);
        let request = if operation.needs_key() { request.bearer_auth(token) } else { request };
        app.send(request, &operation.route).await
    }

    /// Which of these texts is in the answer and was not in the question, nor in what else was written down before.
    pub fn leaked<'a>(
        &self,
        answer: &Answer,
        telling: &'a BTreeSet<String>,
        written: &BTreeSet<String>,
    ) -> Option<&'a str> {
        let text = format!("{:?} {}", answer.headers, String::from_utf8_lossy(&answer.body));
        let given = self.given.iter().map(|(_, value)| value).chain(written);
        let asked = |secret: &str| given.clone().any(|value| value.contains(secret));
        telling.iter().map(String::as_str).find(|secret| text.contains(secret) && !asked(secret))
    }

    /// What of an answer has to be the same for what another has and what nobody has: all but moments, new ids, and the names
    /// that were asked for.
    pub fn told(&self, answer: &Answer) -> String {
        let names: BTreeSet<_> = answer.headers.keys().map(|name| name.as_str().to_owned()).collect();
        let kind = answer.header("content-type").unwrap_or_default();
        let body = match serde_json::from_slice::<Value>(&answer.body) {
            Ok(mut body) => {
                forget_new(&mut body);
                body.to_string()
            }
            Err(_) => String::from_utf8_lossy(&answer.body).into_owned(),
        };
        let mut told = format!("{} {names:?} {kind} {body}", answer.status);
        let mut asked: Vec<_> = self.given.iter().map(|(_, value)| value).filter(|value| value.len() > 6).collect();
        asked.sort_by_key(|value| std::cmp::Reverse(value.len()));
        for value in asked {
            told = told.replace(Value::String(value.clone()).to_string().trim_matches('"'), "<asked>");
        }
        without_ids(&told)
    }
}

/// The first example of a body, unpaid and without a reference, since an order with either is not made twice.
fn example(operation: &Operation) -> Option<Value> {
    let media = &operation.definition["requestBody"]["content"]["application/json"];
    if media.is_null() {
        return None;
    }
    let mut body = operation.body_examples().first().map_or_else(|| serde_json::json!({}), |(_, body)| (*body).clone());
    if operation.definition["operationId"] == "create_order" {
        body.as_object_mut().unwrap().retain(|name, _| !["payment", "order_reference"].contains(&name.as_str()));
    }
    Some(body)
}

/// Sets a member that is there, or whose parent is.
fn set(body: &mut Value, pointer: &str, value: &str) {
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    let parent = body.pointer_mut(parent).unwrap_or_else(|| panic!("no example has {pointer}"));
    parent[if name == "*" { "note" } else { name }] = Value::from(value);
}

/// One segment of a path.
fn encoded(value: &str) -> String {
    const KEPT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
    utf8_percent_encode(value, KEPT).to_string()
}

fn forget_new(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|name, _| name != "request_id");
            for (name, member) in members {
                let is_new = name.ends_with("_at")
                    || ["deadline", "next_cursor", "gateway_reference", "decided_by"].contains(&name.as_str());
                if is_new && member.is_string() {
                    *member = Value::from("<new>");
                }
                forget_new(member);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(forget_new),
        _ => {}
    }
}

fn without_ids(text: &str) -> String {
    let (mut told, mut rest) = (String::new(), text);
    while let Some(first) = rest.chars().next() {
        let found = rest.get(..ID_LENGTH).filter(|id| first.is_ascii_hexdigit() && Uuid::try_parse(id).is_ok());
        let length = found.map_or(first.len_utf8(), str::len);
        told.push_str(if found.is_some() { "<id>" } else { &rest[..length] });
        rest = &rest[length..];
    }
    told
}

/// A name like this one that nobody has: its last letter or digit is another one, and of a cursor that of the id in it.
pub fn nobodys(value: &str) -> String {
    const END_OF_ID: usize = "v1_".len() + 31;
    let is_cursor = value.get(1..3) == Some("1_") && value.len() > END_OF_ID;
    let last = || value.rfind(|letter: char| letter.is_ascii_alphanumeric()).unwrap();
    let at = if is_cursor { END_OF_ID } else { last() };
    let other = match value.as_bytes()[at] {
        b'0' => '1',
        byte if byte.is_ascii_digit() => '0',
        b'a' => 'b',
        byte if byte.is_ascii_lowercase() => 'a',
        b'A' => 'B',
        _ => 'A',
    };
    format!("{}{other}{}", &value[..at], &value[at + 1..])
}
