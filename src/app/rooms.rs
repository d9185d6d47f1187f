//! How many effects one process works on at once: altogether, and of one organisation, so that a gateway or partner that
//! hangs holds up nobody else's.

use crate::domain::ids::OrgId;
use crate::domain::step::StepKind;
use std::collections::HashMap;
use std::mem::{Discriminant, discriminant};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Kinds of work that do not take each other's room: a warehouse that hangs holds up no refund.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Lane {
    /// Charges and refunds.
    Money,
    /// Steps that were sent before, or tried.
    Steps,
    /// Steps of one kind that were never sent: one slow partner takes no other one's room. They need a connection only to be
    /// recorded, and share that one.
    FirstSendings(StepKind),
}

impl Lane {
    /// In one lane of one organisation, and altogether, where all kinds of first sendings are one: twice what one organisation can
    /// take with all of them. Between their calls all but the first sendings need a connection each.
    const fn limits(self) -> (usize, usize) {
        match self {
            Self::Money | Self::Steps => (8, 16),
            Self::FirstSendings(_) => (32, 256),
        }
    }
}

/// Room for one effect, given back when it is dropped.
pub(super) struct Room {
    _of_org: OwnedSemaphorePermit,
    _of_all: OwnedSemaphorePermit,
}

/// The rooms of a process.
#[derive(Default)]
pub(super) struct Rooms {
    all: Mutex<HashMap<Discriminant<Lane>, Arc<Semaphore>>>,
    of_orgs: Mutex<HashMap<(OrgId, Lane), Arc<Semaphore>>>,
}

impl Rooms {
    /// How many more may be begun.
    pub fn left(&self, org_id: OrgId, lane: Lane) -> i64 {
        let [of_org, of_all] = self.of(org_id, lane);
        i64::try_from(of_org.available_permits().min(of_all.available_permits())).unwrap_or_default()
    }

    /// Room for one more; `None` when there is none.
    pub fn take(&self, org_id: OrgId, lane: Lane) -> Option<Room> {
        let [of_org, of_all] = self.of(org_id, lane);
        Some(Room { _of_org: of_org.try_acquire_owned().ok()?, _of_all: of_all.try_acquire_owned().ok()? })
    }

    /// All the room that is left.
    pub fn take_all(&self, org_id: OrgId, lane: Lane) -> Vec<Room> {
        std::iter::from_fn(|| self.take(org_id, lane)).collect()
    }

    fn of(&self, org_id: OrgId, lane: Lane) -> [Arc<Semaphore>; 2] {
        let (of_org, of_all) = lane.limits();
        let mut orgs = self.of_orgs.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let room = |limit| move || Arc::new(Semaphore::new(limit));
        [
            Arc::clone(orgs.entry((org_id, lane)).or_insert_with(room(of_org))),
            Arc::clone(all.entry(discriminant(&lane)).or_insert_with(room(of_all))),
        ]
    }
}
