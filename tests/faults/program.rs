//! How a program is run: its arguments, its variables, its logs, and the port it listens on.

use crate::Failure;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::Stdio;
use tokio::process::{Child, Command};

/// How to run a program.
#[derive(Debug, Clone)]
pub struct Program {
    /// What it is called in logs and tables.
    pub name: &'static str,
    /// The file to run.
    pub path: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Its variables, besides those that are inherited.
    pub environment: Vec<(String, String)>,
    /// The directory of its logs, `<name>.log` and `<name>.out`.
    pub logs: PathBuf,
}

impl Program {
    /// Starts one process.
    pub fn start(&self) -> Result<Child, Failure> {
        let mut log = OpenOptions::new().create(true).append(true).open(self.log())?;
        writeln!(log, "---- start")?;
        let mut command = Command::new(&self.path);
        command.args(&self.arguments).envs(self.environment.iter().map(|(name, value)| (name, value)));
        // Settings of the caller's own must not reach what is tested.
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            let given = self.environment.iter().any(|(own, _)| *own == text);
            if !given && (text.starts_with("ICHIDO_") || text.starts_with("DATABASE_URL") || text.starts_with("RUST_"))
            {
                command.env_remove(&name);
            }
        }
        command.stdin(Stdio::null()).stdout(File::create(self.output())?).stderr(log).kill_on_drop(true);
        Ok(command.spawn().map_err(|error| format!("{} cannot be run: {error}", self.path.display()))?)
    }

    /// Where it writes what happens.
    pub fn log(&self) -> PathBuf {
        self.logs.join(format!("{}.log", self.name))
    }

    /// What it prints; made anew at each start.
    pub fn output(&self) -> PathBuf {
        self.logs.join(format!("{}.out", self.name))
    }

    /// Whether the process that runs now has said that it listens.
    pub fn listens(&self) -> bool {
        fs::read_to_string(self.output()).is_ok_and(|text| text.starts_with("listening on ") && text.contains('\n'))
    }
}

/// An address with a port that is free and stays so while its server is dead: outside the range from which the system
/// takes ports for outgoing connections.
pub fn free_address() -> Result<SocketAddr, Failure> {
    for _ in 0..100 {
        let address = SocketAddr::from(([127, 0, 0, 1], rand::random_range(10_000..32_000)));
        if TcpListener::bind(address).is_ok() {
            return Ok(address);
        }
    }
    Err("no free port was found".into())
}
