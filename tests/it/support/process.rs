//! The real program as a process of its own, with its output in files.

use rustix::process::{Pid, Signal, kill_process};
use secrecy::{ExposeSecret, SecretString};
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How to run it.
pub struct Program {
    command: Command,
    dir: TempDir,
}

/// It, running. Killed when dropped.
pub struct Running {
    child: Child,
    dir: TempDir,
}

/// How it ended, and what it had said by then.
#[derive(Debug)]
pub struct Ended {
    /// The exit status.
    pub status: ExitStatus,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl Program {
    /// `ichido` with these arguments and none of the caller's own settings.
    pub fn new(args: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ichido"));
        command.args(args).stdin(Stdio::null());
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("ICHIDO_") || text.starts_with("DATABASE_URL") || text.starts_with("RUST_") {
                command.env_remove(&name);
            }
        }
        command.env("ICHIDO_LOG", "json");
        Self { command, dir: tempfile::tempdir().unwrap() }
    }

    /// `ichido serve` on a database of the tests' PostgreSQL, which has fsync off.
    pub fn serve(url: &SecretString, listen: &str) -> Self {
        Self::new(&["serve", "--listen", listen, "--drain", "0s"]).database(url)
    }

    /// With a database of the tests' PostgreSQL.
    pub fn database(self, url: &SecretString) -> Self {
        self.env("DATABASE_URL", url.expose_secret()).env("ICHIDO_ALLOW_UNSAFE_DURABILITY", "true")
    }

    /// With a variable.
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    /// With one more argument.
    pub fn arg(mut self, arg: &str) -> Self {
        self.command.arg(arg);
        self
    }

    /// Starts it.
    pub fn start(mut self) -> Running {
        let file = |name: &str| File::create(self.dir.path().join(name)).unwrap();
        let child = self.command.stdout(file("out")).stderr(file("err")).spawn().unwrap();
        Running { child, dir: self.dir }
    }

    /// Starts it and waits for its end.
    pub async fn run(self) -> Ended {
        self.start().ended_within(Duration::from_secs(20)).await
    }
}

impl Running {
    /// Its number.
    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// Kills it outright, and sees it end.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        self.child.wait().unwrap();
    }

    /// What it has written on standard output so far.
    pub fn out(&self) -> String {
        read(&self.dir.path().join("out"))
    }

    /// What it has written on standard error so far.
    pub fn err(&self) -> String {
        read(&self.dir.path().join("err"))
    }

    /// Waits for `listening on`; gives `http://ADDRESS`.
    pub async fn base(&mut self) -> String {
        let started = Instant::now();
        loop {
            if let Some(line) = self.out().lines().find_map(|line| line.strip_prefix("listening on ")) {
                return line.to_owned();
            }
            let ended = self.child.try_wait().unwrap();
            assert!(ended.is_none(), "ended with {ended:?} before listening: {}", self.err());
            assert!(started.elapsed() < Duration::from_mins(1), "not listening after 60 s: {}", self.err());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Waits for its end.
    pub async fn ended_within(&mut self, limit: Duration) -> Ended {
        let started = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return Ended { status, out: self.out(), err: self.err() };
            }
            assert!(started.elapsed() < limit, "still running after {limit:?}: {}", self.err());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}

fn read(path: &PathBuf) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned()
}
