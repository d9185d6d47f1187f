//! `ichido step`.

use crate::app::steps::set_policy::set_step_policy;
use crate::cli::output::{OfOrg, Output};
use crate::cli::{CliError, admin_app, must_exist, secret_in};
use crate::db::deadline::Deadline;
use crate::db::step_policies::StepPolicy;
use crate::domain::ids::OrgId;
use crate::domain::step::StepKind;
use clap::builder::PossibleValuesParser;
use serde_json::json;

/// Subcommands of `step`.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Set what is done for the confirmed orders of an organisation, and how to find out what became of it
    Set(Set),
    /// List the steps of an organisation's orders, without their secrets
    List(OfOrg),
}

/// Arguments of `step set`.
#[derive(Debug, clap::Args)]
pub struct Set {
    /// The organisation
    #[arg(long)]
    org: i64,
    /// Which step
    #[arg(long, value_parser = PossibleValuesParser::new(StepKind::ALL))]
    kind: String,
    /// Where the work is asked for; https and a public address for a live organisation
    #[arg(long)]
    url: String,
    /// Whether a second call under the same key returns the first one's result
    #[arg(long, value_parser = PossibleValuesParser::new(["true", "false"]))]
    honours_keys: String,
    /// Where it can be asked whether the work was done
    #[arg(long, value_name = "URL")]
    status_url: Option<String>,
    /// Who is told when nobody can know whether it was done
    #[arg(long, value_name = "TEAM", value_parser = team)]
    owner: String,
    /// Who carries out a cancellation or a correction; the owner unless another is named
    #[arg(long, value_name = "TEAM", value_parser = team)]
    corrector: Option<String>,
    /// How often it is taken up at most
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    max_attempts: u32,
    /// How long it is tried before a person looks at it
    #[arg(long, default_value = "2h", value_name = "TIME", value_parser = time)]
    deadline: std::time::Duration,
    /// The environment variable that holds a secret to sign calls with
    #[arg(long, value_name = "VAR")]
    secret_env: Option<String>,
    #[command(flatten)]
    output: Output,
}

impl Command {
    pub(super) fn json(&self) -> bool {
        match self {
            Self::Set(args) => args.output.json,
            Self::List(args) => args.output.json,
        }
    }
}

/// Runs a subcommand.
pub async fn run(command: Command) -> Result<(), CliError> {
    match command {
        Command::Set(args) => set(args).await,
        Command::List(args) => list(&args).await,
    }
}

async fn set(args: Set) -> Result<(), CliError> {
    let app = admin_app().await?;
    let secret = args.secret_env.as_deref().map(secret_in).transpose()?;
    let policy = StepPolicy {
        // The parser lets only these spellings through.
        kind: StepKind::parse(&args.kind).ok_or_else(|| CliError::NoSuch(format!("step {}", args.kind)))?,
        url: args.url,
        honours_keys: args.honours_keys == "true",
        status_url: args.status_url,
        secret_sealed: None,
        corrector: args.corrector.unwrap_or_else(|| args.owner.clone()),
        owner: args.owner,
        max_attempts: args.max_attempts,
        time: args.deadline,
    };
    set_step_policy(&app, OrgId(args.org), policy, secret.as_ref(), Deadline::of_request()).await?;
    let (org_id, kind) = (args.org, args.kind);
    args.output.print(&json!({ "org_id": org_id, "kind": kind }), || {
        format!("orders of organisation {org_id} that are confirmed from now on get the step {kind}")
    });
    Ok(())
}

async fn list(args: &OfOrg) -> Result<(), CliError> {
    let app = admin_app().await?;
    must_exist(&app, OrgId(args.org)).await?;
    let mut policies = app.db.step_policies_of(OrgId(args.org), Deadline::of_request()).await?;
    policies.sort_by_key(|(policy, _)| StepKind::ALL.iter().position(|kind| *kind == policy.kind.as_str()));
    let objects: Vec<_> = policies
        .iter()
        .map(|(policy, _)| {
            json!({
                "kind": policy.kind.as_str(),
                "url": shown(&policy.url),
                "honours_keys": policy.honours_keys,
                "status_url": policy.status_url.as_deref().map(shown),
                "signed": policy.secret_sealed.is_some(),
                "owner": policy.owner,
                "corrector": policy.corrector,
                "max_attempts": policy.max_attempts,
                "deadline_seconds": policy.time.as_secs(),
            })
        })
        .collect();
    args.output.print(&json!({ "data": objects }), || {
        let line = |(policy, _): &(StepPolicy, _)| {
            let keys = if policy.honours_keys { "honours keys" } else { "does not honour keys" };
            let asked = policy
                .status_url
                .as_ref()
                .map_or("cannot be asked".to_owned(), |url| format!("asked at {}", shown(url)));
            format!("{:<17}  {}, {keys}, {asked}; owner {}", policy.kind.as_str(), shown(&policy.url), policy.owner)
        };
        policies.iter().map(line).collect::<Vec<_>>().join("\n")
    });
    Ok(())
}

/// An address without what a partner may have put into its query to know the caller by.
fn shown(url: &str) -> String {
    url.split_once('?').map_or_else(|| url.to_owned(), |(address, _)| format!("{address}?…"))
}

fn team(text: &str) -> Result<String, String> {
    let fits = (1..=100).contains(&text.chars().count()) && !text.contains('\0');
    if fits { Ok(text.to_owned()) } else { Err("1 to 100 characters are expected".to_owned()) }
}

fn time(text: &str) -> Result<std::time::Duration, String> {
    let time = humantime::parse_duration(text).ok();
    let time = time.filter(|time| (1..=31_536_000).contains(&time.as_secs()));
    time.ok_or_else(|| "a time from 1s to a year, such as 2h, is expected".to_owned())
}
