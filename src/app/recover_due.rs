//! Takes up what is due: charges whose holder is gone, questions whose time has come, refunds.

use crate::app::App;
use crate::app::breakers::Breakers;
use crate::app::charge::recover::recover_charge;
use crate::app::error::AppError;
use crate::app::refund::carry_out_refund;
use crate::app::steps::run::run_step;
use crate::db::deadline::Deadline;
use crate::db::operations::OperationId;
use crate::domain::ids::OrgId;
use crate::domain::step::StepKind;
use rand::seq::SliceRandom;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::task::TaskTracker;
use uuid::Uuid;

/// Effects of one organisation that one process works on at once: a gateway that hangs holds up nobody else's.
const PER_ORG: usize = 8;

/// Effects that one process works on at once. Between their calls they need connections.
const AT_ONCE: usize = 16;

/// Of an organisation, for its money (`true`) or its steps.
type Rooms = HashMap<(OrgId, bool), Arc<Semaphore>>;

/// What one process has taken up. Each effect is a task of its own, so that no round waits for another's gateway.
#[derive(Clone)]
pub struct Recovery {
    app: App,
    money: Arc<Semaphore>,
    steps: Arc<Semaphore>,
    rooms: Arc<Mutex<Rooms>>,
    breakers: Arc<Breakers>,
    work: TaskTracker,
}

impl Recovery {
    /// With nothing in hand.
    #[must_use]
    pub fn new(app: App) -> Self {
        Self {
            app,
            money: Arc::new(Semaphore::new(AT_ONCE)),
            steps: Arc::new(Semaphore::new(AT_ONCE)),
            rooms: Arc::default(),
            breakers: Arc::default(),
            work: TaskTracker::new(),
        }
    }

    /// One round: takes up what is due now and has room. Gives how many were begun.
    ///
    /// # Errors
    ///
    /// [`AppError::Unavailable`], [`AppError::Internal`] when it cannot be found out what is due; one effect's failure is
    /// its own.
    pub async fn begin_due(&self) -> Result<usize, AppError> {
        let mut begun = 0;
        let mut orgs = self.app.db.orgs_with_due_operations(Deadline::of_request()).await?;
        // Whoever comes first gets the room that is left; that is somebody else each time.
        orgs.shuffle(&mut rand::rng());
        for org_id in orgs {
            begun += self.begin_of(org_id).await?;
        }
        Ok(begun)
    }

    /// Money and steps have rooms of their own: a warehouse that hangs holds up no refund.
    async fn begin_of(&self, org_id: OrgId) -> Result<usize, AppError> {
        let mut begun = 0;
        let steps: Vec<_> = StepKind::ALL.iter().map(|kind| (*kind).to_owned()).collect();
        let silent = self.breakers.open_kinds(org_id);
        let money = ["charge", "refund"].map(str::to_owned);
        for (of_money, except) in [(true, steps), (false, [silent, money.to_vec()].concat())] {
            let (room, all) = (self.room(org_id, of_money), if of_money { &self.money } else { &self.steps });
            // Those in hand are leased, and not due.
            let limit = i64::try_from(room.available_permits().min(all.available_permits())).unwrap_or_default();
            if limit == 0 {
                continue;
            }
            for id in self.app.db.due_operations(org_id, limit, &except, Deadline::of_request()).await? {
                let permits = (Arc::clone(&room).try_acquire_owned(), Arc::clone(all).try_acquire_owned());
                if let (Ok(of_org), Ok(of_all)) = permits {
                    self.work.spawn(take_up(self.clone(), id, [of_org, of_all]));
                    begun += 1;
                }
            }
        }
        Ok(begun)
    }

    /// Waits until all that was begun has ended. Each is bounded by its lease.
    pub async fn finished(&self) {
        self.work.close();
        self.work.wait().await;
        self.work.reopen();
    }

    fn room(&self, org_id: OrgId, of_money: bool) -> Arc<Semaphore> {
        let mut rooms = self.rooms.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(rooms.entry((org_id, of_money)).or_insert_with(|| Arc::new(Semaphore::new(PER_ORG))))
    }
}

async fn take_up(recovery: Recovery, id: OperationId, _room: [OwnedSemaphorePermit; 2]) {
    let app = &recovery.app;
    let result = match id.kind.as_str() {
        "charge" => recover_charge(app, &id, "recovery", Uuid::now_v7()).await.map(|_| None),
        "refund" => carry_out_refund(app, &id).await.map(|_| None),
        _ => run_step(app, &id).await,
    };
    match result {
        Ok(Some(answered)) => recovery.breakers.note(id.org_id, &id.kind, answered),
        Ok(None) => {}
        Err(error) => {
            tracing::warn!(%error, order_id = %id.order_id, kind = id.kind, "effect not settled");
            // What cannot even be begun must not keep the others of its organisation from being seen.
            recovery.breakers.note(id.org_id, &id.kind, false);
        }
    }
}
