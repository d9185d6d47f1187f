//! `ichido key`.

use crate::app::create_key::create_key;
use crate::app::error::AppError;
use crate::cli::output::{OfOrg, Output};
use crate::cli::{CliError, admin_app, must_exist};
use crate::db::deadline::Deadline;
use crate::domain::ids::OrgId;
use crate::domain::reply::timestamp;
use crate::domain::scope::Scope;
use clap::builder::PossibleValuesParser;
use serde_json::json;
use time::OffsetDateTime;

/// Subcommands of `key`.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Make an API key; its token is shown once
    Create(Create),
    /// List an organisation's keys
    List(OfOrg),
    /// End a key; running servers refuse it within 10 s
    Revoke(Revoke),
}

/// Arguments of `key create`.
#[derive(Debug, clap::Args)]
pub struct Create {
    /// The organisation
    #[arg(long)]
    org: i64,
    /// What the key may do; give it several times for several scopes
    #[arg(long = "scope", required = true, value_parser = PossibleValuesParser::new(Scope::ALL))]
    scopes: Vec<String>,
    /// The key ends by itself after this time, such as 90d; never by default
    #[arg(long)]
    expires_in: Option<humantime::Duration>,
    #[command(flatten)]
    output: Output,
}

/// Arguments of `key revoke`.
#[derive(Debug, clap::Args)]
pub struct Revoke {
    /// The organisation
    #[arg(long)]
    org: i64,
    /// The key's id, the third part of its token
    #[arg(long = "key")]
    key_id: String,
    #[command(flatten)]
    output: Output,
}

impl Command {
    pub(super) fn json(&self) -> bool {
        match self {
            Self::Create(args) => args.output.json,
            Self::List(args) => args.output.json,
            Self::Revoke(args) => args.output.json,
        }
    }
}

/// Runs a subcommand.
pub async fn run(command: Command) -> Result<(), CliError> {
    match command {
        Command::Create(args) => create(args).await,
        Command::List(args) => list(args).await,
        Command::Revoke(args) => revoke(args).await,
    }
}

async fn create(args: Create) -> Result<(), CliError> {
    let app = admin_app().await?;
    let scopes: Vec<_> = args.scopes.iter().filter_map(|scope| Scope::parse(scope)).collect();
    let expires_at = args.expires_in.map(|time| ends_at(app.clock.now(), *time)).transpose()?;
    let key = match create_key(&app, OrgId(args.org), &scopes, expires_at, Deadline::of_request()).await {
        Err(AppError::NotFound) => return Err(CliError::NoSuch(format!("organisation {}", args.org))),
        other => other?,
    };
    args.output.print(&json!({ "key_id": key.key_id(), "token": key.token() }), || {
        format!("key {}\ntoken, shown only now: {}", key.key_id(), key.token())
    });
    Ok(())
}

/// A key that should end and of which nobody can say when must not be one that never ends.
fn ends_at(now: OffsetDateTime, after: std::time::Duration) -> Result<OffsetDateTime, CliError> {
    let end = time::Duration::try_from(after).ok().and_then(|after| now.checked_add(after));
    end.ok_or_else(|| CliError::NoSuch("such moment: --expires-in is too long".to_owned()))
}

async fn list(args: OfOrg) -> Result<(), CliError> {
    let app = admin_app().await?;
    must_exist(&app, OrgId(args.org)).await?;
    let keys = app.db.list_api_keys(OrgId(args.org), Deadline::of_request()).await?;
    let now = app.clock.now();
    let time = |moment: Option<OffsetDateTime>| moment.map(timestamp);
    let objects: Vec<_> = keys
        .iter()
        .map(|key| {
            json!({
                "key_id": key.key_id,
                "scopes": key.scopes,
                "created_at": timestamp(key.created_at),
                "expires_at": time(key.expires_at),
                "revoked_at": time(key.revoked_at),
                "last_used_at": time(key.last_used_at),
            })
        })
        .collect();
    args.output.print(&json!({ "data": objects }), || {
        let line = |key: &crate::db::api_keys::ListedKey| {
            let expired = key.expires_at.is_some_and(|end| end <= now);
            let state = if key.revoked_at.is_some() {
                "revoked"
            } else if expired {
                "expired"
            } else {
                "active"
            };
            format!("{}  {state:<7}  {}", key.key_id, key.scopes.join(" "))
        };
        keys.iter().map(line).collect::<Vec<_>>().join("\n")
    });
    Ok(())
}

async fn revoke(args: Revoke) -> Result<(), CliError> {
    let app = admin_app().await?;
    let revoked_at = app.db.revoke_api_key(OrgId(args.org), &args.key_id, Deadline::of_request()).await?;
    let revoked_at = revoked_at.ok_or_else(|| CliError::NoSuch("such key in this organisation".to_owned()))?;
    let revoked_at = timestamp(revoked_at);
    args.output.print(&json!({ "key_id": args.key_id, "revoked_at": revoked_at }), || {
        format!("key {} was revoked at {revoked_at}", args.key_id)
    });
    Ok(())
}
