//! What clients ask for: bodies, payment methods and their shares.

use crate::choice::{Choice, choose};
use crate::judge::steps::STEPS;
use rand::Rng;
use rand::rngs::StdRng;
use serde_json::{Value, json};

/// How a payment behaves at the simulated gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Succeeds.
    Good,
    /// Is declined.
    Declined,
    /// Succeeds at once, and is answered after so many milliseconds.
    Slow(u32),
    /// Succeeds, and is never answered.
    LostAnswer,
    /// Does not arrive the first time.
    LostRequest,
    /// 500 the first time, not done.
    ErrorThenGood,
    /// 409 the first time, not done.
    Conflict,
}

/// What partners do wrong, and then right.
const PARTNER_FAULTS: [&str; 4] = ["lost_answer", "lost_request", "error_500_then_ok", "slow_700"];

/// An order to be made.
#[derive(Debug, Clone)]
pub struct Order {
    /// The payment, if it carries one.
    pub method: Option<Method>,
    /// What its lines come to.
    pub amount: i64,
    /// The request's body.
    pub body: Vec<u8>,
}

const METHODS: [Choice<Method>; 7] = [
    (50, |_| Method::Good),
    (10, |_| Method::Declined),
    (12, |random| Method::Slow(random.random_range(300..=2_500))),
    (8, |_| Method::LostAnswer),
    (8, |_| Method::LostRequest),
    (6, |_| Method::ErrorThenGood),
    (6, |_| Method::Conflict),
];

impl Method {
    /// The word for it in a request.
    fn word(self) -> String {
        match self {
            Self::Good => "pm_card_visa".to_owned(),
            Self::Declined => "pm_card_chargeDeclined".to_owned(),
            Self::Slow(millis) => format!("pm_sim_slow_{millis}"),
            Self::LostAnswer => "pm_sim_lost_answer".to_owned(),
            Self::LostRequest => "pm_sim_lost_request".to_owned(),
            Self::ErrorThenGood => "pm_sim_error_500_then_ok".to_owned(),
            Self::Conflict => "pm_sim_conflict_409".to_owned(),
        }
    }
}

impl Order {
    /// The next one of a client; `paid` is the share with a payment, in percent.
    pub fn choose(random: &mut StdRng, customer: &str, paid: u32) -> Self {
        let method = if random.random_range(0..100) < paid { choose(&METHODS, random) } else { None };
        let mut amount = 0;
        let lines: Vec<_> = (0..random.random_range(1..=3))
            .map(|line| {
                let (quantity, unit_amount) = (random.random_range(1..=4_i64), random.random_range(100..=3_000_i64));
                amount += quantity * unit_amount;
                json!({ "sku": format!("SKU-{line}"), "quantity": quantity, "unit_amount": unit_amount })
            })
            .collect();
        let mut body = json!({
            "customer": { "reference": customer },
            "currency": "JPY",
            "lines": lines,
            "expected_amount": amount,
            "metadata": { "channel": "fault run" },
        });
        // Some partners fail, too, of orders that are paid.
        if method.is_some() && random.random_range(0..100) < 30 {
            let (step, word) = (STEPS[random.random_range(0..STEPS.len())], PARTNER_FAULTS[random.random_range(0..4)]);
            body["metadata"][format!("sim_{step}")] = word.into();
        }
        if let (Some(method), Some(members)) = (method, body.as_object_mut()) {
            members.insert("payment".to_owned(), json!({ "method": method.word() }));
        }
        Self { method, amount, body: body.to_string().into_bytes() }
    }

    /// The body of another order, for the same key.
    pub fn another(&self) -> Vec<u8> {
        let mut body: Value = serde_json::from_slice(&self.body).unwrap_or_default();
        body["metadata"]["channel"] = "another".into();
        body.to_string().into_bytes()
    }
}
