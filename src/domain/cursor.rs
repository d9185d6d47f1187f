//! Where the next page of a list begins. Opaque to clients, so that it can change.

use crate::domain::ids::OrderId;
use uuid::Uuid;

/// A position in a list of orders: everything below this id comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor(pub OrderId);

const VERSION: &str = "o1_";

impl Cursor {
    /// Above every order: the first page.
    pub const START: Self = Self(OrderId(Uuid::max()));

    /// The text a client is given.
    #[must_use]
    pub fn encode(self) -> String {
        format!("{VERSION}{}", self.0.0.simple())
    }

    /// Reads that text back; `None` for anything this server did not write.
    #[must_use]
    pub fn decode(text: &str) -> Option<Self> {
        let digits = text.strip_prefix(VERSION)?;
        let lower_hex = digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        (digits.len() == 32 && lower_hex).then(|| Uuid::try_parse(digits).ok().map(|id| Self(OrderId(id))))?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_back_and_others_are_refused() {
        let cursor = Cursor(OrderId(Uuid::from_u128(42)));
        assert_eq!(Cursor::decode(&cursor.encode()), Some(cursor));
        for text in ["", "o1_", "o1_xyz", "o2_00000000000000000000000000000000", "o1_0000000000000000000000000000000A"]
        {
            assert_eq!(Cursor::decode(text), None, "{text}");
        }
    }
}
