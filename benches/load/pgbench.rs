//! What PostgreSQL alone gives: pgbench runs the very statements of the service, on the same server and tables.
//!
//! Values that differ from order to order are made by pgbench; the others are those of an order that the service
//! stored, and are sent with each execution too, so that PostgreSQL receives and stores as many bytes.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use ichido::clock::Clock;
use time::OffsetDateTime;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{ChildStderr, Command};
use tokio::time::timeout;
use tokio_postgres::{Client, Row};

use crate::Failure;
use crate::meter::{Mark, Marks, Outcome};
use crate::plan::Run;
use crate::requests::{KNOWN_KEY_REST, known_key};
use crate::scripts;
use crate::statistics::percentile;
use crate::work::{Sample, Work};

/// The works that are pgbench's.
const WORKS: [Work; 4] = [Work::PgbenchSingle, Work::PgbenchClassic, Work::PgbenchRead, Work::PgbenchPaid];

/// Values of a stored order, as text, under the names that the scripts use. The hash becomes 32 characters, which as
/// `bytea` are as many bytes.
const READ_STORED: &str = "
    SELECT fingerprint_version::text, left(encode(request_sha256, 'hex'), 32) AS request_sha256, response_status::text,
        response_headers::text, convert_from(response_body, 'UTF8') AS response_body, orders.currency,
        orders.amount::text, orders.status, orders.request, orders.created_at::text
    FROM idempotency_keys JOIN orders USING (org_id, order_id)
    WHERE org_id = $1 AND idempotency_key = $2";

/// The same of an order with a payment, where it differs.
const READ_PAID: &str = "
    SELECT orders.request AS paid_request, payments.provider AS paid_provider,
        convert_from(idempotency_keys.response_body, 'UTF8') AS paid_response_body,
        operations.last_outcome AS paid_outcome, journal.details::text AS paid_details
    FROM idempotency_keys
    JOIN orders USING (org_id, order_id)
    JOIN payments USING (org_id, order_id)
    JOIN operations USING (org_id, order_id)
    JOIN journal USING (org_id, order_id)
    WHERE org_id = $1 AND idempotency_keys.idempotency_key = $2
        AND operations.kind = 'charge' AND journal.what = 'operation_attempted'";

/// As long as the payment method of the bench is when it is sealed: 41 bytes more than the method itself.
const SEALED_METHOD: &str = "sealed method sealed method sealed method sealed metho";

/// The part of pgbench's own times that is kept for the percentiles: enough for them, too few to cost anything.
const SAMPLING_RATE: &str = "0.1";

/// How long pgbench runs before anything is counted: each session takes some 10 ms of CPU until its statements are
/// planned, and twice as long with several of them.
fn warm_up(run: &Run) -> Duration {
    let seconds = 2 + run.connections as u64 / 128;
    Duration::from_secs(if run.work == Work::PgbenchPaid { 2 * seconds } else { seconds })
}

/// Less than this says nothing.
const LEAST_SECONDS: f64 = 0.5;

/// How much longer than asked a run may take; opening the connections is part of it.
const GRACE: Duration = Duration::from_secs(30);

/// How much of what it says is shown when it fails; every client says the same.
const ERROR_LINES: usize = 6;

/// pgbench, with all that it needs to run the scripts.
pub struct Pgbench {
    program: PathBuf,
    socket_directory: PathBuf,
    work_directory: PathBuf,
    database: String,
    definitions: Vec<String>,
}

/// Where pgbench's orders go.
pub struct Place<'a> {
    /// The directory of PostgreSQL's socket.
    pub socket_directory: &'a Path,
    /// Where scripts and logs are written.
    pub work_directory: &'a Path,
    /// The database.
    pub database: &'a str,
    /// The organisation.
    pub org_id: i64,
    /// The organisation of orders with payments.
    pub paid_org_id: i64,
}

impl Pgbench {
    /// Where pgbench is among PostgreSQL's programs; `None` when it is not installed there.
    pub fn program(bin_dir: &Path) -> Option<PathBuf> {
        Some(bin_dir.join("pgbench")).filter(|program| program.is_file())
    }

    /// Writes the scripts. The first of the known orders must exist in both organisations: its values are used.
    pub async fn prepare(program: PathBuf, place: &Place<'_>, client: &Client) -> Result<Self, Failure> {
        for work in WORKS {
            if let Some(script) = scripts::of(work) {
                fs::write(script_file(place.work_directory, work), script?)?;
            }
        }
        let fixed = [
            ("known_rest", KNOWN_KEY_REST),
            ("nothing", "nothing"),
            ("count", "100000000000"),
            ("attempt", "1"),
            ("yes", "true"),
            ("no", "false"),
            ("lease_seconds", "30"),
            ("deadline_seconds", "80000"),
            ("paid_method", SEALED_METHOD),
        ];
        let mut definitions: Vec<_> = fixed.iter().map(|(name, value)| format!("{name}={value}")).collect();
        definitions.push(format!("org_id={}", place.org_id));
        definitions.push(format!("paid_org_id={}", place.paid_org_id));
        define(&mut definitions, &client.query_one(READ_STORED, &[&place.org_id, &known_key(0)]).await?)?;
        define(&mut definitions, &client.query_one(READ_PAID, &[&place.paid_org_id, &known_key(0)]).await?)?;
        Ok(Self {
            program,
            socket_directory: place.socket_directory.to_path_buf(),
            work_directory: place.work_directory.to_path_buf(),
            database: place.database.to_owned(),
            definitions,
        })
    }

    /// Runs a script for a time, which begins after a warm-up, as the service has had one: until its sessions have read
    /// the catalogue and planned the statements, they do little else, and there are hundreds of them. The marks say so.
    /// Gives the figures and how many transactions there were. `run` must differ from run to run.
    pub async fn run(&self, run: &Run, number: u32, marks: &Marks) -> Result<Outcome, Failure> {
        let logs = self.work_directory.join(format!("pgbench-{number}"));
        fs::create_dir(&logs)?;
        let mut command = self.command(run, number);
        command.args(["--log", "--sampling-rate", SAMPLING_RATE, "--log-prefix"]).arg(logs.join("times"));
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let (Some(mut output), Some(errors)) = (child.stdout.take(), child.stderr.take()) else {
            return Err("pgbench has no output".into());
        };
        let all = async {
            let progress = follow(errors, run, marks).await?;
            let mut printed = String::new();
            output.read_to_string(&mut printed).await?;
            Ok::<_, Failure>((progress, printed, child.wait().await?))
        };
        let ended = timeout(run.duration + warm_up(run) + GRACE, all).await;
        let (progress, printed, status) = ended.map_err(|_| "pgbench does not end")??;
        let Some((transactions, seconds)) = progress.after_warm_up(&printed).filter(|_| status.success()) else {
            return Err(format!("pgbench ended with {status}:\n{}", progress.errors.join("\n")).into());
        };
        let mut times = times(&logs, progress.warm_at)?;
        fs::remove_dir_all(&logs)?;
        let sample = Sample {
            per_second: transactions / seconds,
            p50_ms: f64::from(percentile(&mut times, 500)) / 1000.0,
            p99_ms: f64::from(percentile(&mut times, 990)) / 1000.0,
            errors: number_after(&printed, "number of failed transactions: ").unwrap_or_default(),
            ..Sample::default()
        };
        Ok(Outcome { sample, requests: transactions, orders: 0.0 })
    }

    fn command(&self, run: &Run, number: u32) -> Command {
        let (clients, duration) = (run.connections, run.duration + warm_up(run));
        let mut command = Command::new(&self.program);
        for (name, _) in env::vars_os().filter(|(name, _)| name.as_encoded_bytes().starts_with(b"PG")) {
            command.env_remove(name);
        }
        command
            .args([
                "-n",
                "-M",
                "prepared",
                "-j",
                if clients == 1 { "1" } else { "2" },
                "-U",
                "ichido",
                "-p",
                "5432",
                "-h",
            ])
            .arg(&self.socket_directory);
        command.args(["-c", &clients.to_string(), "-T", &duration.as_secs().to_string(), "-P", "1"]);
        command.args(["-D", &format!("run={}", 10_000_000 + number)]);
        for definition in &self.definitions {
            command.args(["-D", definition]);
        }
        command.arg("-f").arg(script_file(&self.work_directory, run.work)).arg(&self.database);
        command.stdin(Stdio::null()).kill_on_drop(true);
        command
    }
}

fn script_file(directory: &Path, work: Work) -> PathBuf {
    directory.join(format!("{}.sql", work.id()))
}

/// Each column becomes a variable.
fn define(definitions: &mut Vec<String>, row: &Row) -> Result<(), Failure> {
    for (index, column) in row.columns().iter().enumerate() {
        definitions.push(format!("{}={}", column.name(), row.try_get::<_, String>(index)?));
    }
    Ok(())
}

/// The number that follows a phrase in pgbench's output.
fn number_after<T: std::str::FromStr>(text: &str, phrase: &str) -> Option<T> {
    let (_, rest) = text.split_once(phrase)?;
    rest.split_ascii_whitespace().next()?.parse().ok()
}

/// What pgbench has said while it ran.
#[derive(Default)]
struct Said {
    /// How long the warm-up took in the end, in seconds, and how many transactions it had.
    seconds: f64,
    transactions: f64,
    /// When it was over, in seconds since 1970 as pgbench's logs have it.
    warm_at: f64,
    /// Other lines, which are errors.
    errors: Vec<String>,
}

impl Said {
    /// How many transactions there were after the warm-up, and in how many seconds, by what pgbench printed at the end.
    fn after_warm_up(&self, printed: &str) -> Option<(f64, f64)> {
        let all: f64 = number_after(printed, "number of transactions actually processed: ")?;
        // The speed is without the time in which clients connected, that of the progress lines with it.
        let connecting = number_after::<f64>(printed, "initial connection time = ").unwrap_or_default() / 1000.0;
        let seconds = all / number_after::<f64>(printed, "tps = ")? + connecting;
        let (after, rest) = (all - self.transactions, seconds - self.seconds);
        // On a machine that is far too busy there may be nothing left, and all of it is as good as any part.
        if rest < LEAST_SECONDS || after < 1.0 { (all > 0.0).then_some((all, seconds)) } else { Some((after, rest)) }
    }
}

/// Reads the line that pgbench writes every second until it ends:
/// `progress: 3.0 s, 5432.1 tps, lat 5.891 ms stddev 1.2, 0 failed`.
async fn follow(output: ChildStderr, run: &Run, marks: &Marks) -> Result<Said, Failure> {
    let mut said = Said::default();
    let (mut before, mut since) = (0.0, 0.0);
    let warm_up = warm_up(run);
    // With its last line pgbench ends, and so do PostgreSQL's processes, which is not to be counted.
    let last = (warm_up + run.duration).as_secs_f64() - 0.5;
    let mut lines = BufReader::new(output).lines();
    while let Some(line) = lines.next_line().await? {
        let Some(at) = number_after::<f64>(&line, "progress: ") else {
            if said.errors.len() < ERROR_LINES && !line.starts_with("pgbench (") {
                said.errors.push(line);
            }
            continue;
        };
        let per_second: f64 = number_after(&line, " s, ").unwrap_or_default();
        // The seconds do not end exactly when they should.
        let transactions = per_second * (at - before);
        before = at;
        if said.warm_at > 0.0 {
            since += transactions;
            if at < last {
                marks.set(Mark::Done(since));
            }
            continue;
        }
        said.transactions += transactions;
        said.seconds = at;
        if at > warm_up.as_secs_f64() - 0.5 {
            said.warm_at = seconds_since_1970();
            marks.set(Mark::Warm);
        }
    }
    Ok(said)
}

fn seconds_since_1970() -> f64 {
    (Clock::System.now() - OffsetDateTime::UNIX_EPOCH).as_seconds_f64()
}

/// The times in pgbench's logs in microseconds, of what ended after a moment: the third column, and the moment in the
/// fifth. There is one file for each of its threads.
fn times(directory: &Path, after: f64) -> Result<Vec<u32>, Failure> {
    let mut times = Vec::new();
    for entry in fs::read_dir(directory)? {
        let text = fs::read_to_string(entry?.path())?;
        times.extend(text.lines().filter_map(|line| {
            let mut columns = line.split_ascii_whitespace().skip(2);
            let (time, ended) = (columns.next()?, columns.nth(1)?);
            (ended.parse::<f64>().ok()? >= after).then(|| time.parse::<u32>().ok())?
        }));
    }
    Ok(times)
}
