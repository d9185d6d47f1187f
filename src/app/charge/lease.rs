//! A lease that this process asked for, and how much of it is surely left.

use crate::app::gateways::PaymentSettings;
use std::time::Instant;
use uuid::Uuid;

/// Names a lease and the moment before which it was certainly not given.
#[derive(Debug, Clone, Copy)]
pub struct Lease {
    /// Who holds it.
    pub token: Uuid,
    asked_at: Instant,
}

impl Lease {
    /// To be called before the statement that takes it is sent: the database's clock gives the lease later than that.
    #[must_use]
    pub fn begin() -> Self {
        Self { token: Uuid::new_v4(), asked_at: Instant::now() }
    }

    /// Whether a call that begins now ends within the lease. A process that was stopped for a while must not send what
    /// somebody else has taken up and perhaps given up since.
    #[must_use]
    pub fn outlasts_a_call(&self, settings: &PaymentSettings) -> bool {
        self.asked_at.elapsed() + settings.gateway_timeout <= settings.lease
    }
}
