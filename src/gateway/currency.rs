//! ISO 4217 minor units and Stripe's amounts, in both directions.
//!
//! Source: Stripe Docs, "Supported currencies" (docs.stripe.com/currencies), sections "Zero-decimal currencies",
//! "Three-decimal currencies" and "Special cases". Its list of zero-decimal currencies names UGX, which its special cases
//! contradict; Stripe's API follows the special case (stripe.com support, "Deprecation of fractional ISK charges and
//! refunds", gives the same error text for ISK). HUF and TWD are special for payouts only; charges have two decimals.

use iso_currency::Currency;
use thiserror::Error;

/// Stripe takes whole units as they are. All but MGA have no minor unit in ISO 4217 either; MGA has two decimals there.
const ZERO_DECIMAL: [Currency; 15] = [
    Currency::BIF,
    Currency::CLP,
    Currency::DJF,
    Currency::GNF,
    Currency::JPY,
    Currency::KMF,
    Currency::KRW,
    Currency::MGA,
    Currency::PYG,
    Currency::RWF,
    Currency::VND,
    Currency::VUV,
    Currency::XAF,
    Currency::XOF,
    Currency::XPF,
];

/// No minor unit in ISO 4217; Stripe wants two decimals that are always 00.
const WHOLE_UNITS_IN_HUNDREDTHS: [Currency; 2] = [Currency::ISK, Currency::UGX];

/// Three decimals; Stripe wants the last one to be 0.
const THREE_DECIMAL: [Currency; 5] = [Currency::BHD, Currency::JOD, Currency::KWD, Currency::OMR, Currency::TND];

/// Why an amount cannot be said to the gateway. Never rounded instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum CurrencyError {
    /// Stripe does not document how amounts of this currency are written.
    #[error("the gateway does not document amounts of this currency")]
    NotSupported,
    /// The gateway cannot take so fine an amount, or a negative or too large one.
    #[error("the gateway cannot take this amount")]
    NotRepresentable,
}

impl CurrencyError {
    /// The code of [`crate::gateway::Outcome::Refused`].
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::NotSupported => "currency_not_supported",
            Self::NotRepresentable => "amount_not_representable",
        }
    }
}

/// Stripe's form of `amount`, which is in ISO 4217 minor units of `currency` (upper-case code).
///
/// # Errors
///
/// [`CurrencyError`].
pub fn to_stripe(amount: i64, currency: &str) -> Result<i64, CurrencyError> {
    let rule = Rule::of(currency)?;
    if amount < 0 {
        return Err(CurrencyError::NotRepresentable);
    }
    let scaled = rescale(amount, rule.iso_decimals, rule.stripe_decimals)?;
    if scaled % rule.stripe_step == 0 { Ok(scaled) } else { Err(CurrencyError::NotRepresentable) }
}

/// The ISO 4217 minor units of an amount that Stripe reports. `currency` is an upper-case code.
///
/// # Errors
///
/// [`CurrencyError`].
pub fn from_stripe(amount: i64, currency: &str) -> Result<i64, CurrencyError> {
    let rule = Rule::of(currency)?;
    if amount < 0 {
        return Err(CurrencyError::NotRepresentable);
    }
    rescale(amount, rule.stripe_decimals, rule.iso_decimals)
}

struct Rule {
    iso_decimals: u32,
    stripe_decimals: u32,
    /// Stripe takes multiples of this only.
    stripe_step: i64,
}

impl Rule {
    fn of(code: &str) -> Result<Self, CurrencyError> {
        let currency = Currency::from_code(code).ok_or(CurrencyError::NotSupported)?;
        let iso_decimals = u32::from(currency.exponent().ok_or(CurrencyError::NotSupported)?);
        let (stripe_decimals, stripe_step) = if ZERO_DECIMAL.contains(&currency) {
            (0, 1)
        } else if WHOLE_UNITS_IN_HUNDREDTHS.contains(&currency) {
            (2, 100)
        } else if THREE_DECIMAL.contains(&currency) {
            (3, 10)
        } else if iso_decimals == 2 {
            (2, 1)
        } else {
            // Guessing a scale would charge ten or a hundred times too much or too little.
            return Err(CurrencyError::NotSupported);
        };
        Ok(Self { iso_decimals, stripe_decimals, stripe_step })
    }
}

fn rescale(amount: i64, from: u32, to: u32) -> Result<i64, CurrencyError> {
    let factor = 10_i64.pow(from.abs_diff(to).min(4));
    if to >= from {
        return amount.checked_mul(factor).ok_or(CurrencyError::NotRepresentable);
    }
    if amount % factor == 0 { Ok(amount / factor) } else { Err(CurrencyError::NotRepresentable) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iso_currency::IntoEnumIterator;

    /// What one whole unit and the smallest unit that Stripe takes look like on each side.
    #[test]
    fn every_iso_currency_is_scaled_as_documented_or_refused() {
        let (mut supported, mut refused) = (0, Vec::new());
        for currency in Currency::iter() {
            let code = currency.code();
            let Ok(rule) = Rule::of(code) else {
                assert_eq!(to_stripe(100, code), Err(CurrencyError::NotSupported));
                assert_eq!(from_stripe(100, code), Err(CurrencyError::NotSupported));
                refused.push(code);
                continue;
            };
            supported += 1;
            let whole_iso = 10_i64.pow(u32::from(currency.exponent().unwrap()));
            let whole_stripe = match code {
                "BIF" | "CLP" | "DJF" | "GNF" | "JPY" | "KMF" | "KRW" | "MGA" | "PYG" | "RWF" | "VND" | "VUV"
                | "XAF" | "XOF" | "XPF" => 1,
                "BHD" | "JOD" | "KWD" | "OMR" | "TND" => 1_000,
                _ => 100,
            };
            for units in [0, 1, 2, 7, 999_999] {
                assert_eq!(to_stripe(units * whole_iso, code), Ok(units * whole_stripe), "{code}");
                assert_eq!(from_stripe(units * whole_stripe, code), Ok(units * whole_iso), "{code}");
            }
            for amount in 0..2_000 {
                match to_stripe(amount, code) {
                    Ok(stripe) => assert_eq!(from_stripe(stripe, code), Ok(amount), "{code} {amount}"),
                    Err(error) => {
                        assert_eq!(error, CurrencyError::NotRepresentable);
                        assert!(matches!(rule.stripe_step, 10) || code == "MGA", "{code} {amount}");
                    }
                }
            }
        }
        let undocumented: Vec<_> = refused.into_iter().filter(|code| !code.starts_with('X')).collect();
        assert_eq!(undocumented, ["CLF", "IQD", "LYD", "UYI", "UYW"]);
        assert!(supported > 150, "{supported}");
    }

    #[test]
    fn the_special_cases() {
        assert_eq!(to_stripe(5, "ISK"), Ok(500));
        assert_eq!(to_stripe(5, "UGX"), Ok(500));
        assert_eq!(from_stripe(500, "UGX"), Ok(5));
        assert_eq!(from_stripe(550, "ISK"), Err(CurrencyError::NotRepresentable));
        assert_eq!(to_stripe(1_045, "HUF"), Ok(1_045));
        assert_eq!(to_stripe(80_045, "TWD"), Ok(80_045));
        assert_eq!(to_stripe(500, "JPY"), Ok(500));
        assert_eq!(to_stripe(5_120, "KWD"), Ok(5_120));
        assert_eq!(to_stripe(5_124, "KWD"), Err(CurrencyError::NotRepresentable));
        assert_eq!(to_stripe(300, "MGA"), Ok(3));
        assert_eq!(to_stripe(301, "MGA"), Err(CurrencyError::NotRepresentable));
    }

    #[test]
    fn what_cannot_be_said_is_refused() {
        assert_eq!(to_stripe(-1, "EUR"), Err(CurrencyError::NotRepresentable));
        assert_eq!(from_stripe(-1, "EUR"), Err(CurrencyError::NotRepresentable));
        assert_eq!(to_stripe(i64::MAX, "ISK"), Err(CurrencyError::NotRepresentable));
        assert_eq!(to_stripe(1, "eur"), Err(CurrencyError::NotSupported));
        assert_eq!(to_stripe(1, "EURO"), Err(CurrencyError::NotSupported));
    }
}
