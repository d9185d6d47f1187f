//! How many new claims an organisation may make, for each process.

use crate::domain::ids::OrgId;
use governor::clock::{Clock, DefaultClock};
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};

/// The limiters of the organisations that have a limit. Behind a load balancer over *n* servers an organisation can make
/// up to *n* times its number.
#[derive(Default)]
pub struct NewClaimLimits {
    by_org: Mutex<HashMap<OrgId, Limiter>>,
    clock: DefaultClock,
}

struct Limiter {
    per_second: u32,
    bucket: Arc<DefaultDirectRateLimiter>,
}

impl NewClaimLimits {
    /// Takes one claim from an organisation's bucket, which holds one second's worth.
    ///
    /// # Errors
    ///
    /// When it is empty: the number of whole seconds, at least 1, after which there is room again.
    pub fn take(&self, org_id: OrgId, per_second: u32) -> Result<(), u64> {
        let Some(bucket) = self.bucket(org_id, per_second) else {
            return Ok(());
        };
        bucket.check().map_err(|denied| denied.wait_time_from(self.clock.now()).as_secs() + 1)
    }

    /// The organisation's bucket; a changed limit begins with a full one. `None` for a limit of zero, which cannot be set.
    fn bucket(&self, org_id: OrgId, per_second: u32) -> Option<Arc<DefaultDirectRateLimiter>> {
        let quota = Quota::per_second(NonZeroU32::new(per_second)?);
        // A panic while the lock was held cannot have left half a map.
        let mut by_org = self.by_org.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = || Limiter { per_second, bucket: Arc::new(RateLimiter::direct(quota)) };
        let limiter = by_org.entry(org_id).or_insert_with(fresh);
        if limiter.per_second != per_second {
            *limiter = fresh();
        }
        Some(Arc::clone(&limiter.bucket))
    }
}
