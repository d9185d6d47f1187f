//! `ichido webhook-endpoint`.

use crate::app::inbox::endpoints::{NewSecret, add_secret, create_endpoint, retire_secret};
use crate::cli::output::{OfOrg, Output};
use crate::cli::{CliError, admin_app, must_exist, secret_in};
use crate::db::deadline::Deadline;
use crate::db::inbox::endpoints::{ListedEndpoint, ListedSecret};
use crate::domain::ids::OrgId;
use crate::domain::reply::timestamp;
use clap::builder::PossibleValuesParser;
use serde_json::json;
use uuid::Uuid;

/// Subcommands of `webhook-endpoint`.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Make an address that a provider's notifications come to, with the secret that they are signed with
    Create(Create),
    /// List an organisation's endpoints and what their secrets are called
    List(OfOrg),
    /// Add and retire the secrets of an endpoint
    #[command(subcommand)]
    Secret(Secret),
}

/// Subcommands of `webhook-endpoint secret`.
#[derive(Debug, clap::Subcommand)]
pub enum Secret {
    /// Add a secret beside those that the endpoint has; running servers accept it at once
    Add(Add),
    /// Let a secret count for a while yet and then no more
    Retire(Retire),
}

/// Arguments of `webhook-endpoint create`.
#[derive(Debug, clap::Args)]
pub struct Create {
    /// The organisation
    #[arg(long)]
    org: i64,
    /// Whose notifications
    #[arg(long, value_parser = PossibleValuesParser::new(["stripe"]))]
    provider: String,
    /// The environment variable that holds the signing secret; stored encrypted with `ICHIDO_SECRET_KEY`, labelled with the
    /// variable's name
    #[arg(long, value_name = "VAR")]
    secret_env: String,
    #[command(flatten)]
    output: Output,
}

/// Arguments of `webhook-endpoint secret add`.
#[derive(Debug, clap::Args)]
pub struct Add {
    /// The organisation
    #[arg(long)]
    org: i64,
    /// The endpoint's id
    #[arg(long, value_name = "ID")]
    endpoint: Uuid,
    /// The environment variable that holds the new secret; its name becomes the secret's label
    #[arg(long, value_name = "VAR")]
    secret_env: String,
    #[command(flatten)]
    output: Output,
}

/// Arguments of `webhook-endpoint secret retire`.
#[derive(Debug, clap::Args)]
pub struct Retire {
    /// The organisation
    #[arg(long)]
    org: i64,
    /// The endpoint's id
    #[arg(long, value_name = "ID")]
    endpoint: Uuid,
    /// The environment variable that holds the secret to be retired
    #[arg(long, value_name = "VAR")]
    secret_env: String,
    /// How long it counts yet: notifications that were signed with it may still be on their way; 0s ends it at once
    #[arg(long, default_value = "24h", value_name = "TIME")]
    grace: humantime::Duration,
    #[command(flatten)]
    output: Output,
}

impl Command {
    pub(super) fn json(&self) -> bool {
        match self {
            Self::Create(args) => args.output.json,
            Self::List(args) => args.output.json,
            Self::Secret(Secret::Add(args)) => args.output.json,
            Self::Secret(Secret::Retire(args)) => args.output.json,
        }
    }
}

/// Runs a subcommand.
pub async fn run(command: Command) -> Result<(), CliError> {
    match command {
        Command::Create(args) => create(&args).await,
        Command::List(args) => list(&args).await,
        Command::Secret(Secret::Add(args)) => add(&args).await,
        Command::Secret(Secret::Retire(args)) => retire(&args).await,
    }
}

async fn create(args: &Create) -> Result<(), CliError> {
    let app = admin_app().await?;
    let new = NewSecret { name: args.secret_env.clone(), secret: secret_in(&args.secret_env)? };
    let endpoint_id = create_endpoint(&app, OrgId(args.org), &new, Deadline::of_request()).await?;
    let path = path_of(endpoint_id);
    args.output.print(&json!({ "endpoint_id": endpoint_id, "path": path }), || {
        format!("{} notifications of organisation {} come to {path}", args.provider, args.org)
    });
    Ok(())
}

async fn list(args: &OfOrg) -> Result<(), CliError> {
    let app = admin_app().await?;
    must_exist(&app, OrgId(args.org)).await?;
    let endpoints = app.db.list_endpoints(OrgId(args.org), Deadline::of_request()).await?;
    let secret = |secret: &ListedSecret| {
        let retires_at = secret.retires_at.map(timestamp);
        json!({ "label": secret.label, "state": secret.state, "retires_at": retires_at })
    };
    let objects: Vec<_> = endpoints
        .iter()
        .map(|endpoint| {
            json!({
                "endpoint_id": endpoint.endpoint_id,
                "path": path_of(endpoint.endpoint_id),
                "provider": endpoint.provider,
                "created_at": timestamp(endpoint.created_at),
                "secrets": endpoint.secrets.iter().map(secret).collect::<Vec<_>>(),
            })
        })
        .collect();
    args.output.print(&json!({ "data": objects }), || {
        let secret = |secret: &ListedSecret| match secret.retires_at {
            Some(until) => format!("{} ({} at {})", secret.label, secret.state, timestamp(until)),
            None => secret.label.clone(),
        };
        let line = |endpoint: &ListedEndpoint| {
            let secrets: Vec<_> = endpoint.secrets.iter().map(secret).collect();
            let secrets = if secrets.is_empty() { "no secret".to_owned() } else { secrets.join(", ") };
            format!("{}  {}  {secrets}", path_of(endpoint.endpoint_id), endpoint.provider)
        };
        endpoints.iter().map(line).collect::<Vec<_>>().join("\n")
    });
    Ok(())
}

fn path_of(endpoint_id: Uuid) -> String {
    format!("/v1/webhooks/{endpoint_id}")
}

async fn add(args: &Add) -> Result<(), CliError> {
    let app = admin_app().await?;
    let new = NewSecret { name: args.secret_env.clone(), secret: secret_in(&args.secret_env)? };
    let label = add_secret(&app, OrgId(args.org), args.endpoint, &new, Deadline::of_request()).await?;
    let told = json!({ "endpoint_id": args.endpoint, "label": label, "state": "active" });
    args.output.print(&told, || format!("endpoint {} accepts the secret {label}", args.endpoint));
    Ok(())
}

async fn retire(args: &Retire) -> Result<(), CliError> {
    let app = admin_app().await?;
    let (secret, grace) = (secret_in(&args.secret_env)?, args.grace.into());
    // Before, so that nothing has happened when this fails.
    let endpoints = app.db.list_endpoints(OrgId(args.org), Deadline::of_request()).await?;
    let (label, until) =
        retire_secret(&app, OrgId(args.org), args.endpoint, &secret, grace, Deadline::of_request()).await?;
    let of_endpoint = endpoints.iter().filter(|listed| listed.endpoint_id == args.endpoint);
    let others = of_endpoint.flat_map(|listed| &listed.secrets).filter(|other| other.label != label);
    let left = others.filter(|other| other.retires_at.is_none_or(|end| end > until)).count();
    let until = timestamp(until);
    let told = json!({
        "endpoint_id": args.endpoint, "label": label, "state": "retiring", "retires_at": until, "secrets_left": left,
    });
    args.output.print(&told, || {
        let warning = if left == 0 { "; no other secret counts after that, so nothing will be accepted" } else { "" };
        format!("endpoint {} accepts the secret {label} until {until}{warning}", args.endpoint)
    });
    Ok(())
}
