//! Where the next page of a list begins. Opaque to clients, so that it can change.

use crate::domain::ids::OrderId;
use uuid::Uuid;

/// The text of a place in a list, below an id: the list's version, so that no list takes another's, and the id's digits.
#[must_use]
pub fn encode(version: &str, below: Uuid) -> String {
    format!("{version}{}", below.simple())
}

/// Reads that text back; `None` for anything [`encode`] does not write for this list.
#[must_use]
pub fn decode(version: &str, text: &str) -> Option<Uuid> {
    let below = Uuid::try_parse(text.strip_prefix(version)?).ok()?;
    (encode(version, below) == text).then_some(below)
}

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
        encode(VERSION, self.0.0)
    }

    /// Reads that text back; `None` for anything this server did not write.
    #[must_use]
    pub fn decode(text: &str) -> Option<Self> {
        decode(VERSION, text).map(|id| Self(OrderId(id)))
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
