//! The fault run: retrying clients order, pay and cancel through two servers and a worker, while processes are killed,
//! stopped and cut off from each other; then the judges compare what the clients were told with what the database holds
//! and with what the simulated gateway really did.
//!
//! `make verify-faults` runs it. Plain `cargo test` does not: it takes minutes. The seed replays the choices, not the
//! timing. The table goes to stdout, progress to stderr, logs to `target/faults`; exit status 1 on any violation.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "what it prints is its result")]
#![allow(clippy::indexing_slicing, reason = "a run that panics has failed, and says where")]

mod admin;
mod after_kill;
mod answer;
mod api;
mod arguments;
mod choice;
mod clients;
mod database;
mod family;
mod fault;
mod gateway;
#[path = "../history/mod.rs"]
mod history;
mod injector;
mod judge;
mod ledger;
mod notifications;
mod orders;
mod program;
mod progress;
mod proxy;
mod report;
mod rolling;
mod run;
mod run_directory;
mod stack;
mod storm;
mod supervisor;

use arguments::Arguments;
use clap::Parser;
use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::timeout;

/// Why the run could not go on. One that a task hands over must be `Send`.
type Failure = Box<dyn Error + Send + Sync>;

/// What a fault may take at most, on average, and what everything around the faults may take.
const LIMIT_FOR_EACH_FAULT: Duration = Duration::from_secs(10);
const LIMIT_AROUND: Duration = Duration::from_mins(6);

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    // Two threads: the load shares the machine with what it loads.
    let runtime = match Builder::new_multi_thread().worker_threads(2).enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("fault run: no runtime: {error}");
            return ExitCode::FAILURE;
        }
    };
    let outcome = runtime.block_on(until_interrupted(arguments));
    // A task that is stuck in a blocking call may not keep the program from ending.
    runtime.shutdown_timeout(Duration::from_secs(5));
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("fault run: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Whether nothing was violated. An interruption drops everything on the way, which ends the processes.
async fn until_interrupted(arguments: Arguments) -> Result<bool, Failure> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    // A drain takes longer than most faults, a shuffle or a storm has many requests.
    let (rounds, shuffles) = (arguments.rolling.unwrap_or(0), arguments.notifications.unwrap_or(0));
    let units = arguments.faults() + 10 * rounds + 10 * shuffles + arguments.storm.unwrap_or(0) / 4;
    let limit = LIMIT_AROUND + LIMIT_FOR_EACH_FAULT * units;
    tokio::select! {
        passed = timeout(limit, run::run(arguments)) => passed.map_err(|_| format!("not over after {limit:?}"))?,
        _ = interrupt.recv() => Err("interrupted".into()),
        _ = terminate.recv() => Err("terminated".into()),
    }
}
