//! `ichido reconcile`.

use crate::app::sweep::sweep;
use crate::cli::output::Output;
use crate::cli::run::Stop;
use crate::cli::{CliError, admin_app};
use crate::domain::ids::OrgId;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Arguments of `reconcile`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Compare now: record what the gateway knows and we do not, and open cases for what contradicts
    #[arg(long, required = true)]
    sweep: bool,
    /// The organisation
    #[arg(long)]
    org: i64,
    /// How far back to look, by when a payment or refund was made
    #[arg(long, default_value = "24h", value_name = "TIME", value_parser = back)]
    since: Duration,
    #[command(flatten)]
    pub(super) output: Output,
}

/// Runs one sweep, to its end or until a signal. What needs a person is told and is no failure.
pub async fn run(args: Args) -> Result<(), CliError> {
    let app = admin_app().await?;
    let stop = CancellationToken::new();
    let mut signals = Stop::listen()?;
    let work = sweep(&app, OrgId(args.org), args.since, &stop);
    tokio::pin!(work);
    let report = tokio::select! {
        report = &mut work => report?,
        // The payment in hand is finished, and what was found is told.
        () = signals.signalled() => {
            stop.cancel();
            work.await?
        }
    };
    let report = report.ok_or_else(|| CliError::NoSuch(format!("gateway of organisation {}", args.org)))?;
    args.output.print(&report.object(), || report.text());
    report.stopped_by.map_or(Ok(()), |reason| Err(CliError::SweepIncomplete(reason)))
}

fn back(text: &str) -> Result<Duration, String> {
    let back = humantime::parse_duration(text).ok();
    let fits = back.filter(|back| (Duration::from_mins(1)..=Duration::from_hours(24 * 90)).contains(back));
    fits.ok_or_else(|| "a time from 1m to 90d is expected, such as 24h".to_owned())
}
