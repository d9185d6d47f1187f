//! The teeth: faults planted in the program (`src/planted.rs`) are switched on one at a time, and the test or sweep that is meant
//! to catch each has to fail, which without the fault has to pass.
//!
//! `make verify-teeth` runs it. The table goes to stdout, progress to stderr, what the tests said to `target/teeth`; exit status
//! 1 when a fault is missed.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "what it prints is its result")]

#[path = "../tally/mod.rs"]
mod tally;

use clap::Parser;
use ichido::planted::NAMES;
use serde_json::Value;
use std::collections::BTreeSet;
use std::env;
use std::error::Error;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tally::Tally;

type Failure = Box<dyn Error>;

/// The longest that one test or sweep may take.
const LIMIT: Duration = Duration::from_mins(5);
const POLL: Duration = Duration::from_millis(50);

/// Plants one fault after the other, each of which its test has to catch.
#[derive(Parser)]
struct Arguments {
    /// Only faults whose names begin with this
    #[arg(default_value = "")]
    only: String,
    /// Adds the figures to this file, as a line of JSON
    #[arg(long)]
    json: Option<PathBuf>,
}

/// What is meant to catch a fault.
#[derive(Clone, Copy)]
enum By {
    /// A test of `tests/it/`.
    Test(&'static str),
    /// The failpoint sweep, in every way at the failpoints whose names begin like this.
    Sweep(&'static str),
    /// So many cases of the model-based test.
    Stateful(&'static str),
}

const CANCELLED: &str = "payments::cuts::a_cancelled_order_gets_its_money_back_once_wherever_the_connection_breaks";

/// What catches which fault.
const MEANT: &[(&str, By)] = &[
    ("acknowledged_before_commit", By::Test(CANCELLED)),
    ("claim_not_unique", By::Test("races::storms_on_two_services_make_one_order_each")),
    ("claim_not_unique", By::Sweep("db/claims/one_committed")),
    ("no_lease_token", By::Test("payments::races::whoever_lost_the_lease_writes_nothing")),
    ("new_gateway_key", By::Test("payments::unknown::a_lost_answer_is_202_and_then_the_order_charged_once")),
    ("new_gateway_key", By::Sweep("charge/first/answered")),
    ("new_gateway_key", By::Stateful("24")),
    ("gateway_key_for_ever", By::Test("payments::unknown::a_key_that_the_gateway_has_forgotten_is_never_sent_again")),
    (
        "refund_without_key",
        By::Test("payments::cancelling::a_refund_whose_answer_was_lost_is_sent_again_under_its_key"),
    ),
    ("refund_without_key", By::Sweep("refund/answered")),
    ("org_missing", By::Test("tenants::an_order_of_another_organisation_is_like_one_that_does_not_exist")),
    ("org_missing", By::Test("tenants::isolation::whoever_asks_for_what_is_anothers_learns_and_changes_nothing")),
    ("org_missing", By::Stateful("24")),
    ("replay_renders_anew", By::Test("replay::a_replay_shows_the_order_as_it_was")),
    ("replay_renders_anew", By::Sweep("charge/finish/committed")),
    ("fingerprint_ignores_amount", By::Test("fingerprint::another_price_alone_is_another_request")),
    ("signature_not_checked", By::Test("inbox::receiving::what_is_not_signed_is_refused_and_kept_within_bounds")),
    ("answered_before_stored", By::Test("inbox::receiving::what_cannot_be_committed_is_503")),
    ("answered_before_stored", By::Sweep("inbox/receive/before_commit")),
    ("event_key_not_unique", By::Test("inbox::receiving::ten_at_once_are_ten_receipts_and_one_event")),
    ("event_key_not_unique", By::Stateful("24")),
    ("step_sent_again", By::Test("steps::faults::a_partner_who_does_not_is_asked_and_never_sent_it_twice")),
    ("done_is_left", By::Test("machines::what_is_done_stays_done_and_evidence_always_counts")),
    ("list_skips_row", By::Test("order_list::pages_of_any_size_walk_every_order_once")),
    ("list_skips_row", By::Stateful("24")),
];

impl By {
    /// Its name in the table.
    fn told(self) -> String {
        match self {
            Self::Test(test) => test.to_owned(),
            Self::Sweep(only) => format!("sweep {only}"),
            Self::Stateful(cases) => format!("stateful, {cases} cases"),
        }
    }
}

/// How a test ended.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Passed,
    /// With the first line that says why.
    Failed(String),
    /// It ran no test, or did not come to an end: that proves nothing.
    Void(&'static str),
}

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("teeth: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<bool, Failure> {
    let (Arguments { only, json }, began) = (Arguments::parse(), Instant::now());
    let unmet: Vec<_> = NAMES.iter().filter(|name| !MEANT.iter().any(|(meant, _)| meant == *name)).collect();
    let unknown: Vec<_> = MEANT.iter().map(|(meant, _)| meant).filter(|meant| !NAMES.contains(meant)).collect();
    if !unmet.is_empty() || !unknown.is_empty() {
        return Err(
            format!("faults that nothing is meant to catch: {unmet:?}; that are not planted: {unknown:?}").into()
        );
    }
    let (programs, logs) = (Programs::build()?, directory());
    fs::create_dir_all(&logs)?;
    println!("| fault | meant to be caught by | without it | with it |\n| --- | --- | --- | --- |");
    let (mut missed, mut faults) = (BTreeSet::new(), BTreeSet::new());
    for (number, (name, by)) in MEANT.iter().enumerate().filter(|(_, (name, _))| name.starts_with(&only)) {
        eprintln!("teeth: {name}, {}", by.told());
        let sound = programs.verdict(*by, None, &logs.join(format!("{number}.sound")))?;
        let planted = programs.verdict(*by, Some(name), &logs.join(format!("{number}.planted")))?;
        faults.insert(name);
        let told = match &planted {
            Verdict::Failed(why) if sound == Verdict::Passed => format!("caught: {}", why.replace('|', "/")),
            other => {
                missed.insert(name);
                format!("MISSED: {other:?}")
            }
        };
        println!("| {name} | {} | {sound:?} | {told} |", by.told());
    }
    println!("\n{}/{} planted faults were caught", faults.len() - missed.len(), faults.len());
    if let Some(file) = json {
        let tally = Tally::of("teeth", None, began.elapsed());
        let checks = MEANT.iter().filter(|(name, _)| name.starts_with(&only)).count();
        Tally { faults: faults.len(), operations: checks, violations: missed.len(), ..tally }.append(&file)?;
    }
    Ok(missed.is_empty() && !faults.is_empty())
}

/// The tests and the sweep, built with the faults.
struct Programs {
    tests: PathBuf,
    sweep: PathBuf,
    stateful: PathBuf,
}

impl Programs {
    fn build() -> Result<Self, Failure> {
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command.args(["test", "--locked", "--features", "planted,failpoints", "--test", "it", "--test", "sweep"]);
        command.args(["--test", "stateful", "--no-run", "--message-format", "json"]).stderr(Stdio::inherit());
        let output = command.output()?;
        let lines = String::from_utf8(output.stdout)?;
        let built: Vec<Value> = lines.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let text = |line: &Value, place: &str| line.pointer(place).and_then(Value::as_str).map(str::to_owned);
        let program = |name: &str| {
            let mut of_it = built.iter().filter(|line| text(line, "/target/name").as_deref() == Some(name));
            of_it.find_map(|line| text(line, "/executable")).map(PathBuf::from)
        };
        let programs = program("it").zip(program("sweep")).zip(program("stateful"));
        let programs = programs.filter(|_| output.status.success());
        programs
            .map(|((tests, sweep), stateful)| Self { tests, sweep, stateful })
            .ok_or_else(|| "the tests cannot be built".into())
    }

    /// Runs what is meant to catch a fault, with or without it.
    fn verdict(&self, by: By, fault: Option<&str>, log: &Path) -> Result<Verdict, Failure> {
        let (program, arguments): (_, &[&str]) = match by {
            By::Test(test) => (&self.tests, &[test, "--exact"]),
            By::Sweep(only) => (&self.sweep, &["--full", "--at-once", "6", "--seed", "1", "--only", only]),
            By::Stateful(_) => (&self.stateful, &[]),
        };
        let mut command = Command::new(program);
        command
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(File::create(log)?)
            .stderr(File::create(log.with_extension("err"))?);
        command.env("ICHIDO_PLANTED", fault.unwrap_or_default());
        if let By::Stateful(cases) = by {
            command.envs([("CASES", cases), ("SEED", "1")]);
        }
        let Some(succeeded) = ended(&mut command)? else { return Ok(Verdict::Void("no end")) };
        let said = fs::read_to_string(log)?;
        let (has_run, why) = match by {
            // The line after the one that names the panic's place.
            By::Test(_) | By::Stateful(_) => {
                (said.contains("running 1 test"), said.lines().skip_while(|it| !it.contains("panicked at")).nth(1))
            }
            By::Sweep(_) => (said.contains("cases passed"), said.lines().find(|line| line.contains("WRONG"))),
        };
        Ok(match (has_run, succeeded, why) {
            (false, ..) => Verdict::Void("nothing was run"),
            (_, true, _) => Verdict::Passed,
            (_, false, None) => Verdict::Void("it failed without saying why"),
            (_, false, Some(why)) => Verdict::Failed(why.chars().take(160).collect()),
        })
    }
}

/// Whether it succeeded; `None` when it did not end in time.
fn ended(command: &mut Command) -> Result<Option<bool>, Failure> {
    let (mut child, began) = (command.spawn()?, Instant::now());
    while began.elapsed() < LIMIT {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status.success()));
        }
        sleep(POLL);
    }
    child.kill()?;
    child.wait()?;
    Ok(None)
}

/// `target/teeth`, wherever cargo's target directory is.
fn directory() -> PathBuf {
    let temporary = Path::new(env!("CARGO_TARGET_TMPDIR"));
    temporary.parent().unwrap_or(temporary).join("teeth")
}
