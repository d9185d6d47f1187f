//! The flags of programs that take payments.

use crate::app::gateways::PaymentSettings;
use crate::config::{self, ConfigError, PaymentTimes};
use humantime::Duration;

/// How payments are carried out.
#[derive(Debug, Clone, clap::Args)]
pub struct PaymentArgs {
    /// The longest call to a payment gateway
    #[arg(long, env = "ICHIDO_GATEWAY_TIMEOUT", default_value = "10s", value_name = "TIME")]
    gateway_timeout: Duration,
    /// How long a payment belongs to the process that works on it; at least 2 s longer than a call can take
    #[arg(long, env = "ICHIDO_LEASE", default_value = "30s", value_name = "TIME")]
    lease: Duration,
    /// When the gateway is asked what became of a payment whose answer was lost: after the call, then after each question
    /// that told nothing; four times, then a person decides [default: the lease without the call, 1m, 5m, 1h]
    #[arg(long, env = "ICHIDO_ASK_AFTER", value_delimiter = ',', value_name = "TIME,TIME,TIME,TIME")]
    ask_after: Vec<Duration>,
}

impl PaymentArgs {
    /// The settings, with the key of the environment.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] when they do not fit each other.
    pub fn settings(&self) -> Result<PaymentSettings, ConfigError> {
        config::payments(&PaymentTimes {
            gateway_timeout: self.gateway_timeout.into(),
            lease: self.lease.into(),
            ask_after: self.ask_after.iter().map(|wait| (*wait).into()).collect(),
        })
    }
}
