//! Reads a request for an order out of JSON and finds everything that is wrong with it, each with its JSON pointer
//! (RFC 6901), so that a client can mend all of it at once.

use crate::domain::case::Decision;
use crate::domain::fields::{At, Errors, FieldError, Fields, Text};
use crate::domain::json::Json;
use crate::domain::order_request::{Customer, Line, MAX_AMOUNT, OrderRequest};
use iso_currency::Currency;
use std::collections::BTreeMap;

/// Lines in one order.
pub const MAX_LINES: usize = 500;
/// Members of `metadata`.
pub const MAX_METADATA: usize = 50;
/// At most this many errors are listed; more would help nobody.
pub const MAX_ERRORS: usize = 100;

/// A request that keeps the rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Valid {
    /// What is ordered.
    pub request: OrderRequest,
    /// What it is to be paid with, if it is.
    pub method: Option<String>,
}

const REFERENCE: Text = Text { min: 1, max: 64 };
const CUSTOMER_REFERENCE: Text = Text { min: 1, max: 255 };
const EMAIL: Text = Text { min: 3, max: 254 };
const METHOD: Text = Text { min: 1, max: 255 };
const DECISION: Text = Text { min: 1, max: 40 };
const REASON: Text = Text { min: 1, max: 2_000 };
const SKU: Text = Text { min: 1, max: 64 };
const DESCRIPTION: Text = Text { min: 0, max: 500 };
const METADATA_NAME: Text = Text { min: 1, max: 40 };
const METADATA_VALUE: Text = Text { min: 0, max: 500 };
const CURRENCY: Text = Text { min: 3, max: 3 };

/// Checks a body against the rules of `POST /v1/orders`.
///
/// # Errors
///
/// Every place that is wrong: at least one, at most [`MAX_ERRORS`].
pub fn validate(body: &Json<'_>) -> Result<Valid, Vec<FieldError>> {
    let mut errors = Errors::default();
    match read(body, &mut errors) {
        Some(valid) if errors.is_empty() => Ok(valid),
        _ => Err(errors.into_list(MAX_ERRORS)),
    }
}

/// `None` only after an error was noted.
fn read(body: &Json<'_>, errors: &mut Errors) -> Option<Valid> {
    let mut fields = Fields::of(body, &At::Root, errors)?;
    let order_reference = fields.optional("order_reference", |value, at, errors| REFERENCE.read(value, at, errors));
    let customer = fields.required("customer", read_customer);
    let currency = fields.required("currency", read_currency);
    let lines = fields.required("lines", read_lines);
    let expected = fields.optional("expected_amount", read_amount);
    let payment = fields.optional("payment", read_payment);
    let metadata = fields.optional("metadata", read_metadata);
    fields.refuse_others();
    let request = OrderRequest {
        order_reference: order_reference.flatten(),
        customer: customer?,
        currency: currency?,
        lines: lines?,
        metadata: metadata.flatten(),
    };
    let amount = request.amount();
    if amount > MAX_AMOUNT {
        errors.add(&At::Member(&At::Root, "lines"), "the sum of the lines is above 9007199254740991");
    } else if expected.flatten().is_some_and(|expected| expected != amount) {
        errors.add(
            &At::Member(&At::Root, "expected_amount"),
            "is not the sum of quantity times unit_amount over the lines",
        );
    }
    let method = payment.flatten();
    if method.is_some() && amount == 0 {
        errors.add(&At::Member(&At::Root, "payment"), "there is nothing to pay: the sum of the lines is 0");
    }
    Some(Valid { request, method })
}

fn read_customer(value: &Json<'_>, at: &At<'_>, errors: &mut Errors) -> Option<Customer> {
    let mut fields = Fields::of(value, at, errors)?;
    let reference = fields.required("reference", |value, at, errors| CUSTOMER_REFERENCE.read(value, at, errors));
    let email = fields.optional("email", read_email);
    fields.refuse_others();
    Some(Customer { reference: reference?, email: email.flatten() })
}

fn read_email(value: &Json<'_>, at: &At<'_>, errors: &mut Errors) -> Option<String> {
    let email = EMAIL.read(value, at, errors)?;
    let well_formed = !email.contains(is_space)
        && email
            .split_once('@')
            .is_some_and(|(user, host)| !user.is_empty() && !host.is_empty() && !host.contains('@'));
    if !well_formed {
        errors.add(at, "must be an e-mail address: something@somewhere, without white space");
    }
    well_formed.then_some(email)
}

/// White space as ECMA-262 has it, since the published pattern is read by its rules.
fn is_space(letter: char) -> bool {
    letter == '\u{FEFF}' || (letter.is_whitespace() && letter != '\u{85}')
}

fn read_currency(value: &Json<'_>, at: &At<'_>, errors: &mut Errors) -> Option<String> {
    let code = CURRENCY.read(value, at, errors)?;
    if is_currency(&code) {
        return Some(code);
    }
    errors.add(at, "must be an ISO 4217 code of a currency with a minor unit, in upper case");
    None
}

/// Whether a code is an ISO 4217 currency that amounts can be given in. Precious metals, test codes and "no currency"
/// have no minor unit and are not.
#[must_use]
pub fn is_currency(code: &str) -> bool {
    Currency::from_code(code).is_some_and(|currency| currency.code() == code && currency.exponent().is_some())
}

fn read_lines(value: &Json<'_>, at: &At<'_>, errors: &mut Errors) -> Option<Vec<Line>> {
    let Json::Array(items) = value else {
        errors.add(at, format!("must be an array, not {}", value.kind()));
        return None;
    };
    if items.is_empty() || items.len() > MAX_LINES {
        errors.add(at, "must have 1 to 500 lines");
        return None;
    }
    let lines: Vec<_> =
        items.iter().enumerate().filter_map(|(index, item)| read_line(item, &At::Element(at, index), errors)).collect();
    (lines.len() == items.len()).then_some(lines)
}

fn read_line(value: &Json<'_>, at: &At<'_>, errors: &mut Errors) -> Option<Line> {
    let mut fields = Fields::of(value, at, errors)?;
    let sku = fields.required("sku", |value, at, errors| SKU.read(value, at, errors));
    let description = fields.optional("description", |value, at, errors| DESCRIPTION.read(value, at, errors));
    let quantity = fields.required("quantity", |value, at, errors| errors.integer(value, at, 1, 1_000_000));
    let unit_amount = fields.required("unit_amount", read_amount);
    fields.refuse_others();
    Some(Line { sku: sku?, description: description.flatten(), quantity: quantity?, unit_amount: unit_amount? })
}

fn read_amount(value: &Json<'_>, at: &At<'_>, errors: &mut Errors) -> Option<i64> {
    errors.integer(value, at, 0, MAX_AMOUNT)
}

/// Checks a body against the rules of `POST /v1/orders/{order_id}/payments`; gives the payment method.
///
/// # Errors
///
/// Every place that is wrong.
pub fn validate_payment(body: &Json<'_>) -> Result<String, Vec<FieldError>> {
    let mut errors = Errors::default();
    let method = read_payment(body, &At::Root, &mut errors);
    method.filter(|_| errors.is_empty()).ok_or_else(|| errors.into_list(MAX_ERRORS))
}

/// Checks a body against the rules of `POST /v1/orders/{order_id}/cancel`: an empty object.
///
/// # Errors
///
/// Every place that is wrong.
pub fn validate_cancel(body: &Json<'_>) -> Result<(), Vec<FieldError>> {
    let mut errors = Errors::default();
    if let Some(fields) = Fields::of(body, &At::Root, &mut errors) {
        fields.refuse_others();
    }
    if errors.is_empty() { Ok(()) } else { Err(errors.into_list(MAX_ERRORS)) }
}

/// A person's decision, as it is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskedDecision {
    /// What.
    pub decision: Decision,
    /// Why.
    pub reason: String,
    /// What was seen.
    pub proof: Option<String>,
}

impl AskedDecision {
    /// The proof, where it is the gateway's name of a payment: `pi_` and letters, digits or `_`.
    #[must_use]
    pub fn reference(&self) -> Option<&str> {
        self.proof_named("pi_")
    }

    /// The proof, where it is the gateway's name of a refund: `re_` likewise.
    #[must_use]
    pub fn refund_reference(&self) -> Option<&str> {
        self.proof_named("re_")
    }

    fn proof_named(&self, prefix: &str) -> Option<&str> {
        let proof = self.proof.as_deref()?;
        let rest = proof.strip_prefix(prefix)?;
        let fits = (1..=252).contains(&rest.len()) && rest.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        fits.then_some(proof)
    }
}

/// Checks a body against the rules of `POST /v1/reconciliation-cases/{case_id}/decisions`.
///
/// # Errors
///
/// Every place that is wrong.
pub fn validate_decision(body: &Json<'_>) -> Result<AskedDecision, Vec<FieldError>> {
    let mut errors = Errors::default();
    let asked = read_decision(body, &mut errors);
    asked.filter(|_| errors.is_empty()).ok_or_else(|| errors.into_list(MAX_ERRORS))
}

fn read_decision(body: &Json<'_>, errors: &mut Errors) -> Option<AskedDecision> {
    let mut fields = Fields::of(body, &At::Root, errors)?;
    let decision = fields.required("decision", |value, at, errors| {
        let text = DECISION.read(value, at, errors)?;
        let decision = Decision::parse(&text);
        if decision.is_none() {
            errors.add(at, format!("must be one of {}", Decision::ALL.join(", ")));
        }
        decision
    });
    let reason = fields.required("reason", |value, at, errors| REASON.read(value, at, errors));
    let proof = fields.optional("proof", |value, at, errors| REASON.read(value, at, errors)).flatten();
    fields.refuse_others();
    let asked = AskedDecision { decision: decision?, reason: reason?, proof };
    if asked.decision == Decision::MarkDone && asked.proof.is_none() {
        errors.add(&At::Member(&At::Root, "proof"), "is required to mark something as done");
    }
    Some(asked)
}

fn read_payment(value: &Json<'_>, at: &At<'_>, errors: &mut Errors) -> Option<String> {
    let mut fields = Fields::of(value, at, errors)?;
    let method = fields.required("method", |value, at, errors| METHOD.read(value, at, errors));
    fields.refuse_others();
    method
}

fn read_metadata(value: &Json<'_>, at: &At<'_>, errors: &mut Errors) -> Option<BTreeMap<String, String>> {
    let Json::Object(members) = value else {
        errors.add(at, format!("must be an object, not {}", value.kind()));
        return None;
    };
    if members.len() > MAX_METADATA {
        errors.add(at, "must have at most 50 members");
        return None;
    }
    let entries: BTreeMap<_, _> = members
        .iter()
        .filter_map(|(name, value)| {
            let at = At::Member(at, name);
            if !METADATA_NAME.fits(name) {
                errors.add(&at, "the member's name must have 1 to 40 characters");
                return None;
            }
            METADATA_VALUE.read(value, &at, errors).map(|value| (name.clone().into_owned(), value))
        })
        .collect();
    (entries.len() == members.len()).then_some(entries)
}

#[cfg(test)]
#[path = "validate_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "validate_others_tests.rs"]
mod others_tests;
