//! What PostgreSQL alone gives: pgbench runs the very statements of the service, on the same server and tables.
//!
//! Values that differ from order to order are made by pgbench; the others are those of an order that the service
//! stored, and are sent with each execution too, so that PostgreSQL receives and stores as many bytes.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::time::timeout;
use tokio_postgres::{Client, Row};

use crate::Failure;
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

    /// Runs a script for a time; gives the figures and how many transactions there were. `run` must differ from run to
    /// run.
    pub async fn run(
        &self,
        work: Work,
        clients: usize,
        duration: Duration,
        run: u32,
    ) -> Result<(Sample, u64), Failure> {
        let logs = self.work_directory.join(format!("pgbench-{run}"));
        fs::create_dir(&logs)?;
        let mut command = self.command(work, clients, duration, run);
        command.args(["--log", "--sampling-rate", SAMPLING_RATE, "--log-prefix"]).arg(logs.join("times"));
        let output = timeout(duration + GRACE, command.output()).await.map_err(|_| "pgbench does not end")??;
        let printed = String::from_utf8_lossy(&output.stdout);
        let transactions = number_after(&printed, "number of transactions actually processed: ");
        let failed = number_after(&printed, "number of failed transactions: ");
        let (Some(per_second), Some(transactions), true) =
            (number_after(&printed, "tps = "), transactions, output.status.success())
        else {
            let errors = String::from_utf8_lossy(&output.stderr);
            let first: Vec<_> = errors.lines().take(ERROR_LINES).collect();
            return Err(first.join("\n").into());
        };
        let mut times = times(&logs)?;
        fs::remove_dir_all(&logs)?;
        let sample = Sample {
            per_second,
            p50_ms: f64::from(percentile(&mut times, 500)) / 1000.0,
            p99_ms: f64::from(percentile(&mut times, 990)) / 1000.0,
            errors: failed.unwrap_or_default(),
            ..Sample::default()
        };
        Ok((sample, transactions))
    }

    fn command(&self, work: Work, clients: usize, duration: Duration, run: u32) -> Command {
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
        command.args(["-c", &clients.to_string(), "-T", &duration.as_secs().to_string()]);
        command.args(["-D", &format!("run={}", 10_000_000 + run)]);
        for definition in &self.definitions {
            command.args(["-D", definition]);
        }
        command.arg("-f").arg(script_file(&self.work_directory, work)).arg(&self.database);
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

/// The times in pgbench's logs in microseconds: the third column; there is one file for each of its threads.
fn times(directory: &Path) -> Result<Vec<u32>, Failure> {
    let mut times = Vec::new();
    for entry in fs::read_dir(directory)? {
        let text = fs::read_to_string(entry?.path())?;
        times.extend(text.lines().filter_map(|line| line.split_ascii_whitespace().nth(2)?.parse::<u32>().ok()));
    }
    Ok(times)
}
