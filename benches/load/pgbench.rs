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
use tokio_postgres::Client;

use crate::Failure;
use crate::requests::{CUSTOMERS, FIRST_CUSTOMER, FIRST_KNOWN, KNOWN, KNOWN_KEY_REST, KNOWN_STEP, known_key};
use crate::statistics::percentile;
use crate::work::{Sample, Work};

const CLAIM: &str = include_str!("../../sql/query/idempotency_keys/claim_with_order.sql");
const FIND: &str = include_str!("../../sql/query/idempotency_keys/find.sql");

/// What each parameter of [`CLAIM`] becomes, `$1` first.
///
/// The key is random like the clients' keys, and nearly as long. The order's id grows with time like the service's: run,
/// count and client, in decimal digits, which are also valid hexadecimal ones. The two parameters that are null are not
/// constants, since PostgreSQL would plan those away.
const CLAIM_VALUES: [&str; 16] = [
    ":org_id",
    "(:key_high::text || '-' || :key_low::text)",
    ":fingerprint_version",
    ":request_sha256",
    "(:run::text || :count::text || :client::text)::uuid",
    ":response_status",
    ":response_headers",
    ":response_body",
    "nullif(:nothing, 'nothing')",
    "nullif(:nothing, 'nothing')",
    ":customer",
    ":currency",
    ":amount",
    ":status",
    ":request",
    ":created_at",
];

/// What each parameter of [`FIND`] becomes.
const FIND_VALUES: [&str; 2] = [":org_id", "(:known::text || :known_rest)"];

/// The values of a stored order that the statement is run with, as the query below names them.
const STORED: [&str; 10] = [
    "fingerprint_version",
    "request_sha256",
    "response_status",
    "response_headers",
    "response_body",
    "currency",
    "amount",
    "status",
    "request",
    "created_at",
];

/// Reads them as text. The hash becomes 32 characters, which as `bytea` are as many bytes.
const READ_STORED: &str = "
    SELECT fingerprint_version::text, left(encode(request_sha256, 'hex'), 32) AS request_sha256, response_status::text,
        response_headers::text, convert_from(response_body, 'UTF8') AS response_body, orders.currency,
        orders.amount::text, orders.status, orders.request, orders.created_at::text
    FROM idempotency_keys JOIN orders USING (org_id, order_id)
    WHERE idempotency_key = $1";

/// The part of pgbench's own times that is kept for the percentiles: enough for them, too few to cost anything.
const SAMPLING_RATE: &str = "0.1";

/// How much longer than asked a run may take; opening the connections is part of it.
const GRACE: Duration = Duration::from_secs(30);

/// pgbench, with all that it needs to run either statement.
pub struct Pgbench {
    program: PathBuf,
    socket_directory: PathBuf,
    work_directory: PathBuf,
    claim: PathBuf,
    find: PathBuf,
    definitions: Vec<String>,
}

impl Pgbench {
    /// Where pgbench is among PostgreSQL's programs; `None` when it is not installed there.
    pub fn program(bin_dir: &Path) -> Option<PathBuf> {
        Some(bin_dir.join("pgbench")).filter(|program| program.is_file())
    }

    /// Writes the scripts. The first of the known orders must exist: its values are used.
    pub async fn prepare(
        program: PathBuf,
        socket_directory: &Path,
        work_directory: &Path,
        client: &Client,
        org_id: &str,
    ) -> Result<Self, Failure> {
        let (claim, find) = (work_directory.join("claim.sql"), work_directory.join("find.sql"));
        let last_customer = FIRST_CUSTOMER + CUSTOMERS - 1;
        let values = format!(
            "\\set key_high random(1, 9223372036854775806)\n\\set key_low random(1, 9223372036854775806)\n\
             \\set count :count + 1\n\\set client :client_id + 100000000000\n\
             \\set customer random({FIRST_CUSTOMER}, {last_customer})\n"
        );
        fs::write(&claim, values + &script(CLAIM, &CLAIM_VALUES)?)?;
        let values = format!("\\set known {FIRST_KNOWN} + random(0, {}) * {KNOWN_STEP}\n", KNOWN - 1);
        fs::write(&find, values + &script(FIND, &FIND_VALUES)?)?;
        let row = client.query_one(READ_STORED, &[&known_key(0)]).await?;
        let mut definitions = vec![
            format!("org_id={org_id}"),
            format!("known_rest={KNOWN_KEY_REST}"),
            "nothing=nothing".to_owned(),
            "count=100000000000".to_owned(),
        ];
        for name in STORED {
            definitions.push(format!("{name}={}", row.try_get::<_, String>(name)?));
        }
        let (socket_directory, work_directory) = (socket_directory.to_path_buf(), work_directory.to_path_buf());
        Ok(Self { program, socket_directory, work_directory, claim, find, definitions })
    }

    /// Runs one of the statements for a time; gives the figures and how many transactions there were. `run` must differ
    /// from run to run.
    pub async fn run(
        &self,
        work: Work,
        clients: usize,
        duration: Duration,
        run: u32,
    ) -> Result<(Sample, u32), Failure> {
        let logs = self.work_directory.join(format!("pgbench-{run}"));
        fs::create_dir(&logs)?;
        let mut command = Command::new(&self.program);
        for (name, _) in env::vars_os().filter(|(name, _)| name.as_encoded_bytes().starts_with(b"PG")) {
            command.env_remove(name);
        }
        command
            .args(["-n", "-M", "prepared", "-j", "2", "-U", "ichido", "-p", "5432", "-h"])
            .arg(&self.socket_directory);
        command.args(["-c", &clients.to_string(), "-T", &duration.as_secs().to_string()]);
        command.args(["-D", &format!("run={}", 10_000_000 + run)]);
        for definition in &self.definitions {
            command.args(["-D", definition]);
        }
        command.args(["--log", "--sampling-rate", SAMPLING_RATE, "--log-prefix"]).arg(logs.join("times"));
        command.arg("-f").arg(if work == Work::PgbenchClaim { &self.claim } else { &self.find }).arg("bench");
        command.stdin(Stdio::null()).kill_on_drop(true);
        let output = timeout(duration + GRACE, command.output()).await.map_err(|_| "pgbench does not end")??;
        let printed = String::from_utf8_lossy(&output.stdout);
        let transactions = number_after(&printed, "number of transactions actually processed: ");
        let failed = number_after(&printed, "number of failed transactions: ");
        let (Some(per_second), Some(transactions), true) =
            (number_after(&printed, "tps = "), transactions, output.status.success())
        else {
            return Err(format!("pgbench failed: {}", String::from_utf8_lossy(&output.stderr)).into());
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
}

/// A statement with its comments removed and its parameters replaced.
fn script(statement: &str, values: &[&str]) -> Result<String, Failure> {
    let lines: Vec<&str> = statement.lines().filter(|line| !line.trim_start().starts_with("--")).collect();
    let text = lines.join("\n");
    let mut parts = text.split('$');
    let mut script = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.find(|character: char| !character.is_ascii_digit()).unwrap_or(part.len());
        let index: usize = part[..digits].parse()?;
        let value = index.checked_sub(1).and_then(|index| values.get(index));
        script += value.ok_or_else(|| format!("the bench knows no value for parameter ${index} of:\n{text}"))?;
        script += &part[digits..];
    }
    Ok(format!("{};\n", script.trim_end().trim_end_matches(';')))
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
