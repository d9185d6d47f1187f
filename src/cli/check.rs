//! `ichido check`: whether this database is safe to serve from.

use crate::app::App;
use crate::app::check_secrets::{Secrets, check_secrets};
use crate::cli::CliError;
use crate::cli::output::Output;
use crate::clock::Clock;
use crate::db::deadline::Deadline;
use crate::db::migrate::SchemaState;
use crate::startup::{CLOCK_TOLERANCE, OLDEST_SERVER, danger};
use crate::{config, startup};
use serde::Serialize;
use serde_json::json;

/// Arguments of `check`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub(super) output: Output,
}

#[derive(Serialize)]
struct Check {
    name: &'static str,
    ok: bool,
    detail: String,
}

/// Checks, prints each result, and fails when one is bad.
pub async fn run(args: Args) -> Result<(), CliError> {
    let app =
        startup::app(&config::database_url()?, 1, Clock::System, config::payments(&config::PaymentTimes::default())?)?;
    let settings = app.db.server_settings(Deadline::of_request()).await?;
    let skew = (app.clock.now() - settings.now).abs();
    let schema = app.db.schema_state(Deadline::of_request()).await?;
    let danger = danger(&settings);
    let checks = [
        Check {
            name: "version",
            ok: settings.version >= OLDEST_SERVER,
            detail: format!("PostgreSQL {}.{}", settings.version / 10_000, settings.version % 10_000),
        },
        Check {
            name: "durability",
            ok: danger.is_none(),
            detail: danger.unwrap_or_else(|| "fsync, full_page_writes and synchronous_commit are on".to_owned()),
        },
        Check {
            name: "primary",
            ok: !settings.in_recovery,
            detail: if settings.in_recovery { "this is a standby" } else { "accepts writes" }.to_owned(),
        },
        Check { name: "schema", ok: schema == SchemaState::Current, detail: schema_detail(schema) },
        Check {
            name: "clock",
            ok: skew <= CLOCK_TOLERANCE,
            detail: format!("{:.3} s from the database's", skew.as_seconds_f64()),
        },
        secrets(&app, schema).await?,
    ];
    let failed = checks.iter().filter(|check| !check.ok).count();
    args.output.print(&json!({ "ok": failed == 0, "checks": checks }), || {
        let line =
            |check: &Check| format!("{:<5} {:<11} {}", if check.ok { "ok" } else { "FAIL" }, check.name, check.detail);
        checks.iter().map(line).collect::<Vec<_>>().join("\n")
    });
    if failed > 0 { Err(CliError::ChecksFailed(failed)) } else { Ok(()) }
}

/// Secrets are in tables that an older schema does not have.
async fn secrets(app: &App, schema: SchemaState) -> Result<Check, CliError> {
    if schema != SchemaState::Current {
        return Ok(Check { name: "secrets", ok: true, detail: "not looked at: the schema does not fit".to_owned() });
    }
    let Secrets { stored, closed } = check_secrets(app, Deadline::of_request()).await?;
    let detail = match (stored, closed) {
        (0, _) => "nothing is stored that needs ICHIDO_SECRET_KEY".to_owned(),
        (_, 0) => format!("{stored} stored secret(s) can be opened"),
        _ => format!(
            "{closed} of {stored} stored secret(s) cannot be opened: ICHIDO_SECRET_KEY is not set, or not the one they were \
             sealed with"
        ),
    };
    Ok(Check { name: "secrets", ok: closed == 0, detail })
}

fn schema_detail(schema: SchemaState) -> String {
    match schema {
        SchemaState::Current => "current".to_owned(),
        SchemaState::Behind(pending) => format!("{pending} migration(s) pending: run `ichido migrate`"),
        SchemaState::Newer => "migrated by a newer version of ichido".to_owned(),
        SchemaState::Drifted(version) => format!("migration {version} is not the one in this program"),
    }
}
