//! `ichido gateway`.

use crate::app::set_gateway::set_gateway;
use crate::cli::output::{OfOrg, Output};
use crate::cli::{CliError, admin_app, must_exist, secret_in};
use crate::db::deadline::Deadline;
use crate::domain::ids::OrgId;
use clap::builder::PossibleValuesParser;
use serde_json::json;

/// Subcommands of `gateway`.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Set how an organisation's payments are taken; running servers use it at once
    Set(Set),
    /// Show how an organisation's payments are taken, without the secret
    Show(OfOrg),
}

/// Arguments of `gateway set`.
#[derive(Debug, clap::Args)]
pub struct Set {
    /// The organisation
    #[arg(long)]
    org: i64,
    /// Which kind of gateway
    #[arg(long, value_parser = PossibleValuesParser::new(["stripe"]))]
    provider: String,
    /// Where its API is, without /v1, such as <https://api.stripe.com>; https and a public address for a live organisation
    #[arg(long, value_name = "URL")]
    api_base: String,
    /// The environment variable that holds the API secret; stored encrypted with `ICHIDO_SECRET_KEY`
    #[arg(long, value_name = "VAR")]
    secret_env: String,
    #[command(flatten)]
    output: Output,
}

impl Command {
    pub(super) fn json(&self) -> bool {
        match self {
            Self::Set(args) => args.output.json,
            Self::Show(args) => args.output.json,
        }
    }
}

/// Runs a subcommand.
pub async fn run(command: Command) -> Result<(), CliError> {
    match command {
        Command::Set(args) => set(&args).await,
        Command::Show(args) => show(&args).await,
    }
}

async fn set(args: &Set) -> Result<(), CliError> {
    let app = admin_app().await?;
    let secret = secret_in(&args.secret_env)?;
    set_gateway(&app, OrgId(args.org), &args.api_base, &secret, Deadline::of_request()).await?;
    let (org_id, provider) = (args.org, &args.provider);
    args.output.print(&json!({ "org_id": org_id, "provider": provider }), || {
        format!("organisation {org_id} takes payments by {provider}")
    });
    Ok(())
}

async fn show(args: &OfOrg) -> Result<(), CliError> {
    let app = admin_app().await?;
    must_exist(&app, OrgId(args.org)).await?;
    let gateway = app.db.find_gateway(OrgId(args.org), Deadline::of_request()).await?;
    let gateway = gateway.ok_or_else(|| CliError::NoSuch(format!("gateway of organisation {}", args.org)))?;
    let (org_id, provider, api_base) = (args.org, gateway.provider, gateway.api_base);
    args.output.print(&json!({ "org_id": org_id, "provider": provider, "api_base": api_base }), || {
        format!("organisation {org_id} takes payments by {provider} at {api_base}")
    });
    Ok(())
}
