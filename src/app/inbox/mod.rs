//! Notifications: received and committed first, applied afterwards in a transaction of their own.
//!
//! [`receive`] answers a delivery once receipt and event are committed; it waits for nobody's order. [`apply`] then does what
//! the fact allows, under the order's lock: at once behind the delivery, and by the worker ([`rematch`]) for whatever was
//! committed and not applied.

pub mod apply;
mod books;
pub mod endpoints;
mod evidence;
pub mod list;
mod money;
pub mod receive;
pub mod rematch;
mod tell;

pub(in crate::app) use books::{has_been_told_failed, recount};
pub(in crate::app) use tell::{SeenFact, tell};

use std::time::Duration;

/// The one provider.
pub(in crate::app) const PROVIDER: &str = "stripe";

/// How long a fact waits for its order, or for what it depends on.
pub const WAIT: Duration = Duration::from_hours(72);

/// How much is applied at once behind deliveries, in one process. Whatever waits for an order's lock holds a connection.
pub(in crate::app) const APPLYING: usize = 2;

/// Who did it, in an order's story.
const ACTOR: &str = "notification";
