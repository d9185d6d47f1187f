//! The teeth: faults planted in the program (`src/planted.rs`) are switched on one at a time, and the test that is meant to catch
//! each has to fail. First all of them have to pass without a fault.
//!
//! `make verify-teeth` runs it. The table goes to stdout, progress to stderr, what the tests said to `target/teeth`; exit status
//! 1 when a fault is missed.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "what it prints is its result")]

use ichido::planted::NAMES;
use std::env;
use std::error::Error;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

type Failure = Box<dyn Error>;

/// The longest that one test may take.
const LIMIT: Duration = Duration::from_mins(3);
const POLL: Duration = Duration::from_millis(50);

/// Which test catches which fault.
const MEANT: &[(&str, &str)] = &[
    (
        "acknowledged_before_commit",
        "payments::cuts::a_cancelled_order_gets_its_money_back_once_wherever_the_connection_breaks",
    ),
    ("claim_not_unique", "races::storms_on_two_services_make_one_order_each"),
    ("no_lease_token", "payments::races::whoever_lost_the_lease_writes_nothing"),
    ("new_gateway_key", "payments::unknown::a_lost_answer_is_202_and_then_the_order_charged_once"),
    ("gateway_key_for_ever", "payments::unknown::a_key_that_the_gateway_has_forgotten_is_never_sent_again"),
    ("refund_without_key", "payments::cuts::a_cancelled_order_gets_its_money_back_once_wherever_the_connection_breaks"),
    ("org_missing", "tenants::an_order_of_another_organisation_is_like_one_that_does_not_exist"),
    ("replay_renders_anew", "replay::a_replay_shows_the_order_as_it_was"),
    ("fingerprint_ignores_amount", "fingerprint::neighbours_at_the_largest_amount_are_different_requests"),
    ("signature_not_checked", "inbox::receiving::what_is_not_signed_is_refused_and_kept_within_bounds"),
    ("answered_before_stored", "inbox::receiving::what_cannot_be_committed_is_503"),
    ("event_key_not_unique", "inbox::receiving::ten_at_once_are_ten_receipts_and_one_event"),
    ("step_sent_again", "steps::faults::a_partner_who_does_not_is_asked_and_never_sent_it_twice"),
    ("done_is_left", "machines::what_is_done_stays_done_and_evidence_always_counts"),
    ("list_skips_row", "order_list::pages_of_any_size_walk_every_order_once"),
];

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
    let only = env::args().nth(1).unwrap_or_default();
    let missing: Vec<_> = NAMES.iter().filter(|name| !MEANT.iter().any(|(meant, _)| meant == *name)).collect();
    if !missing.is_empty() || MEANT.len() != NAMES.len() {
        return Err(format!("faults without a test, or tests without a fault: {missing:?}").into());
    }
    let (tests, logs) = (built()?, directory());
    fs::create_dir_all(&logs)?;
    println!("| fault | meant to be caught by | without it | with it |\n| --- | --- | --- | --- |");
    let (mut caught, mut all) = (0, 0);
    for (name, test) in MEANT.iter().filter(|(name, _)| name.starts_with(&only)) {
        eprintln!("teeth: {name}");
        let sound = verdict(&tests, test, None, &logs.join(format!("{name}.sound")))?;
        let faulty = verdict(&tests, test, Some(name), &logs.join(format!("{name}.planted")))?;
        let is_caught = sound == Verdict::Passed && matches!(faulty, Verdict::Failed(_));
        caught += usize::from(is_caught);
        all += 1;
        let told = match &faulty {
            Verdict::Failed(why) => format!("caught: {}", why.replace('|', "/")),
            other => format!("MISSED: {other:?}"),
        };
        println!("| {name} | {test} | {sound:?} | {told} |");
    }
    println!("\n{caught}/{all} planted faults were caught");
    Ok(caught == all && all > 0)
}

/// Builds the tests with the faults, and gives their program.
fn built() -> Result<PathBuf, Failure> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["test", "--locked", "--features", "planted,failpoints", "--test", "it", "--no-run"]);
    let output = command.args(["--message-format", "json"]).stderr(Stdio::inherit()).output()?;
    let lines = String::from_utf8(output.stdout)?;
    let program =
        lines.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok()).find_map(|line| {
            let is_ours = line["target"]["name"] == "it" && line["executable"].is_string();
            is_ours.then(|| line["executable"].as_str().map(PathBuf::from)).flatten()
        });
    Ok(program.filter(|_| output.status.success()).ok_or("the tests cannot be built")?)
}

/// Runs one test, with or without a fault.
fn verdict(tests: &Path, test: &str, fault: Option<&str>, log: &Path) -> Result<Verdict, Failure> {
    let (out, err) = (File::create(log)?, File::create(log.with_extension("err"))?);
    let mut command = Command::new(tests);
    command.args([test, "--exact"]).stdin(Stdio::null()).stdout(out).stderr(err).env_remove("ICHIDO_PLANTED");
    if let Some(fault) = fault {
        command.env("ICHIDO_PLANTED", fault);
    }
    let (mut child, began) = (command.spawn()?, Instant::now());
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if began.elapsed() > LIMIT {
            child.kill()?;
            child.wait()?;
            return Ok(Verdict::Void("no end"));
        }
        sleep(POLL);
    };
    let said = fs::read_to_string(log)?;
    if !said.contains("running 1 test") {
        return Ok(Verdict::Void("no test"));
    }
    if status.success() {
        return Ok(Verdict::Passed);
    }
    // The line after the one that names the panic's place.
    let mut lines = said.lines().skip_while(|line| !line.contains("panicked at")).skip(1);
    Ok(Verdict::Failed(lines.next().unwrap_or("it ended otherwise").chars().take(100).collect()))
}

/// `target/teeth`, wherever cargo's target directory is.
fn directory() -> PathBuf {
    let temporary = Path::new(env!("CARGO_TARGET_TMPDIR"));
    temporary.parent().unwrap_or(temporary).join("teeth")
}
