//! Starts what is measured: a private PostgreSQL with production durability, and the service as its users run it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use ichido::embedded::{Binaries, Options, Server};
use serde_json::Value;
use tokio::process::Child;
use tokio::time::{Instant, sleep};
use tokio_postgres::{Client, NoTls};

use crate::Failure;

/// The program under test, built by cargo for this bench.
const ICHIDO: &str = env!("CARGO_BIN_EXE_ichido");

/// How long a process may take until it listens.
const LISTEN_LIMIT: Duration = Duration::from_secs(20);

/// How the names of the directories with the data begin.
const RUN_PREFIX: &str = "run-";

/// A directory for the data of one bench; removed on drop.
pub struct RunDirectory(PathBuf);

impl RunDirectory {
    /// Makes it, and removes those of benches that were killed.
    pub fn create(bench: &Path) -> Result<Self, Failure> {
        fs::create_dir_all(bench)?;
        for entry in fs::read_dir(bench)?.flatten() {
            let name = entry.file_name();
            let owner = name.to_str().and_then(|name| name.strip_prefix(RUN_PREFIX));
            if owner.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
                // What cannot be removed takes space, but hinders nothing.
                let _ = fs::remove_dir_all(entry.path());
            }
        }
        let path = bench.join(format!("{RUN_PREFIX}{}", std::process::id()));
        fs::create_dir_all(&path)?;
        Ok(Self(path))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for RunDirectory {
    fn drop(&mut self) {
        // The next bench tries again.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Starts PostgreSQL with everything on that keeps committed data, and room enough that no checkpoint falls into some
/// runs and not into others.
pub fn start_postgres(run: &RunDirectory) -> Result<(Binaries, Server), Failure> {
    let progress = |line: &str| eprintln!("{line}");
    let binaries = Binaries::find(&progress)?;
    let settings = [
        ("shared_buffers", "256MB"),
        ("max_wal_size", "4GB"),
        ("checkpoint_timeout", "30min"),
        ("max_connections", "300"),
    ];
    let options = Options {
        data_dir: run.path().join("postgres"),
        durable: true,
        settings: settings.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec(),
    };
    let server = Server::start(&binaries, &options, &progress)?;
    Ok((binaries, server))
}

/// Connects to a database.
pub async fn connect(url: &str) -> Result<Client, Failure> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            eprintln!("connection to PostgreSQL: {error}");
        }
    });
    Ok(client)
}

/// Runs an admin command; gives the JSON object it prints.
pub fn admin(url: &str, arguments: &[&str]) -> Result<Value, Failure> {
    let output = Command::new(ICHIDO).args(arguments).arg("--json").env("DATABASE_URL", url).output()?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        return Err(format!("`ichido {}` failed ({}): {errors}", arguments.join(" "), output.status).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// A member of what an admin command printed, as text.
pub fn member(object: &Value, name: &str) -> Result<String, Failure> {
    match &object[name] {
        Value::String(text) => Ok(text.clone()),
        Value::Number(number) => Ok(number.to_string()),
        _ => Err(format!("`{name}` is missing in {object}").into()),
    }
}

/// A running process of the program; killed on drop.
pub struct Running {
    /// Its process, as long as this value lives.
    pub pid: u32,
    child: Child,
    log: PathBuf,
    output: PathBuf,
}

impl Running {
    /// Starts it. What it prints goes to `<name>.out` and `<name>.log`.
    pub fn start(bench: &Path, name: &str, url: &str, arguments: &[&str]) -> Result<Self, Failure> {
        let [output, log] = ["out", "log"].map(|end| bench.join(format!("{name}.{end}")));
        let child = tokio::process::Command::new(ICHIDO)
            .args(arguments)
            .env("DATABASE_URL", url)
            .stdin(Stdio::null())
            .stdout(File::create(&output)?)
            .stderr(File::create(&log)?)
            .kill_on_drop(true)
            .spawn()?;
        let pid = child.id().ok_or_else(|| format!("{name} ended at once"))?;
        Ok(Self { pid, child, log, output })
    }

    /// Waits until it says where it listens; gives host and port.
    pub async fn address(&mut self) -> Result<String, Failure> {
        let deadline = Instant::now() + LISTEN_LIMIT;
        loop {
            let printed = fs::read_to_string(&self.output)?;
            // Only a line that is complete: the address may be written in two parts.
            if let Some((line, _)) = printed.split_once('\n') {
                let address = line.trim().strip_prefix("listening on http://");
                return Ok(address.ok_or_else(|| format!("the first line is `{line}`"))?.to_owned());
            }
            if let Some(status) = self.child.try_wait()? {
                return Err(format!("ended ({status}); the log is {}", self.log.display()).into());
            }
            if Instant::now() > deadline {
                return Err(format!("does not listen; the log is {}", self.log.display()).into());
            }
            sleep(Duration::from_millis(10)).await;
        }
    }
}
