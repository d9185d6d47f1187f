//! Everything that runs during a bench, and one run on it.

use std::fs;
use std::path::Path;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use ichido::embedded::Server;
use tokio::time::sleep;
use tokio_postgres::Client;

use crate::Failure;
use crate::http_run::{self, Target};
use crate::pgbench::Pgbench;
use crate::process;
use crate::setup::{self, RunDirectory, Running};
use crate::statistics::percentile;
use crate::steps::{self, Steps};
use crate::work::{Memory, Sample, Work};

/// How often memory is looked at during a run.
const MEMORY_INTERVAL: Duration = Duration::from_millis(250);

/// How long the service is warmed up, with as many connections as it will get, so that the first run finds its
/// database connections open like all others.
const WARM_UP: Duration = Duration::from_secs(1);
const WARM_UP_CONNECTIONS: usize = 128;

/// What the figures depend on.
#[derive(Debug, Clone)]
pub struct Environment {
    /// Processors that this process may use.
    pub cores: usize,
    /// PostgreSQL's version.
    pub postgres: String,
    /// Its settings that decide what survives a crash.
    pub durability: String,
    /// The system's kernel.
    pub kernel: String,
    /// How many processes wanted to run in the minute before. Well above zero, the figures are of a disturbed machine.
    pub load_before: f64,
}

/// Service and PostgreSQL, running. The order of the members is the order in which they end.
pub struct Stand {
    service: Running,
    pgbench: Option<Pgbench>,
    client: Client,
    postgres: Server,
    url: String,
    target: Target,
    environment: Environment,
    // A `Cell`, since runs borrow the stand and each needs another number.
    runs: std::cell::Cell<u32>,
    directory: RunDirectory,
}

impl Stand {
    /// Starts everything and makes the orders that are replayed.
    pub async fn start(bench: &Path) -> Result<Self, Failure> {
        let load_before = load();
        let directory = RunDirectory::create(bench)?;
        let (binaries, postgres) = setup::start_postgres(&directory)?;
        setup::connect(&postgres.url("postgres")).await?.batch_execute("CREATE DATABASE bench").await?;
        let url = postgres.url("bench");
        setup::admin(&url, &["migrate"])?;
        let org = setup::admin(&url, &["org", "create", "--name", "bench", "--mode", "test"])?;
        let org_id = setup::member(&org, "org_id")?;
        let scopes = ["--scope", "orders:write", "--scope", "orders:read"];
        let key = setup::admin(&url, &[&["key", "create", "--org", &org_id], &scopes[..]].concat())?;
        // Its periodic jobs are another process's, and measured on their own.
        let mut service = Running::start(bench, "server", &url, &["serve", "--no-worker", "--listen", "127.0.0.1:0"])?;
        let target = Target { address: service.address().await?, token: setup::member(&key, "token")? };
        http_run::create_known(&target, WARM_UP_CONNECTIONS).await?;
        let client = setup::connect(&url).await?;
        let pgbench = if let Some(program) = Pgbench::program(&binaries.bin_dir) {
            let socket = postgres.socket_dir();
            Some(Pgbench::prepare(program, socket, directory.path(), &client, &org_id).await?)
        } else {
            eprintln!("no pgbench in {}: its works are skipped", binaries.bin_dir.display());
            None
        };
        let environment = environment(&client, load_before).await?;
        let runs = std::cell::Cell::new(0);
        Ok(Self { service, pgbench, client, postgres, url, target, environment, runs, directory })
    }

    /// What the figures depend on.
    pub fn environment(&self) -> Environment {
        self.environment.clone()
    }

    /// A run that nobody looks at.
    pub async fn warm_up(&self) -> Result<(), Failure> {
        self.run(Work::New, WARM_UP_CONNECTIONS, WARM_UP).await.map(|_| ())
    }

    /// Runs a work for a time; `None` when pgbench is needed and missing.
    pub async fn run(&self, work: Work, connections: usize, duration: Duration) -> Result<Option<Sample>, Failure> {
        self.runs.set(self.runs.get() + 1);
        let started = Instant::now();
        let (postgres_before, others_before) = (self.cpu_of_postgres(), self.cpu_of_others());
        let (mut sample, requests) = match work {
            Work::New | Work::Replay | Work::Half => self.run_http(work, connections, duration).await?,
            Work::PgbenchClaim | Work::PgbenchRead => match &self.pgbench {
                Some(pgbench) => pgbench.run(work, connections, duration, self.runs.get()).await?,
                None => return Ok(None),
            },
        };
        sample.postgres_cpu_us = each(postgres_before, self.cpu_of_postgres(), requests);
        let all = started.elapsed().as_secs_f64() * f64::from(u32::try_from(self.environment.cores)?);
        let others = self.cpu_of_others().zip(others_before).map(|(after, before)| after.saturating_sub(before));
        sample.others = others.map(|used| used.as_secs_f64() / all);
        Ok(Some(sample))
    }

    /// What one worker does, with the service idle.
    pub async fn run_steps(&self) -> Result<Steps, Failure> {
        steps::run(&self.url, self.directory.path(), &self.client).await
    }

    fn cpu_of_postgres(&self) -> Option<Duration> {
        process::cpu_with_children(self.postgres.postmaster_pid())
    }

    /// CPU time of everything that does not belong to the bench; pgbench is a child of this process.
    fn cpu_of_others(&self) -> Option<Duration> {
        let ours = process::cpu_of_waiter(std::process::id())? + process::cpu(self.service.pid)?;
        process::cpu_of_all()?.checked_sub(ours + self.cpu_of_postgres()?)
    }

    async fn run_http(&self, work: Work, connections: usize, duration: Duration) -> Result<(Sample, u32), Failure> {
        let pid = self.service.pid;
        let before = process::cpu(pid);
        let mut memory = None;
        let run = http_run::run(&self.target, work, connections, duration);
        tokio::pin!(run);
        let (mut tally, elapsed) = loop {
            tokio::select! {
                result = &mut run => break result?,
                () = sleep(MEMORY_INTERVAL) => memory = greatest(memory, process::memory(pid)),
            }
        };
        let answered = u32::try_from(tally.latencies.len())?;
        let requests = answered.saturating_add(u32::try_from(tally.errors)?);
        let sample = Sample {
            per_second: f64::from(answered) / elapsed.as_secs_f64(),
            p50_ms: f64::from(percentile(&mut tally.latencies, 500)) / 1000.0,
            p99_ms: f64::from(percentile(&mut tally.latencies, 990)) / 1000.0,
            errors: tally.errors,
            notes: tally.notes,
            server_cpu_us: each(before, process::cpu(pid), requests),
            memory,
            ..Sample::default()
        };
        Ok((sample, requests))
    }

    /// How many keys and how many orders there are; every key has made exactly one order.
    pub async fn count_rows(&self) -> Result<(i64, i64), Failure> {
        let count = "SELECT (SELECT count(*) FROM idempotency_keys), (SELECT count(*) FROM orders)";
        let row = self.client.query_one(count, &[]).await?;
        Ok((row.try_get(0)?, row.try_get(1)?))
    }
}

/// The greater of both figures.
fn greatest(seen: Option<Memory>, now: Option<Memory>) -> Option<Memory> {
    match (seen, now) {
        (Some(seen), Some(now)) => {
            Some(Memory { resident: seen.resident.max(now.resident), peak: seen.peak.max(now.peak) })
        }
        (seen, now) => now.or(seen),
    }
}

/// Microseconds for each request.
fn each(before: Option<Duration>, after: Option<Duration>, requests: u32) -> Option<f64> {
    let used = after?.saturating_sub(before?);
    (requests > 0).then(|| used.as_secs_f64() * 1e6 / f64::from(requests))
}

async fn environment(client: &Client, load_before: f64) -> Result<Environment, Failure> {
    let durability = "SELECT string_agg(name || ' ' || setting, ', ' ORDER BY name) FROM pg_settings \
                      WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit')";
    Ok(Environment {
        cores: available_parallelism()?.get(),
        postgres: client.query_one("SHOW server_version", &[]).await?.try_get(0)?,
        durability: client.query_one(durability, &[]).await?.try_get(0)?,
        kernel: fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned(),
        load_before,
    })
}

/// The system's load average over a minute; 0 where it is not known.
fn load() -> f64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_ascii_whitespace().next().and_then(|first| first.parse().ok()).unwrap_or_default()
}
