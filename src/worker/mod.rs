//! Periodic jobs. Each is a use case; here is only when it runs.

use crate::app::App;
use crate::app::clean_up::{DEFAULT_BATCH, clean_up};
use crate::app::forget_bodies::forget_bodies;
use crate::app::inbox::rematch::apply_waiting;
use crate::app::key_cache::write_last_used;
use crate::app::recover_due::Recovery;
use crate::app::sweep::report::{Found, Report};
use crate::app::sweep::{orgs_to_sweep, sweep};
use futures_util::StreamExt;
use rand::Rng;
use std::collections::HashMap;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

const CLEAN_UP_EVERY: Duration = Duration::from_mins(1);
/// How soon after its time an effect is looked at.
const RECOVER_EVERY: Duration = Duration::from_millis(500);
/// What ends within this time makes room together.
const CROWD: Duration = Duration::from_millis(10);
/// How often each gateway's books are compared with ours.
const SWEEP_EVERY: Duration = Duration::from_mins(15);
/// The furthest that a sweep looks back: for the first one of a process, or after a gateway was away for long.
const SWEEP_BACK: Duration = Duration::from_hours(24);
/// So much further than the last complete sweep, for what a gateway lists late.
const SWEEP_OVERLAP: Duration = Duration::from_hours(2);
/// Gateways asked at once. One that hangs holds up nobody but its own organisation and those behind it.
const SWEEPS_AT_ONCE: usize = 4;
const LAST_USED_EVERY: Duration = Duration::from_secs(15);

/// Runs the jobs that some process has to run, until `stop` is cancelled. Any number of processes may.
pub async fn run(app: App, stop: CancellationToken) {
    tokio::join!(
        remove_expired(&app, stop.clone()),
        sweep_gateways(&app, stop.clone()),
        settle_due(&app, stop.clone()),
        apply_notifications(&app, stop)
    );
}

/// Effects in hand are finished in the end: each is bounded by its lease.
async fn settle_due(app: &App, stop: CancellationToken) {
    let recovery = Recovery::new(app.clone());
    let mut beat = Beat::new(RECOVER_EVERY, stop);
    while beat.next_or(recovery.has_room_again()).await {
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
        match forget_bodies(app, &stop).await {
            Ok(0) => {}
            Ok(bodies) => tracing::info!(bodies, "old notifications emptied"),
            Err(error) => tracing::warn!(%error, "clean-up stopped"),
        }
    }
}

async fn sweep_gateways(app: &App, stop: CancellationToken) {
    let mut beat = Beat::new(SWEEP_EVERY, stop.clone());
    // When the last complete sweep of each organisation began.
    let mut complete = HashMap::new();
    while beat.next().await {
        let orgs = match orgs_to_sweep(app).await {
            Ok(orgs) => orgs,
            Err(error) => {
                tracing::warn!(%error, "the sweep has to wait");
                continue;
            }
        };
        let sweeps = orgs.into_iter().map(|org_id| {
            let last: Option<&Instant> = complete.get(&org_id);
            let back = last.map_or(SWEEP_BACK, |last| (last.elapsed() + SWEEP_OVERLAP).min(SWEEP_BACK));
            let (stop, began) = (&stop, Instant::now());
            async move {
                let result = sweep(app, org_id, back, stop).await;
                if let Err(error) = &result {
                    tracing::warn!(%error, org_id = org_id.0, "the sweep has to wait");
                }
                let report = result.ok().flatten()?;
                tell(&report);
                report.stopped_by.is_none().then_some((org_id, began))
            }
        });
        let done: Vec<_> = futures_util::stream::iter(sweeps).buffer_unordered(SWEEPS_AT_ONCE).collect().await;
        complete.extend(done.into_iter().flatten());
    }
}

/// A line where a sweep found something, or could not look at everything.
fn tell(report: &Report) {
    let (org_id, stopped_by) = (report.org_id.0, report.stopped_by);
    let (settled, booked) = (report.count(Found::Settled), report.count(Found::Booked));
    let (cases, strangers) = (report.count(Found::CaseOpened), report.count(Found::Stranger));
    if report.needs_person() || stopped_by.is_some() {
        tracing::warn!(org_id, settled, booked, cases, strangers, stopped_by, "the gateway's books differ");
    } else if settled + booked > 0 {
        tracing::info!(org_id, settled, booked, "the sweep found what was missing");
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
        self.next_or(std::future::pending()).await
    }

    /// Like [`Beat::next`], and the next time is earlier when there is a reason: shortly after it, so that what comes in a
    /// crowd is one reason.
    async fn next_or(&mut self, reason: impl Future<Output = ()>) -> bool {
        let wait = std::mem::replace(&mut self.wait, self.period);
        let early = async {
            reason.await;
            tokio::time::sleep(CROWD).await;
        };
        tokio::select! {
            () = tokio::time::sleep(wait) => !self.stop.is_cancelled(),
            () = early => !self.stop.is_cancelled(),
            () = self.stop.cancelled() => false,
        }
    }
}
