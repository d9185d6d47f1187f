//! `ichido dev`: everything in one process on a private PostgreSQL: a service, an organisation and a key to try, and a
//! simulated world that takes the payments.

mod world;

use crate::app::App;
use crate::app::authenticate::authenticate;
use crate::app::create_key::create_key;
use crate::cli::CliError;
use crate::cli::payments::PaymentArgs;
use crate::cli::run::{self, Serving, Stop, say};
use crate::clock::Clock;
use crate::config::DEFAULT_POOL;
use crate::db::deadline::Deadline;
use crate::db::migrate::migrate;
use crate::db::orgs::NewOrg;
use crate::domain::ids::OrgId;
use crate::domain::org::{Mode, OnMismatch, ReplayStatus};
use crate::domain::scope::Scope;
use crate::embedded::{Binaries, Options, Server};
use crate::http::server;
use crate::{startup, telemetry};
use secrecy::SecretString;
use std::fs;
use std::net::SocketAddr;
use std::path::{self, Path, PathBuf};
use std::time::Duration;
use uuid::Uuid;

/// Arguments of `dev`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Address to listen on; port 0 picks a free one
    #[arg(long, env = "ICHIDO_LISTEN", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// Where the database and the test key are kept
    #[arg(long, default_value = ".ichido")]
    data: PathBuf,
    /// End when the process that started this one ends
    #[arg(long)]
    exit_with_parent: bool,
    #[command(flatten)]
    payments: PaymentArgs,
}

const ORG_NAME: &str = "dev";
const SCOPES: [Scope; 3] = [Scope::OrdersRead, Scope::OrdersWrite, Scope::Reconcile];

/// Runs until a signal; the data stays.
pub async fn run(args: Args) -> Result<(), CliError> {
    telemetry::init("info,ichido::access=debug");
    let mut stop = Stop::listen()?;
    if args.exit_with_parent {
        run::end_with_parent()?;
    }
    // Before anything is made that somebody would have to remove.
    run::settled(args.listen)?;
    let data = args.data.clone();
    let start = tokio::task::spawn_blocking(move || start_postgres(&data));
    let mut postgres = tokio::select! {
        started = start => started.map_err(|error| CliError::Io("PostgreSQL was not started", error.into()))??,
        // initdb and the server started so far end with this process.
        () = stop.signalled() => return Ok(()),
    };
    let database_url = postgres.url("postgres");
    let url = SecretString::from(database_url.clone());
    let applied = migrate(&url).await?;
    progress(&format!("schema is current ({} migration(s) applied)", applied.len()));
    let app = startup::app(&url, DEFAULT_POOL, Clock::System, world::settings(&args.payments, &args.data)?)?;
    startup::verify(&app, false).await?;
    let (org_id, token) = org_and_token(&app, &args.data.join("test-key")).await?;
    // Not earlier: a port that is free would be somebody else's by now.
    let listen = run::settled(args.listen)?;
    let (world, world_address) = world::start(&app, org_id, &args.data, listen).await?;
    let dev = Dev { org_id, token, database_url, world_address, data: args.data.clone() };
    let serving = Serving {
        listen,
        http_threads: server::default_threads(),
        cors_origins: Vec::new(),
        with_worker: true,
        drain: Duration::ZERO,
    };
    let served = run::serve(app, serving, &mut stop, |address| announce(address, &dev)).await;
    world.stop(true).await;
    let stopped = tokio::task::spawn_blocking(move || postgres.stop()).await;
    stopped.map_err(|error| CliError::Io("PostgreSQL was not stopped in order", error.into()))?;
    served
}

fn start_postgres(data: &Path) -> Result<Server, CliError> {
    fs::create_dir_all(data).map_err(|error| CliError::Io("the data directory cannot be made", error))?;
    let data_dir = data.join("postgresql");
    let binaries = Binaries::find_for(&data_dir, &progress)?;
    progress(&format!("starting PostgreSQL {}", binaries.major_version));
    let options = Options { data_dir, durable: true, settings: Vec::new() };
    Ok(Server::start(&binaries, &options, &progress)?)
}

/// The test organisation, and a key that works. The key is kept beside the data, since the database knows only its hash.
async fn org_and_token(app: &App, key_file: &Path) -> Result<(OrgId, String), CliError> {
    let deadline = Deadline::after(Duration::from_secs(10));
    let org_id = match app.db.first_test_org(ORG_NAME, deadline).await? {
        Some(org_id) => org_id,
        None => app.db.create_org(&new_org(), deadline).await?,
    };
    if let Ok(token) = fs::read_to_string(key_file)
        && let Ok(caller) = authenticate(app, token.trim(), deadline).await
        && caller.org.org_id == org_id
        && SCOPES.iter().all(|scope| caller.scopes.contains(*scope))
    {
        return Ok((org_id, token.trim().to_owned()));
    }
    let token = create_key(app, org_id, &SCOPES, None, deadline).await?.token();
    world::write(key_file, &token)?;
    Ok((org_id, token))
}

fn new_org() -> NewOrg {
    NewOrg {
        name: ORG_NAME.to_owned(),
        mode: Mode::Test,
        on_mismatch: OnMismatch::Reject,
        replay_status: ReplayStatus::Ok,
        keys_kept_for_seconds: None,
        new_claims_per_second: None,
    }
}

/// What a person who tries it out needs to know.
struct Dev {
    org_id: OrgId,
    token: String,
    database_url: String,
    world_address: SocketAddr,
    data: PathBuf,
}

/// The address of the database holds no secret: its socket is in a directory that only this user can enter.
fn announce(address: SocketAddr, dev: &Dev) {
    let Dev { org_id, token, database_url, world_address, data } = dev;
    let key = Uuid::now_v7();
    let secret_key = data.join(world::SECRET_KEY);
    say(&format!("listening on http://{address}"));
    say(&format!("documentation at http://{address}/docs, test organisation {org_id}"));
    say(&format!("simulated world (payments) at http://{world_address}, what really happened: /effects"));
    say("its notifications come back to this service: GET /v1/receipts lists them");
    say(&format!(
        "admin commands elsewhere: export DATABASE_URL='{database_url}' ICHIDO_SECRET_KEY_FILE='{}'",
        path::absolute(&secret_key).unwrap_or(secret_key).display()
    ));
    say(&format!("for the walk-through of the README: export URL=http://{address} TOKEN={token}"));
    say("Send this twice: 201 makes the order, 200 gives the same answer again.\n");
    say(&format!(
        "curl -i http://{address}/v1/orders -H 'Authorization: Bearer {token}' -H 'Idempotency-Key: {key}' \
         -H 'Content-Type: application/json' -d '{{\"customer\":{{\"reference\":\"cus_42\"}},\"currency\":\"JPY\",\
         \"lines\":[{{\"sku\":\"TEA-01\",\"quantity\":2,\"unit_amount\":1200}}],\
         \"payment\":{{\"method\":\"pm_card_visa\"}}}}'\n"
    ));
}

/// Tells a waiting person what takes long. On standard error, since standard output is for what they came for.
#[expect(clippy::print_stderr, reason = "progress for a person at a terminal")]
fn progress(line: &str) {
    eprintln!("ichido: {line}");
}
