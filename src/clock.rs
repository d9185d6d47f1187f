//! The program's clock, as a value that tests can stop.

use time::OffsetDateTime;

/// Where `now` comes from. Leases and keeping times are the database's business, not this clock's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Clock {
    /// The machine's clock, in UTC.
    #[default]
    System,
    /// Always this moment.
    Fixed(OffsetDateTime),
}

impl Clock {
    /// The moment now.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "this is the function the lint sends everybody else to")]
    pub fn now(self) -> OffsetDateTime {
        match self {
            Self::System => OffsetDateTime::now_utc(),
            Self::Fixed(moment) => moment,
        }
    }
}
