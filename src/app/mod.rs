//! The use cases, one verb for each file: the only place where database and decisions meet.
//!
//! Nothing here knows HTTP. Callers are the edges: `http`, `worker` and `cli`.

pub mod answer;
pub mod authenticate;
pub mod bodies;
pub mod book_refund;
mod breakers;
pub mod cancel_order;
mod carry_out_decision;
pub mod charge;
pub mod check_secrets;
mod claiming;
pub mod clean_up;
pub mod command;
pub mod create_key;
pub mod create_order;
pub mod decide_case;
pub mod error;
pub mod forget_bodies;
pub mod gateways;
pub mod inbox;
pub mod inspect;
pub mod key_cache;
pub mod limits;
pub mod list_orders;
pub mod pay_order;
mod payment;
mod persist;
mod place;
pub mod recover_due;
mod refund;
mod rooms;
mod seen_keys;
pub mod set_gateway;
pub mod steps;
pub mod sweep;
mod together;

use crate::app::bodies::Bodies;
use crate::app::charge::finish::Finishing;
use crate::app::error::AppError;
use crate::app::gateways::{Gateways, PaymentSettings};
use crate::app::key_cache::KeyCache;
use crate::app::limits::NewClaimLimits;
use crate::app::seen_keys::SeenKeys;
use crate::clock::Clock;
use crate::db::Db;
use crate::metrics::Metrics;
use std::future::Future;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;
use tracing::Instrument;

/// What the use cases work with, shared by a process. Cheap to clone.
#[derive(Clone)]
pub struct App(Arc<Parts>);

impl Deref for App {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}

/// Changes this clone only.
impl DerefMut for App {
    fn deref_mut(&mut self) -> &mut Parts {
        Arc::make_mut(&mut self.0)
    }
}

/// The parts of an [`App`].
#[derive(Clone)]
pub struct Parts {
    /// The database.
    pub db: Db,
    /// The process's counters.
    pub metrics: Arc<Metrics>,
    /// The clock.
    pub clock: Clock,
    /// API keys seen lately.
    pub keys: Arc<KeyCache>,
    /// How many new claims each organisation may still make.
    pub limits: Arc<NewClaimLimits>,
    /// How payments are carried out.
    pub payments: PaymentSettings,
    /// The organisations' gateways.
    pub gateways: Arc<Gateways>,
    /// First charges that succeeded and wait to be recorded.
    finishing: Arc<Finishing>,
    /// Idempotency keys answered lately.
    seen: Arc<SeenKeys>,
    /// Room for applying what a delivery told, right behind it.
    applying: Arc<Semaphore>,
    /// Memory for the bodies of requests.
    pub bodies: Arc<Bodies>,
    draining: Arc<AtomicBool>,
    in_flight: Arc<AtomicUsize>,
    work: TaskTracker,
}

/// Counts one request for as long as it lives.
pub struct InFlight(Arc<AtomicUsize>);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl App {
    /// Over a database.
    #[must_use]
    pub fn new(db: Db, metrics: Arc<Metrics>, clock: Clock, payments: PaymentSettings) -> Self {
        Self(Arc::new(Parts {
            db,
            metrics,
            clock,
            keys: Arc::default(),
            limits: Arc::default(),
            payments,
            gateways: Arc::default(),
            finishing: Arc::default(),
            seen: Arc::default(),
            applying: Arc::new(Semaphore::new(inbox::APPLYING)),
            bodies: Arc::default(),
            draining: Arc::default(),
            in_flight: Arc::default(),
            work: TaskTracker::new(),
        }))
    }

    /// The same, with batches of its own for the thread that calls: its requests share statements with each other, and no
    /// question or answer has to wake another thread. Has to be called in that thread's runtime.
    #[must_use]
    pub fn for_this_thread(&self) -> Self {
        let db = self.db.for_this_thread();
        Self(Arc::new(Parts { db, finishing: Arc::default(), ..Parts::clone(self) }))
    }

    /// Runs work that must finish even when nobody waits for it any more: a client that hangs up drops the future of its
    /// request, and this does not.
    pub fn detached<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
        // The log lines of the work still name its request.
        self.work.spawn(work.in_current_span())
    }

    /// Runs a use case that reads, detached: dropped in the middle it would give its connection back with the statement still
    /// running, and the next one would wait behind it.
    ///
    /// # Errors
    ///
    /// Those of the use case; [`AppError::Internal`] when it panics.
    pub async fn read<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, AppError>> + Send + 'static,
    ) -> Result<T, AppError> {
        self.detached(work).await.unwrap_or(Err(AppError::Internal))
    }

    /// From now on `/readyz` says no, so that load balancers send nothing more.
    pub fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    /// Whether [`App::drain`] was called.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    /// Counts a request from now on until the value is dropped.
    #[must_use]
    pub fn count_request(&self) -> InFlight {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        InFlight(Arc::clone(&self.in_flight))
    }

    /// Requests that have begun and are not answered.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Relaxed)
    }

    /// Waits until all detached work has ended. Each piece is bounded by its deadline, so this is too.
    pub async fn work_done(&self) {
        self.work.close();
        self.work.wait().await;
    }
}
