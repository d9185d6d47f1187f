//! How long a request may take, as one moment that all its waits share.

use std::time::Duration;
use tokio::time::Instant;

/// The moment by which a caller needs its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadline(Instant);

impl Deadline {
    /// Long enough for every bounded wait inside, short enough that a client gets its 503 within 3 s.
    pub const REQUEST: Duration = Duration::from_millis(2_800);

    /// `duration` from now.
    #[must_use]
    pub fn after(duration: Duration) -> Self {
        Self(Instant::now() + duration)
    }

    /// The deadline of a request that begins now.
    #[must_use]
    pub fn of_request() -> Self {
        Self::after(Self::REQUEST)
    }

    /// What is left of it; zero once it has passed.
    #[must_use]
    pub fn left(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }

    /// The moment itself.
    #[must_use]
    pub fn instant(self) -> Instant {
        self.0
    }
}
