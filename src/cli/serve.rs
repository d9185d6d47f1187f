//! `ichido serve`.

use crate::cli::CliError;
use crate::cli::payments::PaymentArgs;
use crate::cli::run::{self, Serving, Stop};
use crate::clock::Clock;
use crate::http::server;
use crate::{config, startup, telemetry};
use humantime::Duration;
use std::net::SocketAddr;

/// Arguments of `serve`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Address to listen on; port 0 picks a free one
    #[arg(long, env = "ICHIDO_LISTEN", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// Leave the periodic jobs to `ichido worker`
    #[arg(long)]
    no_worker: bool,
    /// After SIGTERM, how long /readyz answers 503 before new connections are refused
    #[arg(long, env = "ICHIDO_DRAIN", default_value = "1s")]
    drain: Duration,
    /// Connections to the database, at most, besides three for each HTTP thread and three for the process, which carry batches
    #[arg(long, env = "ICHIDO_DATABASE_POOL", default_value_t = config::DEFAULT_POOL, value_parser = config::pool_size)]
    database_pool: usize,
    /// Threads that serve requests [default: one for each core, 8 at most]
    #[arg(long, env = "ICHIDO_HTTP_THREADS", default_value_t = server::default_threads(), value_parser = config::http_threads, hide_default_value = true)]
    http_threads: usize,
    /// Web origins whose pages may call the API, separated by commas; none by default
    #[arg(long, env = "ICHIDO_CORS_ORIGINS", value_delimiter = ',', value_parser = config::origin)]
    cors_origins: Vec<String>,
    /// End when the process that started this one ends
    #[arg(long)]
    exit_with_parent: bool,
    #[command(flatten)]
    payments: PaymentArgs,
}

/// Serves until a signal.
pub async fn run(args: Args) -> Result<(), CliError> {
    telemetry::init(telemetry::DEFAULT_FILTER);
    let mut stop = Stop::listen()?;
    if args.exit_with_parent {
        run::end_with_parent()?;
    }
    let app = startup::app(&config::database_url()?, args.database_pool, Clock::System, args.payments.settings()?)?;
    startup::verify(&app, config::allow_unsafe_durability()?).await?;
    startup::verify_secrets(&app).await?;
    let serving = Serving {
        listen: args.listen,
        http_threads: args.http_threads,
        cors_origins: args.cors_origins.into_iter().filter(|origin| !origin.is_empty()).collect(),
        with_worker: !args.no_worker,
        drain: args.drain.into(),
    };
    run::serve(app, serving, &mut stop, |address| run::say(&format!("listening on http://{address}"))).await
}
