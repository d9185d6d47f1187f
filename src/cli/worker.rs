//! `ichido worker`.

use crate::cli::CliError;
use crate::cli::payments::PaymentArgs;
use crate::cli::run::Stop;
use crate::clock::Clock;
use crate::{config, startup, telemetry, worker};
use tokio_util::sync::CancellationToken;

/// Arguments of `worker`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    payments: PaymentArgs,
}

/// Effects at work share these; none is held while somebody else is called.
const CONNECTIONS: usize = 8;

/// Runs the periodic jobs until a signal.
pub async fn run(args: Args) -> Result<(), CliError> {
    telemetry::init(telemetry::DEFAULT_FILTER);
    let mut stop = Stop::listen()?;
    let app = startup::app(&config::database_url()?, CONNECTIONS, Clock::System, args.payments.settings()?)?;
    startup::verify(&app, config::allow_unsafe_durability()?).await?;
    startup::verify_secrets(&app).await?;
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
