//! Exact decimal numbers. No arithmetic and no rounding: two spellings are equal
//! exactly when they denote the same number.

use super::JsonErrorKind;
use std::borrow::Cow;

/// The longest spelling accepted, in characters. The exact decimal expansion of
/// any double that matters fits; unbounded digits would only be an attack.
const MAX_LENGTH: usize = 400;

/// The longest exponent accepted, in digits without leading zeros.
const MAX_EXPONENT_DIGITS: usize = 4;

/// A JSON number (RFC 8259, section 6) with its exact value.
///
/// Equality is mathematical: `1`, `1.0`, `1e0` and `10e-1` are equal, `-0` is `0`,
/// and 9007199254740993 is not 9007199254740992.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Number<'a> {
    negative: bool,
    /// Without leading or trailing zeros; empty for zero.
    digits: Cow<'a, str>,
    /// The value is `0.digits` times ten to this power; 0 for zero.
    point: i32,
}

impl<'a> Number<'a> {
    /// The number as an `i64`: `Some` exactly when it is an integer, however it is
    /// spelled, and in range.
    #[must_use]
    pub fn to_i64(&self) -> Option<i64> {
        if self.digits.is_empty() {
            return Some(0);
        }
        let places = usize::try_from(self.point).ok()?;
        // 19 digits hold every i64; the bound keeps 1e9999 from being written out.
        if places < self.digits.len() || places > 19 {
            return None;
        }
        let digits: i128 = self.digits.parse().ok()?;
        let zeros = u32::try_from(places - self.digits.len()).ok()?;
        let magnitude = digits.checked_mul(10_i128.checked_pow(zeros)?)?;
        i64::try_from(if self.negative { -magnitude } else { magnitude }).ok()
    }

    /// Whether the number is below zero.
    pub(crate) fn is_negative(&self) -> bool {
        self.negative
    }

    /// The significant digits without leading or trailing zeros (empty for zero),
    /// and `n` such that the magnitude is `0.digits` times ten to the power `n`.
    pub(crate) fn digits_and_point(&self) -> (&str, i32) {
        (&self.digits, self.point)
    }

    /// Reads one number token.
    ///
    /// # Errors
    ///
    /// `NumberTooLong` beyond the limits, `Syntax` for anything else than a number.
    pub(super) fn parse(token: &'a str) -> Result<Self, JsonErrorKind> {
        if token.len() > MAX_LENGTH {
            return Err(JsonErrorKind::NumberTooLong);
        }
        let unsigned = token.strip_prefix('-').unwrap_or(token);
        let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, parse_exponent(exponent)?),
            None => (unsigned, 0),
        };
        let (whole, fraction) = match mantissa.split_once('.') {
            Some((whole, fraction)) if is_digits(fraction) => (whole, fraction),
            Some(_) => return Err(JsonErrorKind::Syntax),
            None => (mantissa, ""),
        };
        if !is_digits(whole) || (whole.len() > 1 && whole.starts_with('0')) {
            return Err(JsonErrorKind::Syntax);
        }
        let all = if fraction.is_empty() { Cow::Borrowed(whole) } else { Cow::Owned([whole, fraction].concat()) };
        let leading = all.len() - all.trim_start_matches('0').len();
        let digits = trimmed(all);
        if digits.is_empty() {
            return Ok(Number { negative: false, digits, point: 0 });
        }
        let point = exponent + count(whole.len())? - count(leading)?;
        Ok(Number { negative: unsigned.len() < token.len(), digits, point })
    }
}

/// Without leading and trailing zeros.
fn trimmed(digits: Cow<'_, str>) -> Cow<'_, str> {
    match digits {
        Cow::Borrowed(digits) => Cow::Borrowed(digits.trim_matches('0')),
        Cow::Owned(digits) => Cow::Owned(digits.trim_matches('0').to_owned()),
    }
}

/// Reads what follows `e`: an optional sign and digits.
fn parse_exponent(text: &str) -> Result<i32, JsonErrorKind> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if !is_digits(unsigned) {
        return Err(JsonErrorKind::Syntax);
    }
    if unsigned.trim_start_matches('0').len() > MAX_EXPONENT_DIGITS {
        return Err(JsonErrorKind::NumberTooLong);
    }
    text.parse().map_err(|_| JsonErrorKind::NumberTooLong)
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The length as `i32`; a token has at most [`MAX_LENGTH`] characters, so it fits.
fn count(length: usize) -> Result<i32, JsonErrorKind> {
    i32::try_from(length).map_err(|_| JsonErrorKind::NumberTooLong)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(token: &str) -> Number<'_> {
        Number::parse(token).unwrap()
    }

    #[test]
    fn spelling_does_not_matter() {
        for token in ["1", "1.0", "1e0", "10e-1", "0.1e1", "0.001E+3", "100.00e-02"] {
            assert_eq!(number(token), number("1"), "{token}");
            assert_eq!(number(token).to_i64(), Some(1), "{token}");
        }
        for token in ["-0", "0.0", "-0e9", "0E-9999"] {
            assert_eq!(number(token), number("0"), "{token}");
            assert_eq!(number(token).to_i64(), Some(0), "{token}");
        }
        assert_ne!(number("9007199254740993"), number("9007199254740992"));
        assert_ne!(number("-1"), number("1"));
        assert_ne!(number("1"), number("10"));
        assert_ne!(number("0.1"), number("0.01"));
    }

    #[test]
    fn integers_only_when_exact_and_in_range() {
        assert_eq!(number("9223372036854775807").to_i64(), Some(i64::MAX));
        assert_eq!(number("-9223372036854775808").to_i64(), Some(i64::MIN));
        assert_eq!(number("-922337203685477580.8e1").to_i64(), Some(i64::MIN));
        assert_eq!(number("9007199254740993").to_i64(), Some(9_007_199_254_740_993));
        assert_eq!(number("1200e-2").to_i64(), Some(12));
        for token in ["9223372036854775808", "-9223372036854775809", "1.5", "1e-1", "1e19", "1e9999"] {
            assert_eq!(number(token).to_i64(), None, "{token}");
        }
    }

    #[test]
    fn grammar() {
        for token in [
            "", "-", "+1", "01", "-01", "1.", ".1", "1.e1", "1e", "1e+", "1e1.0", "1-2", "--1", "1e1e1", "1.2.3", "e1",
            "1e--1", "1e+-1",
        ] {
            assert_eq!(Number::parse(token), Err(JsonErrorKind::Syntax), "{token:?}");
        }
    }

    #[test]
    fn limits() {
        let long = "1".repeat(400);
        assert!(Number::parse(&long).is_ok());
        for token in [&format!("{long}1"), "1e10000", "0e-99999", "1e4294967297"] {
            assert_eq!(Number::parse(token), Err(JsonErrorKind::NumberTooLong));
        }
        assert_eq!(number("1e0000001"), number("10"));
        assert_eq!(number("1e9999"), number("10e9998"));
        assert_eq!(number("1e-9999"), number("0.1e-9998"));
    }
}
