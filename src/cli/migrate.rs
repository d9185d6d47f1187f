//! `ichido migrate`.

use crate::cli::CliError;
use crate::cli::output::Output;
use crate::clock::Clock;
use crate::db::deadline::Deadline;
use crate::db::migrate::{MIGRATIONS, MigrateError, SchemaState, migrate};
use crate::{config, startup};
use serde_json::json;

/// Arguments of `migrate`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Change nothing; fail when a migration is pending
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    pub(super) output: Output,
}

/// Migrates, or looks whether that is needed.
pub async fn run(args: Args) -> Result<(), CliError> {
    let url = config::database_url()?;
    if args.check {
        let app = startup::app(&url, 1, Clock::System, config::payments(&config::PaymentTimes::default())?)?;
        match app.db.schema_state(Deadline::of_request()).await? {
            SchemaState::Current => {}
            SchemaState::Behind(pending) => return Err(CliError::Pending(pending)),
            SchemaState::Newer => return Err(MigrateError::Newer.into()),
            SchemaState::Drifted(version) => return Err(MigrateError::Drifted(version).into()),
        }
        args.output
            .print(&json!({ "applied": [], "version": MIGRATIONS.len() }), || "the schema is current".to_owned());
        return Ok(());
    }
    let applied = migrate(&url).await?;
    args.output.print(&json!({ "applied": applied, "version": MIGRATIONS.len() }), || match applied.as_slice() {
        [] => "nothing to do: the schema is current".to_owned(),
        names => format!("applied {}", names.join(", ")),
    });
    Ok(())
}
