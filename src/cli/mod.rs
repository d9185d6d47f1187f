//! The command line. Exit status: 0 done, 1 failed, 2 wrong usage.

mod check;
mod cleanup;
mod dev;
mod gateway;
mod key;
mod migrate;
mod order;
mod org;
mod output;
mod partners;
mod payments;
mod reconcile;
mod rehearse;
mod run;
mod serve;
mod sim;
mod step;
mod webhook_endpoint;
mod worker;

use crate::app::App;
use crate::app::error::AppError;
use crate::app::inbox::endpoints::EndpointError;
use crate::app::set_gateway::SetGatewayError;
use crate::clock::Clock;
use crate::config::{self, ConfigError};
use crate::db::deadline::Deadline;
use crate::db::error::DbError;
use crate::db::migrate::MigrateError;
use crate::domain::ids::OrgId;
use crate::embedded::EmbeddedError;
use crate::startup::{self, StartupError};
use clap::{Parser, Subcommand};
use secrecy::SecretString;
use std::io;
use std::net::SocketAddr;
use std::process::ExitCode;
use thiserror::Error;

/// Orders, once: a self-hosted HTTP service in which a retry, a repeated request or a crash never makes a second order.
#[derive(Debug, Parser)]
#[command(name = "ichido", version, propagate_version = true)]
#[command(after_help = "Secrets are read from the environment or from files: DATABASE_URL or DATABASE_URL_FILE,\n\
    ICHIDO_SECRET_KEY or ICHIDO_SECRET_KEY_FILE.\n\
    Logs go to standard error: ICHIDO_LOG=json|text, RUST_LOG=info.\n\
    ICHIDO_ALLOW_UNSAFE_DURABILITY=true, for tests only, allows a database that can lose acknowledged orders.")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run everything in one process on a private PostgreSQL, to try it out
    Dev(dev::Args),
    /// Serve the HTTP API (needs DATABASE_URL)
    Serve(serve::Args),
    /// Run the periodic jobs alone (needs DATABASE_URL)
    Worker(worker::Args),
    /// Bring the database's schema up to this version (needs DATABASE_URL)
    Migrate(migrate::Args),
    /// Check durability settings, schema, clock and secrets (needs DATABASE_URL)
    Check(check::Args),
    /// Make and list organisations (needs DATABASE_URL)
    #[command(subcommand)]
    Org(org::Command),
    /// Make, list and revoke API keys (needs DATABASE_URL)
    #[command(subcommand)]
    Key(key::Command),
    /// Set and show an organisation's payment gateway (needs DATABASE_URL)
    #[command(subcommand)]
    Gateway(gateway::Command),
    /// Set and list the steps of an organisation's paid orders (needs DATABASE_URL)
    #[command(subcommand)]
    Step(step::Command),
    /// Look at orders (needs DATABASE_URL)
    #[command(subcommand)]
    Order(order::Command),
    /// Compare an organisation's books with its payment gateway's (needs DATABASE_URL)
    Reconcile(reconcile::Args),
    /// Manage addresses for notifications and their secrets (needs DATABASE_URL)
    #[command(subcommand)]
    WebhookEndpoint(webhook_endpoint::Command),
    /// Remove idempotency keys past their keeping time (needs DATABASE_URL)
    Cleanup(cleanup::Args),
    /// Make things go wrong on purpose, on a private stage, and count what really happened
    Rehearse(rehearse::Args),
    /// Run the simulated world: a stand-in for Stripe and for partners that counts effects
    Sim(sim::Args),
}

/// Why a command failed. Its text is for the operator and holds no secret.
#[derive(Debug, Error)]
pub enum CliError {
    /// Settings.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Not safe to start.
    #[error(transparent)]
    Startup(#[from] StartupError),
    /// The schema.
    #[error(transparent)]
    Migrate(#[from] MigrateError),
    /// The database.
    #[error(transparent)]
    Database(#[from] DbError),
    /// A use case.
    #[error(transparent)]
    App(#[from] AppError),
    /// The private PostgreSQL.
    #[error(transparent)]
    Embedded(#[from] EmbeddedError),
    /// The address.
    #[error("cannot listen on {0}: {1}")]
    Listen(SocketAddr, io::Error),
    /// Signals, files and the like.
    #[error("{0}: {1}")]
    Io(&'static str, io::Error),
    /// Something that is not there.
    #[error("there is no {0}")]
    NoSuch(String),
    /// A gateway's settings that cannot be used.
    #[error(transparent)]
    Gateway(#[from] SetGatewayError),
    /// A webhook endpoint that was not made or changed.
    #[error(transparent)]
    WebhookEndpoint(#[from] EndpointError),
    /// `check` found something wrong, and has said what.
    #[error("{0} of the checks failed")]
    ChecksFailed(usize),
    /// A sweep could not look at everything, and has said what it found.
    #[error("the sweep is not complete ({0}); run it again")]
    SweepIncomplete(&'static str),
    /// A rehearsal that could not begin.
    #[error("nothing was rehearsed: {0}")]
    Rehearsal(&'static str),
    /// `migrate --check` found the schema behind.
    #[error("{0} migration(s) pending")]
    Pending(usize),
}

/// Runs the command that the arguments name.
pub async fn main() -> ExitCode {
    // Help and version end the process with 0, wrong usage with 2.
    let cli = Cli::parse();
    let json = cli.command.json();
    match cli.command.run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output::failure(&error, json);
            ExitCode::FAILURE
        }
    }
}

impl Command {
    async fn run(self) -> Result<(), CliError> {
        match self {
            Self::Dev(args) => dev::run(args).await,
            Self::Serve(args) => serve::run(args).await,
            Self::Worker(args) => worker::run(args).await,
            Self::Migrate(args) => migrate::run(args).await,
            Self::Check(args) => check::run(args).await,
            Self::Org(command) => org::run(command).await,
            Self::Key(command) => key::run(command).await,
            Self::Gateway(command) => gateway::run(command).await,
            Self::Step(command) => step::run(command).await,
            Self::Order(command) => order::run(command).await,
            Self::Reconcile(args) => reconcile::run(args).await,
            Self::WebhookEndpoint(command) => webhook_endpoint::run(command).await,
            Self::Cleanup(args) => cleanup::run(args).await,
            Self::Rehearse(args) => rehearse::run(args).await,
            Self::Sim(args) => sim::run(args).await,
        }
    }

    /// Whether the answer, a failure included, is to be one JSON object.
    fn json(&self) -> bool {
        match self {
            Self::Dev(_) | Self::Serve(_) | Self::Worker(_) | Self::Sim(_) => false,
            Self::Migrate(args) => args.output.json,
            Self::Check(args) => args.output.json,
            Self::Org(command) => command.json(),
            Self::Key(command) => command.json(),
            Self::Gateway(command) => command.json(),
            Self::Step(command) => command.json(),
            Self::Order(command) => command.json(),
            Self::Reconcile(args) => args.output.json,
            Self::WebhookEndpoint(command) => command.json(),
            Self::Cleanup(args) => args.output.json,
            Self::Rehearse(args) => args.output.json,
        }
    }
}

/// The secret in an environment variable that the operator named.
fn secret_in(variable: &str) -> Result<SecretString, CliError> {
    config::named_secret(variable)
        .ok_or_else(|| CliError::NoSuch(format!("value in the environment variable {variable}")))
}

/// The use cases over `DATABASE_URL`, for a command that needs few connections, once the schema is known to fit.
async fn admin_app() -> Result<App, CliError> {
    let app =
        startup::app(&config::database_url()?, 2, Clock::System, config::payments(&config::PaymentTimes::default())?)?;
    startup::verify(&app, config::allow_unsafe_durability()?).await?;
    Ok(app)
}

/// A mistyped organisation is not one that has nothing.
async fn must_exist(app: &App, org_id: OrgId) -> Result<(), CliError> {
    let orgs = app.db.list_orgs(Deadline::of_request()).await?;
    let exists = orgs.iter().any(|listed| listed.org.org_id == org_id);
    if exists { Ok(()) } else { Err(CliError::NoSuch(format!("organisation {}", org_id.0))) }
}
