//! `ichido org`.

use crate::cli::output::Output;
use crate::cli::{CliError, admin_app};
use crate::db::deadline::Deadline;
use crate::db::orgs::NewOrg;
use crate::domain::org::{Mode, OnMismatch, ReplayStatus};
use crate::domain::reply::timestamp;
use clap::builder::PossibleValuesParser;
use serde_json::json;

/// Subcommands of `org`.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Make an organisation
    Create(Create),
    /// List all organisations
    List(List),
}

/// Arguments of `org create`.
#[derive(Debug, clap::Args)]
pub struct Create {
    /// What people call it, 1 to 200 characters
    #[arg(long, value_parser = name)]
    name: String,
    /// For trying out, or for real trade
    #[arg(long, value_parser = PossibleValuesParser::new(Mode::ALL))]
    mode: String,
    /// What a request gets that carries another body under a used key
    #[arg(long, default_value = "reject", value_parser = PossibleValuesParser::new(OnMismatch::ALL))]
    on_mismatch: String,
    /// Status of a replay
    #[arg(long, default_value = "200", value_parser = PossibleValuesParser::new(ReplayStatus::ALL))]
    replay_status: String,
    /// How long a completed key is kept: forever, or a time of at least 24h such as 30d
    #[arg(long, default_value = "forever", value_parser = keeping_time)]
    keys_kept_for: KeepingTime,
    /// New orders a second, for each server; unlimited by default
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    new_claims_per_second: Option<u32>,
    #[command(flatten)]
    output: Output,
}

/// Arguments of `org list`.
#[derive(Debug, clap::Args)]
pub struct List {
    #[command(flatten)]
    output: Output,
}

/// Seconds, or for ever.
#[derive(Debug, Clone, Copy)]
struct KeepingTime(Option<i64>);

impl Command {
    pub(super) fn json(&self) -> bool {
        match self {
            Self::Create(args) => args.output.json,
            Self::List(args) => args.output.json,
        }
    }
}

/// Runs a subcommand.
pub async fn run(command: Command) -> Result<(), CliError> {
    match command {
        Command::Create(args) => create(args).await,
        Command::List(args) => list(args).await,
    }
}

async fn create(args: Create) -> Result<(), CliError> {
    let app = admin_app().await?;
    let org = NewOrg {
        name: args.name,
        // The parser lets only these spellings through; the defaults are never used.
        mode: Mode::parse(&args.mode).unwrap_or(Mode::Test),
        on_mismatch: OnMismatch::parse(&args.on_mismatch).unwrap_or(OnMismatch::Reject),
        replay_status: ReplayStatus::parse(&args.replay_status).unwrap_or(ReplayStatus::Ok),
        keys_kept_for_seconds: args.keys_kept_for.0,
        new_claims_per_second: args.new_claims_per_second,
    };
    let org_id = app.db.create_org(&org, Deadline::of_request()).await?;
    args.output.print(&json!({ "org_id": org_id }), || format!("organisation {org_id}"));
    Ok(())
}

async fn list(args: List) -> Result<(), CliError> {
    let app = admin_app().await?;
    let orgs = app.db.list_orgs(Deadline::of_request()).await?;
    let objects: Vec<_> = orgs
        .iter()
        .map(|named| {
            json!({
                "org_id": named.org.org_id,
                "name": named.name,
                "mode": named.org.mode.as_str(),
                "on_mismatch": named.org.on_mismatch.as_str(),
                "replay_status": named.org.replay_status.as_str(),
                "keys_kept_for_seconds": named.org.keys_kept_for_seconds,
                "new_claims_per_second": named.org.new_claims_per_second,
                "created_at": timestamp(named.created_at),
            })
        })
        .collect();
    args.output.print(&json!({ "data": objects }), || {
        let lines: Vec<_> = orgs
            .iter()
            .map(|named| format!("{:>6}  {:<4}  {}", named.org.org_id, named.org.mode.as_str(), named.name))
            .collect();
        lines.join("\n")
    });
    Ok(())
}

fn name(text: &str) -> Result<String, String> {
    let fits = (1..=200).contains(&text.chars().count()) && !text.contains('\0');
    if fits { Ok(text.to_owned()) } else { Err("1 to 200 characters are expected".to_owned()) }
}

fn keeping_time(text: &str) -> Result<KeepingTime, String> {
    if text == "forever" {
        return Ok(KeepingTime(None));
    }
    let seconds = humantime::parse_duration(text).ok().and_then(|time| i64::try_from(time.as_secs()).ok());
    let seconds = seconds.filter(|seconds| (86_400..=3_155_760_000).contains(seconds));
    seconds.map(|seconds| KeepingTime(Some(seconds))).ok_or_else(|| {
        "`forever` or a time from 24h to 100years is expected: clients retry for hours, and a key must outlive them"
            .to_owned()
    })
}
