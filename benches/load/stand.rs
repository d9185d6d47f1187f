//! The private PostgreSQL of a bench, and what is known of the machine.

use std::cell::Cell;
use std::fs;
use std::path::Path;
use std::thread::available_parallelism;

use ichido::embedded::{Binaries, Server};
use tokio_postgres::Client;

use crate::Failure;
use crate::meter::Meter;
use crate::setup::{self, RunDirectory};

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

impl Environment {
    /// All of it in one line.
    pub fn line(&self) -> String {
        let Self { cores, postgres, durability, kernel, load_before } = self;
        format!(
            "{cores} cores, PostgreSQL {postgres} ({durability}), kernel {kernel}, load average before {load_before:.1}"
        )
    }
}

/// PostgreSQL, running. The order of the members is the order in which they end.
pub struct Stand {
    /// Connected to a database that nothing else uses.
    pub client: Client,
    /// The server.
    pub postgres: Server,
    /// Its programs.
    pub binaries: Binaries,
    /// The machine.
    pub environment: Environment,
    /// For the data and the logs.
    pub directory: RunDirectory,
    // A `Cell`, since runs borrow the stand and each needs another number.
    runs: Cell<u32>,
}

impl Stand {
    /// Starts it.
    pub async fn start(bench: &Path, max_wal_size: &str) -> Result<Self, Failure> {
        let load_before = load();
        let directory = RunDirectory::create(bench)?;
        let (binaries, postgres) = setup::start_postgres(&directory, max_wal_size)?;
        let client = setup::connect(&postgres.url("postgres")).await?;
        let environment = environment(&client, load_before).await?;
        Ok(Self { client, postgres, binaries, environment, directory, runs: Cell::new(0) })
    }

    /// Makes an empty database; gives its address.
    pub async fn create_database(&self, name: &str) -> Result<String, Failure> {
        self.client.batch_execute(&format!("CREATE DATABASE \"{name}\"")).await?;
        Ok(self.postgres.url(name))
    }

    /// The number of the next run.
    pub fn next_run(&self) -> u32 {
        self.runs.set(self.runs.get() + 1);
        self.runs.get()
    }

    /// What looks at a run from outside. `server` are the processes of the service, if it has a part.
    pub fn meter(&self, server: Vec<u32>) -> Meter<'_> {
        Meter {
            client: &self.client,
            postmaster: self.postgres.postmaster_pid(),
            cores: self.environment.cores,
            server,
        }
    }
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
