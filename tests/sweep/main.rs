//! The failpoint sweep: at each place where a crash between two lines matters, a real server and a real worker die, lose their
//! database or are held up, the first or the second time that they come by; the client retries, what died is started again,
//! and when nothing is unfinished the judge compares what the client was told with the database and the simulated world.
//!
//! `make verify-failpoints` runs it. The table goes to stdout, progress to stderr, logs to `target/sweep`; exit status 1 when
//! something is wrong or a place was never reached.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "what it prints is its result")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a case that panics fails"
)]

mod case;
mod commands;
mod judge;
mod locks;
mod operators;
mod people;
mod plan;
#[path = "../faults/program.rs"]
mod program;
mod scenarios;
#[path = "../faults/supervisor.rs"]
#[allow(dead_code, reason = "the fault run uses more of it")]
mod supervisor;
#[path = "../it/support/mod.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod support;
mod table;
#[path = "../tally/mod.rs"]
mod tally;

use case::{Case, Outcome};
use clap::Parser;
use futures_util::{StreamExt, stream};
use plan::Strike;
use rand::SeedableRng;
use rand::rngs::StdRng;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use tally::Tally;
use tokio::time::timeout;

/// Why a part of the run could not go on.
type Failure = Box<dyn Error + Send + Sync>;

/// The longest that one case may take.
const LIMIT: Duration = Duration::from_mins(3);

/// Strikes at every failpoint, and judges what came of it.
#[derive(Debug, Clone, Parser)]
struct Arguments {
    /// Each failpoint in every way: abort, error, delay, each the first and the second time; without it one of them each
    #[arg(long)]
    full: bool,
    /// Replays the choices of a run; a new one by default
    #[arg(long)]
    seed: Option<u64>,
    /// Only failpoints whose names begin with this
    #[arg(long, default_value = "")]
    only: String,
    /// So many cases at the same time
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=32))]
    at_once: u16,
    /// Adds the figures to this file, as a line of JSON
    #[arg(long)]
    json: Option<PathBuf>,
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let seed = arguments.seed.unwrap_or_else(rand::random);
    let strikes = plan::strikes(&arguments.only, arguments.full, &mut StdRng::seed_from_u64(seed));
    let logs = directory();
    let _ = fs::remove_dir_all(&logs);
    eprintln!("sweep: seed {seed}, {} cases, logs in {}", strikes.len(), logs.display());
    let began = Instant::now();
    let all = strikes.len();
    let cases = strikes.into_iter().enumerate().map(|(number, strike)| {
        let logs = logs.clone();
        async move {
            let outcome = run(&strike, logs).await;
            eprintln!("{:4} s {}/{all} {strike}: {}", began.elapsed().as_secs(), number + 1, outcome.told());
            (strike, outcome)
        }
    });
    let mut outcomes: Vec<_> = stream::iter(cases).buffer_unordered(usize::from(arguments.at_once)).collect().await;
    outcomes.sort_by_key(|(strike, _)| strike.place());
    println!("{}", table::render(&outcomes, seed, began.elapsed()));
    let written = arguments.json.is_none_or(|file| match tally_of(&outcomes, seed, began.elapsed()).append(&file) {
        Ok(()) => true,
        Err(error) => {
            eprintln!("sweep: {}: {error}", file.display());
            false
        }
    });
    let passed = !outcomes.is_empty() && outcomes.iter().all(|(_, outcome)| outcome.passed());
    if passed && written { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn tally_of(outcomes: &[(Strike, Outcome)], seed: u64, took: Duration) -> Tally {
    let struck = outcomes.iter().map(|(_, outcome)| outcome.struck).sum();
    let violations = outcomes.iter().filter(|(_, outcome)| !outcome.passed()).count();
    Tally { faults: struck, operations: outcomes.len(), violations, ..Tally::of("failpoints", Some(seed), took) }
}

/// One case, from an empty database to its verdict. In a task of its own, so that a panic is this case's failure.
async fn run(strike: &Strike, logs: PathBuf) -> Outcome {
    let (strike, logs) = (strike.clone(), logs.join(strike.directory()));
    let log = logs.join("failpoints");
    let (name, is_abort) = (strike.name, strike.is_abort());
    let work = tokio::spawn(timeout(LIMIT, async move {
        let case = Case::start(&strike, &logs).await?;
        (strike.scenario().play)(&case).await;
        let wrong = judge::judge(&case, is_abort).await;
        case.end();
        Ok::<_, Failure>(wrong)
    }));
    let wrong = match work.await {
        Ok(Ok(Ok(wrong))) => wrong,
        Ok(Ok(Err(failure))) => vec![failure.to_string()],
        Ok(Err(_)) => vec![format!("not over after {LIMIT:?}")],
        Err(panicked) => vec![text_of(panicked)],
    };
    Outcome::of(name, &log, wrong)
}

fn text_of(panicked: tokio::task::JoinError) -> String {
    let Ok(reason) = panicked.try_into_panic() else { return "ended".to_owned() };
    let text = reason.downcast_ref::<String>().cloned();
    text.or_else(|| reason.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
}

/// `target/sweep`, wherever cargo's target directory is.
fn directory() -> PathBuf {
    let temporary = Path::new(env!("CARGO_TARGET_TMPDIR"));
    temporary.parent().unwrap_or(temporary).join("sweep")
}
