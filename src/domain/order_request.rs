//! What a client asks for, once it is known to be valid. Reading and checking it is [`crate::domain::validate`].

use serde::Deserialize;
use std::collections::BTreeMap;

/// Amounts are whole numbers up to 2^53 - 1, which every JSON reader holds exactly (RFC 7493, section 2.2).
pub const MAX_AMOUNT: i64 = (1 << 53) - 1;

/// A valid request for an order. `Deserialize` reads back what was stored in canonical form, without judging it by
/// today's rules.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct OrderRequest {
    /// The client's own name for the order, unique in its organisation.
    #[serde(default)]
    pub order_reference: Option<String>,
    /// Who orders.
    pub customer: Customer,
    /// ISO 4217, upper case.
    pub currency: String,
    /// What is ordered.
    pub lines: Vec<Line>,
    /// The client's own labels, in order of their names.
    #[serde(default)]
    pub metadata: Option<BTreeMap<String, String>>,
}

/// Who orders.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Customer {
    /// The client's name for the customer.
    pub reference: String,
    /// Where mail about the order goes.
    #[serde(default)]
    pub email: Option<String>,
}

/// One line of an order.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Line {
    /// The article.
    pub sku: String,
    /// What a person reads.
    #[serde(default)]
    pub description: Option<String>,
    /// How many.
    pub quantity: i64,
    /// The price of one, in the currency's minor unit.
    pub unit_amount: i64,
}

impl Line {
    /// Quantity times price; [`MAX_AMOUNT`] + 1 stands for anything above it.
    #[must_use]
    pub fn amount(&self) -> i64 {
        self.quantity.saturating_mul(self.unit_amount).min(MAX_AMOUNT + 1)
    }
}

impl OrderRequest {
    /// The sum of the lines; above [`MAX_AMOUNT`] it only says "too much". No overflow: 500 lines of at most 2^53.
    #[must_use]
    pub fn amount(&self) -> i64 {
        self.lines.iter().map(Line::amount).fold(0, i64::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LARGEST: i64 = 9_007_199_254_740_991;

    fn line(quantity: i64, unit_amount: i64) -> Line {
        Line { sku: "a".to_owned(), description: None, quantity, unit_amount }
    }

    #[test]
    fn a_line_is_quantity_times_price_and_what_is_too_much_is_one_above_the_most() {
        assert_eq!(MAX_AMOUNT, LARGEST);
        for (quantity, unit_amount, expected) in [
            (3, 70, 210),
            (1, 0, 0),
            (1, LARGEST, LARGEST),
            (2, 1 << 52, LARGEST + 1),
            (2, LARGEST, LARGEST + 1),
            (1_000_000, LARGEST, LARGEST + 1),
            (i64::MAX, i64::MAX, LARGEST + 1),
        ] {
            assert_eq!(line(quantity, unit_amount).amount(), expected, "{quantity} {unit_amount}");
        }
    }

    #[test]
    fn an_order_is_the_sum_of_its_lines() {
        let order = |lines: Vec<Line>| OrderRequest {
            order_reference: None,
            customer: Customer { reference: "c".to_owned(), email: None },
            currency: "JPY".to_owned(),
            lines,
            metadata: None,
        };
        assert_eq!(order(vec![line(3, 70), line(1, 90)]).amount(), 300);
        assert_eq!(order(vec![line(1, LARGEST), line(1, 1)]).amount(), LARGEST + 1);
        assert_eq!(order(vec![line(1_000_000, LARGEST); 500]).amount(), 500 * (LARGEST + 1));
    }
}
