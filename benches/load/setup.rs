//! Starts what is measured: a private PostgreSQL with production durability, and the service as its users run it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use ichido::embedded::{Binaries, Options, Server};
use rustix::process::Signal;
use serde_json::Value;
use tokio::process::Child;
use tokio::time::{Instant, sleep, timeout};
use tokio_postgres::{Client, NoTls};

use crate::Failure;

/// The program under test, built by cargo for this bench.
const ICHIDO: &str = env!("CARGO_BIN_EXE_ichido");

/// What stored secrets are encrypted with. Those of a bench open nothing and end with it.
const SECRET_KEY: (&str, &str) =
    ("ICHIDO_SECRET_KEY", "0000000000000000000000000000000000000000000000000000000000000001");

/// Where [`World`] reads the secret that its gateway accepts; any will do.
const GATEWAY_SECRET: (&str, &str) = ("BENCH_GATEWAY_SECRET", "sk_test_bench");

/// How long a process may take until it listens.
const LISTEN_LIMIT: Duration = Duration::from_secs(20);

/// How long a process may take to end.
const END_LIMIT: Duration = Duration::from_secs(5);

/// How much of a log is shown when its process fails.
const LOG_LINES: usize = 20;

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

/// Starts PostgreSQL with everything on that keeps committed data, and with so much room between two checkpoints.
pub fn start_postgres(run: &RunDirectory, max_wal_size: &str) -> Result<(Binaries, Server), Failure> {
    let progress = |line: &str| eprintln!("{line}");
    let binaries = Binaries::find(&progress)?;
    let buffers = format!("{}MB", buffers_mib());
    let settings = [
        ("shared_buffers", buffers.as_str()),
        ("max_wal_size", max_wal_size),
        // What a checkpoint keeps of the log to be written again: see `Service::recycle_log`.
        ("min_wal_size", "1GB"),
        ("checkpoint_timeout", "30min"),
        // pgbench with 512 clients, the service, and two others with theirs.
        ("max_connections", "750"),
    ];
    let options = Options {
        data_dir: run.path().join("postgres"),
        durable: true,
        settings: settings.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec(),
    };
    let server = Server::start(&binaries, &options, &progress)?;
    Ok((binaries, server))
}

/// A quarter of the machine's memory, as PostgreSQL's manual recommends for a server of its own (section 20.4.1).
fn buffers_mib() -> u64 {
    let machine = rustix::system::sysinfo();
    let bytes = machine.totalram.saturating_mul(u64::from(machine.mem_unit));
    (bytes / (4 << 20)).max(256)
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
    let output = Command::new(ICHIDO)
        .args(arguments)
        .arg("--json")
        .env("DATABASE_URL", url)
        .envs([SECRET_KEY, GATEWAY_SECRET])
        .output()?;
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

/// An organisation, and a key that may do everything with its orders.
pub fn organisation(url: &str, name: &str) -> Result<(i64, String), Failure> {
    let org = admin(url, &["org", "create", "--name", name, "--mode", "test"])?;
    let org_id = member(&org, "org_id")?;
    let scopes = ["--scope", "orders:write", "--scope", "orders:read"];
    let key = admin(url, &[&["key", "create", "--org", &org_id], &scopes[..]].concat())?;
    Ok((org_id.parse()?, member(&key, "token")?))
}

/// A simulated gateway. Every run has its own, since a world remembers all that happened in it.
pub struct World(pub Running);

impl World {
    /// Starts it, and lets it take the payments of an organisation.
    pub async fn start(directory: &Path, url: &str, org_id: i64) -> Result<Self, Failure> {
        let mut world = Running::start(directory, "gateway", url, &["sim", "--listen", "127.0.0.1:0"])?;
        let base = format!("http://{}/stripe", world.address().await?);
        let words = ["gateway", "set", "--org", &org_id.to_string(), "--provider", "stripe", "--api-base", &base];
        admin(url, &[&words[..], &["--secret-env", GATEWAY_SECRET.0]].concat())?;
        Ok(Self(world))
    }
}

/// A running process of the program, or of another service; killed on drop with what it has started.
pub struct Running {
    /// Its process, as long as this value lives.
    pub pid: u32,
    child: Child,
    log: PathBuf,
    output: PathBuf,
}

impl Running {
    /// Starts the program. What it prints goes to `<name>.out` and `<name>.log`.
    pub fn start(directory: &Path, name: &str, url: &str, arguments: &[&str]) -> Result<Self, Failure> {
        let mut command = tokio::process::Command::new(ICHIDO);
        command.args(arguments).env("DATABASE_URL", url).envs([SECRET_KEY]);
        Self::spawn(command, directory, name)
    }

    /// Starts any command in the same way.
    pub fn spawn(mut command: tokio::process::Command, directory: &Path, name: &str) -> Result<Self, Failure> {
        let [output, log] = ["out", "log"].map(|end| directory.join(format!("{name}.{end}")));
        let child = command
            .stdin(Stdio::null())
            .stdout(File::create(&output)?)
            .stderr(File::create(&log)?)
            // A group of its own, so that all of it can be ended.
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| format!("{name} cannot be started: {error}"))?;
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
                return Err(format!("ended ({status}); {}", self.log_end()).into());
            }
            if Instant::now() > deadline {
                return Err(format!("does not listen; {}", self.log_end()).into());
            }
            sleep(Duration::from_millis(10)).await;
        }
    }

    /// Ends it in order, by force if that takes too long, and waits until it has ended.
    pub async fn end(mut self) {
        signal(self.pid, Signal::TERM);
        if timeout(END_LIMIT, self.child.wait()).await.is_err() {
            // Dropped below: the rest of its group ends too.
            let _ = self.child.kill().await;
        }
    }

    /// Where its log is, and how it ends: the file goes with the run's directory.
    fn log_end(&self) -> String {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<_> = log.lines().collect();
        format!("its log ends:\n{}", lines[lines.len().saturating_sub(LOG_LINES)..].join("\n"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The group stays as long as one of its processes; there may be none any more.
        if let Some(group) = rustix::process::Pid::from_raw(self.pid.cast_signed()) {
            let _ = rustix::process::kill_process_group(group, Signal::KILL);
        }
    }
}

fn signal(pid: u32, signal: Signal) {
    if let Some(pid) = rustix::process::Pid::from_raw(pid.cast_signed()) {
        // It may have ended by itself.
        let _ = rustix::process::kill_process(pid, signal);
    }
}
