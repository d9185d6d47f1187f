//! Periodic jobs. Each is a use case; here is only when it runs.

use crate::app::App;
use crate::app::clean_up::{DEFAULT_BATCH, clean_up};
use crate::app::inbox::rematch::apply_waiting;
use crate::app::key_cache::write_last_used;
use crate::app::recover_due::Recovery;
use rand::Rng;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

const CLEAN_UP_EVERY: Duration = Duration::from_mins(1);
/// How soon after its time an effect is looked at.
const RECOVER_EVERY: Duration = Duration::from_millis(500);
const LAST_USED_EVERY: Duration = Duration::from_secs(15);

/// Runs the jobs that some process has to run, until `stop` is cancelled. Any number of processes may.
pub async fn run(app: App, stop: CancellationToken) {
    tokio::join!(remove_expired(&app, stop.clone()), settle_due(&app, stop.clone()), apply_notifications(&app, stop));
}

/// Effects in hand are finished in the end: each is bounded by its lease.
async fn settle_due(app: &App, stop: CancellationToken) {
    let recovery = Recovery::new(app.clone());
    let mut beat = Beat::new(RECOVER_EVERY, stop);
    while beat.next().await {
        if let Err(error) = recovery.begin_due().await {
            tracing::warn!(%error, "recovery has to wait");
        }
    }
    recovery.finished().await;
}

/// What was received and not applied, and what waits for its order.
async fn apply_notifications(app: &App, stop: CancellationToken) {
    let mut beat = Beat::new(RECOVER_EVERY, stop);
    while beat.next().await {
        if let Err(error) = apply_waiting(app).await {
            tracing::warn!(%error, "notifications have to wait");
        }
    }
}

async fn remove_expired(app: &App, stop: CancellationToken) {
    let mut beat = Beat::new(CLEAN_UP_EVERY, stop.clone());
    while beat.next().await {
        match clean_up(app, DEFAULT_BATCH, &stop).await {
            Ok(cleaned) => {
                for each in cleaned.iter().filter(|each| each.keys > 0) {
                    tracing::info!(org_id = each.org_id.0, keys = each.keys, "expired keys removed");
                }
            }
            Err(error) => tracing::warn!(%error, "clean-up stopped"),
        }
    }
}

/// Runs the jobs of a process that serves requests, until `stop` is cancelled and once more then.
pub async fn serve_jobs(app: App, stop: CancellationToken) {
    let mut beat = Beat::new(LAST_USED_EVERY, stop);
    while beat.next().await {
        write_last_used(&app).await;
    }
    write_last_used(&app).await;
}

/// Says when to run a job again. The first time comes at random within the period, so that processes started together
/// do not stay in step.
struct Beat {
    wait: Duration,
    period: Duration,
    stop: CancellationToken,
}

impl Beat {
    fn new(period: Duration, stop: CancellationToken) -> Self {
        Self { wait: rand::rng().random_range(Duration::ZERO..period), period, stop }
    }

    /// Waits for the next time; `false` when there is none because of `stop`.
    async fn next(&mut self) -> bool {
        let wait = std::mem::replace(&mut self.wait, self.period);
        tokio::select! {
            () = tokio::time::sleep(wait) => !self.stop.is_cancelled(),
            () = self.stop.cancelled() => false,
        }
    }
}
