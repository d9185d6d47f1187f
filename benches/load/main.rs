//! The load bench: what the HTTP service reaches beside what PostgreSQL alone gives for the same statements.
//!
//! `cargo bench --bench load` starts a private PostgreSQL with production durability and the service on it, and then
//! runs the works of [`work::Work`] in turn, so that whatever drifts on the machine hits all of them alike. Absolute
//! figures depend on the machine; the ratios are what counts. `QUICK=1` runs one short round, and arguments after `--`
//! choose a part: see [`options::USAGE`].
//!
//! The table goes to stdout, progress to stderr, and the same figures to `target/bench/load.json` and `load.svg`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "what it prints is its result")]
#![allow(clippy::indexing_slicing, reason = "a bench that panics has failed, and says where")]

mod chart;
mod client;
mod gates;
mod growth;
mod http_run;
mod json;
mod keys;
mod load;
mod meter;
mod options;
mod paced;
mod peers;
mod pgbench;
mod plan;
mod process;
mod report;
mod requests;
mod scripts;
mod service;
mod setup;
mod stand;
mod statistics;
mod steps;
mod table;
mod tally;
mod work;

use std::env;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use tokio::signal::unix::{SignalKind, signal};

use options::{Mode, Options, USAGE};

/// Why the bench could not go on. One that a task hands over must be `Send`.
type Failure = Box<dyn Error + Send + Sync>;

/// Wrong arguments, as programs usually say it.
const WRONG_USAGE: u8 = 2;

fn main() -> ExitCode {
    // `cargo bench` passes this; `cargo test --all-targets` runs the target too, but does not want minutes of load.
    if !env::args().any(|argument| argument == "--bench") {
        eprintln!("load bench: nothing done; run it with `cargo bench --bench load`");
        return ExitCode::SUCCESS;
    }
    if env::args().any(|argument| argument == "--help") {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    let options = match Options::read(env::args().skip(1)) {
        Ok(options) => options,
        Err(error) => {
            eprintln!("load bench: {error}\n\n{USAGE}");
            return ExitCode::from(WRONG_USAGE);
        }
    };
    // One thread for the load generator: it shares the machine with the service and PostgreSQL.
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("load bench: no runtime: {error}");
            return ExitCode::FAILURE;
        }
    };
    match runtime.block_on(run_until_interrupted(&options)) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("load bench: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Gives how many errors there were. An interruption drops everything on the way, which ends the processes and removes
/// the data.
async fn run_until_interrupted(options: &Options) -> Result<u64, Failure> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        result = run(options) => result,
        _ = interrupt.recv() => Err("interrupted".into()),
        _ = terminate.recv() => Err("terminated".into()),
    }
}

async fn run(options: &Options) -> Result<u64, Failure> {
    let directory = bench_directory();
    match options.mode {
        Mode::Growth => {
            let report = growth::measure(options, &directory).await?;
            println!("{report}");
            write(&directory, "growth.json", &format!("{:#}\n", report.json()))?;
            Ok(report.errors())
        }
        Mode::Load => {
            let report = load::measure(options, &directory).await?;
            println!("{report}");
            write(&directory, "load.json", &format!("{:#}\n", report.json()))?;
            write(&directory, "load.svg", &report.chart())?;
            Ok(report.errors())
        }
    }
}

fn write(directory: &Path, name: &str, text: &str) -> Result<(), Failure> {
    let file = directory.join(name);
    std::fs::write(&file, text)?;
    eprintln!("written: {}", file.display());
    Ok(())
}

/// `target/bench`, wherever cargo's target directory is.
fn bench_directory() -> PathBuf {
    let temporary = Path::new(env!("CARGO_TARGET_TMPDIR"));
    temporary.parent().unwrap_or(temporary).join("bench")
}
