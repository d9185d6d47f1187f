//! `ichido sim`: the simulated world, for trying out, rehearsals and tests.

use crate::cli::run::{Stop, say};
use crate::cli::{CliError, secret_in};
use crate::sim::{self, Options};
use crate::telemetry;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;
use tokio::time::timeout;

/// Arguments of `sim`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Address to listen on; port 0 picks a free one
    #[arg(long, default_value = "127.0.0.1:8090")]
    listen: SocketAddr,
    /// Where to send Stripe's notifications, such as <http://127.0.0.1:8080/v1/webhooks/ID>
    #[arg(long, requires = "webhook_secret_env")]
    webhook_url: Option<String>,
    /// The environment variable that holds the secret to sign them with
    #[arg(long, value_name = "VAR", requires = "webhook_url")]
    webhook_secret_env: Option<String>,
    /// A file that keeps every effect, on disk before it is answered; without one the world starts empty
    #[arg(long, value_name = "FILE")]
    journal: Option<PathBuf>,
}

/// Calls in flight are waited for this long.
const STOP_TIME: Duration = Duration::from_secs(3);

/// Runs until a signal.
pub async fn run(args: Args) -> Result<(), CliError> {
    telemetry::init(telemetry::DEFAULT_FILTER);
    let mut stop = Stop::listen()?;
    let webhook_secret = args.webhook_secret_env.as_deref().map(secret_in).transpose()?;
    let options = Options { journal: args.journal, webhook_url: args.webhook_url, webhook_secret };
    let started = sim::start(args.listen, options);
    let (server, address) = started.map_err(|error| CliError::Io("the simulated world cannot start", error))?;
    let handle = server.handle();
    let running = tokio::spawn(server);
    say(&format!("listening on http://{address}"));
    stop.signalled().await;
    let _ = timeout(STOP_TIME, handle.stop(true)).await;
    running.abort();
    Ok(())
}
