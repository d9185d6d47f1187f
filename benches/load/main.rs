//! The load bench: what the HTTP service reaches beside what PostgreSQL alone gives for the same statements.
//!
//! `cargo bench --bench load` starts a private PostgreSQL with production durability and the service on it, and then
//! runs the works of [`work::Work`] in turn, so that whatever drifts on the machine hits all of them alike. Absolute
//! figures depend on the machine; the ratios are what counts. `QUICK=1` runs one short round.
//!
//! The table goes to stdout, progress to stderr, and the same figures to `target/bench/load.json`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "what it prints is its result")]
#![allow(clippy::indexing_slicing, reason = "a bench that panics has failed, and says where")]

mod client;
mod http_run;
mod pgbench;
mod process;
mod report;
mod requests;
mod setup;
mod stand;
mod statistics;
mod steps;
mod work;

use std::env;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};

use report::Report;
use stand::Stand;
use work::{CONNECTIONS, Sample, WORKS};

/// Why the bench could not go on. One that a task hands over must be `Send`.
type Failure = Box<dyn Error + Send + Sync>;

/// How much is measured.
#[derive(Debug, Clone, Copy)]
struct Scale {
    rounds: usize,
    /// Of each run.
    duration: Duration,
}

impl Scale {
    fn from_environment() -> Self {
        let quick = env::var_os("QUICK").is_some_and(|value| !value.is_empty() && value != "0");
        if quick {
            Self { rounds: 1, duration: Duration::from_secs(2) }
        } else {
            Self { rounds: 3, duration: Duration::from_secs(5) }
        }
    }
}

fn main() -> ExitCode {
    // `cargo bench` passes this; `cargo test --all-targets` runs the target too, but does not want minutes of load.
    if !env::args().any(|argument| argument == "--bench") {
        eprintln!("load bench: nothing done; run it with `cargo bench --bench load`");
        return ExitCode::SUCCESS;
    }
    // One thread for the load generator: it shares the machine with the service and PostgreSQL.
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("load bench: no runtime: {error}");
            return ExitCode::FAILURE;
        }
    };
    match runtime.block_on(measure_until_interrupted()) {
        Ok(report) if report.errors() == 0 => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("load bench: {error}");
            ExitCode::FAILURE
        }
    }
}

/// An interruption drops everything on the way, which ends the processes and removes the data.
async fn measure_until_interrupted() -> Result<Report, Failure> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        result = measure() => result,
        _ = interrupt.recv() => Err("interrupted".into()),
        _ = terminate.recv() => Err("terminated".into()),
    }
}

async fn measure() -> Result<Report, Failure> {
    let scale = Scale::from_environment();
    let directory = bench_directory();
    let stand = Stand::start(&directory).await?;
    let mut report = Report::new(stand.environment(), scale.duration);
    eprintln!("{}", report.environment());
    stand.warm_up().await?;
    for round in 1..=scale.rounds {
        for connections in CONNECTIONS {
            for work in WORKS {
                let Some(sample) = stand.run(work, connections, scale.duration).await? else {
                    continue;
                };
                eprintln!("round {round}/{}  {}", scale.rounds, progress(work.name(), connections, &sample));
                report.add(work, connections, sample);
            }
        }
    }
    report.set_rows(stand.count_rows().await?);
    for round in 1..=scale.rounds {
        let steps = stand.run_steps().await?;
        eprintln!("round {round}/{}  one worker: {:.0} effects a second", scale.rounds, steps.per_second);
        report.add_steps(steps);
    }
    println!("{report}");
    let file = directory.join("load.json");
    std::fs::write(&file, format!("{:#}\n", report.json()))?;
    eprintln!("written: {}", file.display());
    Ok(report)
}

fn progress(work: &str, connections: usize, sample: &Sample) -> String {
    let Sample { per_second, p50_ms, p99_ms, errors, .. } = sample;
    format!(
        "{work:<24} {connections:>4} connections  {per_second:>8.0}/s  p50 {p50_ms:.2} ms  p99 {p99_ms:.2} ms  errors \
         {errors}"
    )
}

/// `target/bench`, wherever cargo's target directory is.
fn bench_directory() -> PathBuf {
    let temporary = Path::new(env!("CARGO_TARGET_TMPDIR"));
    temporary.parent().unwrap_or(temporary).join("bench")
}
