//! `ichido worker`.

use crate::cli::CliError;
use crate::cli::run::Stop;
use crate::clock::Clock;
use crate::{config, startup, telemetry, worker};
use tokio_util::sync::CancellationToken;

/// Arguments of `worker`: it takes its settings from the environment.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Runs the periodic jobs until a signal.
pub async fn run(Args {}: Args) -> Result<(), CliError> {
    telemetry::init(telemetry::DEFAULT_FILTER);
    let mut stop = Stop::listen()?;
    let app = startup::app(&config::database_url()?, 2, Clock::System)?;
    startup::verify(&app, config::allow_unsafe_durability()?).await?;
    let end = CancellationToken::new();
    let jobs = tokio::spawn(worker::run(app.clone(), end.clone()));
    tracing::info!("working");
    stop.signalled().await;
    end.cancel();
    // A job looks at the token between two statements, each of which is bounded.
    let _ = jobs.await;
    app.db.close();
    tracing::info!("stopped");
    Ok(())
}
