//! `ichido cleanup`.

use crate::app::clean_up::{Cleaned, DEFAULT_BATCH, clean_up, count_due};
use crate::app::error::AppError;
use crate::app::forget_bodies::{BODIES_KEPT_FOR_DAYS, count_bodies_due, forget_bodies};
use crate::cli::output::Output;
use crate::cli::run::Stop;
use crate::cli::{CliError, admin_app};
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// Arguments of `cleanup`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Remove nothing; tell what would be removed
    #[arg(long)]
    dry_run: bool,
    /// Keys removed by one statement, every 250 ms
    #[arg(long, default_value_t = DEFAULT_BATCH, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    batch: u32,
    #[command(flatten)]
    pub(super) output: Output,
}

/// Removes what is due, until done or a signal.
pub async fn run(args: Args) -> Result<(), CliError> {
    let app = admin_app().await?;
    let (cleaned, bodies) = if args.dry_run {
        (count_due(&app).await?, count_bodies_due(&app).await?)
    } else {
        let stop = CancellationToken::new();
        let mut signals = Stop::listen()?;
        let work =
            async { Ok::<_, AppError>((clean_up(&app, args.batch, &stop).await?, forget_bodies(&app, &stop).await?)) };
        tokio::pin!(work);
        tokio::select! {
            cleaned = &mut work => cleaned?,
            // The batch in hand is finished, and what it removed is told.
            () = signals.signalled() => {
                stop.cancel();
                work.await?
            }
        }
    };
    let keys: u64 = cleaned.iter().map(|each| each.keys).sum();
    let by_org: Vec<_> =
        cleaned.iter().map(|Cleaned { org_id, keys }| json!({ "org_id": org_id, "keys": keys })).collect();
    let object = json!({ "dry_run": args.dry_run, "keys": keys, "orgs": by_org, "notification_bodies": bodies });
    args.output.print(&object, || {
        let (removed, emptied) =
            if args.dry_run { ("would be removed", "would be emptied") } else { ("removed", "emptied") };
        format!(
            "{keys} expired keys {removed}, {bodies} notifications older than {BODIES_KEPT_FOR_DAYS} days {emptied}"
        )
    });
    Ok(())
}
