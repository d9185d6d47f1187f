//! Takes up what is due: charges whose holder is gone, questions whose time has come, refunds, steps.

use crate::app::App;
use crate::app::breakers::Breakers;
use crate::app::charge::recover::recover_charge;
use crate::app::error::AppError;
use crate::app::refund::carry_out_refund;
use crate::app::rooms::{Lane, Room, Rooms};
use crate::app::steps::finish::Finisher;
use crate::app::steps::first_sending::{self, FirstSending, callable};
use crate::app::steps::run::run_step;
use crate::db::deadline::Deadline;
use crate::db::operations::OperationId;
use crate::domain::ids::OrgId;
use crate::domain::step::StepKind;
use rand::seq::SliceRandom;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{Notify, Semaphore};
use tokio_util::task::TaskTracker;
use uuid::Uuid;

/// First sendings that one process records one by one at the same time; each needs a connection.
const RECORDED_ALONE: usize = 4;

/// What one process has taken up. Each effect is a task of its own, so that no round waits for another's gateway.
#[derive(Clone)]
pub struct Recovery {
    app: App,
    rooms: Arc<Rooms>,
    finishers: Arc<Mutex<HashMap<OrgId, Arc<Finisher>>>>,
    alone: Arc<Semaphore>,
    breakers: Arc<Breakers>,
    work: TaskTracker,
    ended: Arc<Notify>,
}

impl Recovery {
    /// With nothing in hand.
    #[must_use]
    pub fn new(app: App) -> Self {
        Self {
            app,
            rooms: Arc::default(),
            finishers: Arc::default(),
            alone: Arc::new(Semaphore::new(RECORDED_ALONE)),
            breakers: Arc::default(),
            work: TaskTracker::new(),
            ended: Arc::default(),
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
            let silent = self.breakers.open_kinds(org_id);
            begun += self.begin_alone(org_id, Lane::Money, &step_kinds()).await?;
            let money = ["charge", "refund"].map(str::to_owned);
            begun += self.begin_alone(org_id, Lane::Steps, &[&silent[..], &money].concat()).await?;
            begun += self.begin_first_sendings(org_id, &silent).await?;
        }
        Ok(begun)
    }

    async fn begin_alone(&self, org_id: OrgId, lane: Lane, except: &[String]) -> Result<usize, AppError> {
        // Those in hand are leased, and not due.
        let limit = self.rooms.left(org_id, lane);
        if limit == 0 {
            return Ok(0);
        }
        let mut begun = 0;
        for id in self.app.db.due_operations(org_id, limit, except, Deadline::of_request()).await? {
            if let Some(room) = self.rooms.take(org_id, lane) {
                self.work.spawn(self.clone().take_up(id, room));
                begun += 1;
            }
        }
        Ok(begun)
    }

    async fn begin_first_sendings(&self, org_id: OrgId, silent: &[String]) -> Result<usize, AppError> {
        let (partners, unusable) = callable(&self.app, org_id, silent).await?;
        // So that it is tried, and complained of, not in every round.
        for kind in unusable {
            self.breakers.note(org_id, kind.as_str(), false);
        }
        let mut rooms = HashMap::new();
        let mut wanted = Vec::new();
        for to in partners {
            let left = self.rooms.take_all(org_id, Lane::FirstSendings(to.kind()));
            if !left.is_empty() {
                wanted.push((Arc::clone(&to), left.len()));
                rooms.insert(to.kind(), left);
            }
        }
        if wanted.is_empty() {
            return Ok(0);
        }
        let mut begun = 0;
        for sending in first_sending::take(&self.app, org_id, &wanted).await? {
            if let Some(room) = rooms.get_mut(&sending.kind()).and_then(Vec::pop) {
                self.work.spawn(self.clone().send_first(sending, room));
                begun += 1;
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

    /// Waits until something was settled that was begun, or has been since the last call: then there is room, and perhaps more
    /// due.
    pub async fn has_room_again(&self) {
        self.ended.notified().await;
    }

    async fn take_up(self, id: OperationId, room: Room) {
        let app = &self.app;
        let result = match id.kind.as_str() {
            "charge" => recover_charge(app, &id, "recovery", Uuid::now_v7()).await.map(|_| None),
            "refund" => carry_out_refund(app, &id).await.map(|_| None),
            _ => run_step(app, &id).await,
        };
        self.ended(&id, result, room);
    }

    async fn send_first(self, sending: FirstSending, room: Room) {
        let id = sending.id().clone();
        let finisher = self.finisher(id.org_id);
        let result = first_sending::carry_out(&self.app, sending, &finisher, &self.alone).await;
        self.ended(&id, result, room);
    }

    fn ended(&self, id: &OperationId, result: Result<Option<bool>, AppError>, room: Room) {
        drop(room);
        match result {
            Ok(answered) => {
                if let Some(answered) = answered {
                    self.breakers.note(id.org_id, &id.kind, answered);
                }
                self.ended.notify_one();
            }
            // It may be due still, so this is no reason to look at once.
            Err(error) => {
                tracing::warn!(%error, order_id = %id.order_id, kind = id.kind, "effect not settled");
                // What cannot even be begun must not keep the others of its organisation from being seen.
                self.breakers.note(id.org_id, &id.kind, false);
            }
        }
    }

    fn finisher(&self, org_id: OrgId) -> Arc<Finisher> {
        let mut finishers = self.finishers.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(finishers.entry(org_id).or_default())
    }
}

fn step_kinds() -> Vec<String> {
    StepKind::ALL.iter().map(|kind| (*kind).to_owned()).collect()
}
