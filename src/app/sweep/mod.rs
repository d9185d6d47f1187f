//! Compares our books with the gateway's: what it knows and we do not, and the reverse. For payments and refunds that nobody
//! told us of.
//!
//! Nothing is sent to the gateway but questions. What is certain goes through the functions that everybody uses
//! ([`crate::app::charge::settle`], [`crate::app::book_refund`]); what contradicts is put before a person, once. Running it twice, or by
//! two processes at once, does nothing twice.

mod payments;
mod raise;
mod refunds;
pub mod report;

use crate::app::App;
use crate::app::error::AppError;
use crate::app::gateways::FoundGateway;
use crate::app::sweep::report::{Found, Line, Report};
use crate::db::deadline::Deadline;
use crate::domain::ids::OrgId;
use crate::gateway::recent::{Recent, RecentRequest};
use crate::gateway::stripe::CLOCK_MARGIN;
use futures_util::future::BoxFuture;
use std::time::{Duration, Instant};
use time::OffsetDateTime;
use tokio_util::sync::CancellationToken;

/// Pages of each list that are read at most.
const MAX_PAGES: usize = 200;
/// The longest that one sweep goes on asking.
const MAX_TIME: Duration = Duration::from_mins(10);

/// Compares what was made at the organisation's gateway in the time back from now, until done or told to stop. `None`: it has
/// no gateway.
///
/// # Errors
///
/// [`AppError::Unavailable`] when the database or the gateway's settings cannot be had. A gateway that does not answer, or
/// one payment that could not be recorded, is told by the report.
pub async fn sweep(
    app: &App,
    org_id: OrgId,
    back: Duration,
    stop: &CancellationToken,
) -> Result<Option<Report>, AppError> {
    let Some(gateway) = app.gateways.of(app, org_id, Deadline::of_request()).await? else {
        return Ok(None);
    };
    let now = app.clock.now();
    let since = now - back;
    let end = Instant::now() + MAX_TIME;
    let mut sweep = Sweep { app, org_id, gateway, since, now, end, stop, report: Report::new(org_id, since) };
    let all = sweep.payments().await?;
    if let Some(seen) = all {
        sweep.unseen_payments(&seen).await?;
    }
    sweep.refunds().await?;
    Ok(Some(sweep.report))
}

/// Every organisation that has a gateway.
///
/// # Errors
///
/// [`AppError`].
pub async fn orgs_to_sweep(app: &App) -> Result<Vec<OrgId>, AppError> {
    let gateways = app.db.sealed_gateway_secrets(Deadline::of_request()).await?;
    let mut orgs: Vec<_> = gateways.into_iter().map(|(org_id, _)| org_id).collect();
    orgs.dedup();
    Ok(orgs)
}

struct Sweep<'a> {
    app: &'a App,
    org_id: OrgId,
    gateway: FoundGateway,
    since: OffsetDateTime,
    now: OffsetDateTime,
    end: Instant,
    stop: &'a CancellationToken,
    report: Report,
}

impl Sweep<'_> {
    /// Reads a list, page by page, as far as it may; the report tells where it could not be read to its end.
    async fn pages<T>(
        &mut self,
        ask: impl for<'g> Fn(&'g FoundGateway, RecentRequest) -> BoxFuture<'g, Recent<T>>,
    ) -> Vec<T> {
        let (mut items, mut after) = (Vec::new(), None);
        for _ in 0..MAX_PAGES {
            if self.is_over() {
                return items;
            }
            // What was made by the gateway's clock since then was made since then by ours.
            let request = RecentRequest { org_id: self.org_id, since: self.since - CLOCK_MARGIN, payment: None, after };
            match ask(&self.gateway, request).await {
                Ok(page) => {
                    items.extend(page.items);
                    after = page.next;
                }
                Err(reason) => {
                    self.report.stop(reason);
                    return items;
                }
            }
            if after.is_none() {
                return items;
            }
        }
        self.report.stop("too_many_to_list");
        items
    }

    /// Whether to stop here; the report then says so.
    fn is_over(&mut self) -> bool {
        if self.stop.is_cancelled() {
            self.report.stop("told_to_stop");
        } else if Instant::now() >= self.end {
            self.report.stop("took_too_long");
        } else {
            return false;
        }
        true
    }

    /// Adds what came of one payment or refund. A fault of one is not the others'; a database that is away is everybody's.
    fn note(&mut self, line: Line, found: Result<Found, AppError>) -> Result<(), AppError> {
        match found {
            Ok(found) => self.report.add(Line { found, ..line }),
            Err(AppError::Unavailable) => return Err(AppError::Unavailable),
            Err(error) => {
                let reference = line.reference.as_str();
                tracing::error!(%error, org_id = self.org_id.0, reference, "the sweep could not record what it found");
                self.report.add(Line { found: Found::Failed, ..line });
                self.report.stop("not_recorded");
            }
        }
        Ok(())
    }

    /// Money at the gateway that says it is ours and belongs to no order. Ids only: whoever looks has them there.
    fn stranger(&self, line: &Line) -> Found {
        let order_id = line.order_id.map(|id| id.to_string()).unwrap_or_default();
        let (what, reference) = (line.what, line.reference.as_str());
        tracing::warn!(org_id = self.org_id.0, what, reference, order_id, "the gateway has money for no order of ours");
        Found::Stranger
    }
}
