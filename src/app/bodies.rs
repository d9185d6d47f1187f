//! Memory for the bodies of requests, apart by who may send them and by how large they are.

use crate::budget::Budget;
use std::sync::Arc;

const MIB: usize = 1024 * 1024;
/// The largest body that is small, in bytes; nearly every order is.
const SMALL: u64 = 16 * 1024;

/// Bytes that a process holds at a time. Whoever comes beyond is told to try again.
#[derive(Debug)]
pub struct Bodies {
    /// Of requests up to 16 KiB: however many large ones there are, these pass.
    pub small: Arc<Budget>,
    /// Of larger requests, of which 512 are as large as one may be.
    pub large: Arc<Budget>,
    /// Of deliveries to webhook endpoints. Anybody may send one, since who it is from is known only when it has been read.
    pub deliveries: Arc<Budget>,
}

impl Default for Bodies {
    fn default() -> Self {
        Self { small: Budget::of(64 * MIB), large: Budget::of(128 * MIB), deliveries: Budget::of(32 * MIB) }
    }
}

impl Bodies {
    /// What a request of so many bytes takes its memory from.
    #[must_use]
    pub fn of_request(&self, announced: u64) -> &Arc<Budget> {
        if announced <= SMALL { &self.small } else { &self.large }
    }
}
