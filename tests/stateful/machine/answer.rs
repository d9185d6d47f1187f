//! What a command has to be answered.

use crate::machine::order::View;
use crate::operation::Request;

/// What kind of answer it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Of the request that did the work.
    First,
    /// Of the same request before.
    Replay { original: u16 },
    /// Of another request before, by the organisation's policy.
    Mismatch { original: u16 },
    /// Recorded, and not settled.
    Accepted,
    /// Nothing was done.
    Refused,
}

/// An answer.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    pub kind: Kind,
    /// The code of a problem.
    pub code: Option<&'static str>,
    /// The order that it names.
    pub order: Option<usize>,
    /// How it shows it.
    pub view: Option<View>,
    /// Where the request differs from the key's own.
    pub differing: Vec<String>,
    /// The claim whose stored bytes it has.
    pub claim: Option<usize>,
}

impl Answer {
    /// A problem that used no key.
    pub fn refused(status: u16, code: &'static str, order: Option<usize>) -> Self {
        let (view, differing, claim) = Default::default();
        Self { status, kind: Kind::Refused, code: Some(code), order, view, differing, claim }
    }

    /// The order as it stands, not settled.
    pub fn accepted(order: usize, view: View) -> Self {
        let (code, differing, claim) = Default::default();
        Self { status: 202, kind: Kind::Accepted, code, order: Some(order), view: Some(view), differing, claim }
    }
}

/// What is stored under a key.
#[derive(Debug, Clone)]
pub struct Stored {
    pub status: u16,
    /// The order as it was then; none in a refusal.
    pub view: Option<View>,
}

/// Who has a key.
#[derive(Debug, Clone)]
pub struct Claim {
    /// A number that no other claim has, of the same key before or after it neither.
    pub number: usize,
    pub request: Request,
    pub order: usize,
    /// The payment that its answer waits for.
    pub payment: Option<usize>,
    pub stored: Option<Stored>,
}

/// Where two requests of the same path differ; `None` when the paths do.
pub fn differing(first: &Request, second: &Request) -> Option<Vec<String>> {
    let mut found = Vec::new();
    let mut note = |differs: bool, pointer: &str| {
        if differs {
            found.push(pointer.to_owned());
        }
    };
    match (first, second) {
        (Request::Create(one), Request::Create(two)) => {
            note(one.customer != two.customer, "/customer/reference");
            note(one.price != two.price, "/lines/0/unit_amount");
            note(one.reference != two.reference, "/order_reference");
            note(one.method.is_some() != two.method.is_some(), "/payment");
            note(one.method.is_some() && two.method.is_some() && one.method != two.method, "/payment/method");
        }
        (Request::Pay { order: one, method: with }, Request::Pay { order: two, method: other }) if one == two => {
            note(with != other, "/method");
        }
        (Request::Cancel { order: one }, Request::Cancel { order: two }) if one == two => {}
        _ => return None,
    }
    Some(found)
}
