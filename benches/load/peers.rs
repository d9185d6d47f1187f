//! Other services that take the same orders, measured with the same load on the same PostgreSQL.
//!
//! Each is a folder of `benches/peers` with two programs. `install` puts what the service needs into `$PEER_HOME`, and
//! the file `installed` there last. `run` serves with `DATABASE_URL` (an empty database, in which it makes its tables),
//! `LISTEN_PORT` (0: any) and `TOKEN` (the key it accepts), and says `listening on http://…` first.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::time::timeout;

use crate::Failure;
use crate::http_run::{self, Load, Target};
use crate::keys::Keys;
use crate::plan::Run;
use crate::process;
use crate::service::send;
use crate::setup::Running;
use crate::stand::Stand;
use crate::work::{PeerName, Sample, Work};

/// Whatever the others accept.
const TOKEN: &str = "bench-token";

/// The longest that an installation may take.
const INSTALL_LIMIT: Duration = Duration::from_mins(10);

/// As many connections as make the orders that are replayed.
const WARM_UP_CONNECTIONS: usize = 32;
const WARM_UP: Duration = Duration::from_secs(2);

/// One of them, running.
pub struct Peer {
    /// Its name.
    pub name: PeerName,
    running: Running,
    /// Its processes. They are all there once it listens.
    pids: Vec<u32>,
    target: Target,
}

/// Starts all that are installed, one after the other, and says how to install those that are not.
pub async fn start(stand: &Stand, bench: &Path, install: bool) -> Result<Vec<Peer>, Failure> {
    let mut peers = Vec::new();
    for folder in folders() {
        let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let home = bench.join("peers").join(name);
        if install {
            run_install(&folder, &home).await.map_err(|error| format!("{name} cannot be installed: {error}"))?;
        }
        if !home.join("installed").is_file() {
            eprintln!("{name} is not installed and left out; `make bench PEERS=1` installs it");
            continue;
        }
        let peer = Peer::start(stand, &folder, &home, name).await;
        peers.push(peer.map_err(|error| format!("{name}: {error}"))?);
    }
    Ok(peers)
}

/// Every folder with a program `run`.
fn folders() -> Vec<PathBuf> {
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/peers");
    let entries = fs::read_dir(all).into_iter().flatten().flatten();
    let mut folders: Vec<_> = entries.map(|entry| entry.path()).filter(|path| path.join("run").is_file()).collect();
    folders.sort();
    folders
}

async fn run_install(folder: &Path, home: &Path) -> Result<(), Failure> {
    fs::create_dir_all(home)?;
    eprintln!("installing into {}", home.display());
    let mut command = Command::new(folder.join("install"));
    command.env("PEER_HOME", home).stdin(Stdio::null()).kill_on_drop(true);
    let status = timeout(INSTALL_LIMIT, command.status()).await.map_err(|_| "it takes too long")??;
    if status.success() { Ok(()) } else { Err(format!("`install` ended with {status}").into()) }
}

impl Peer {
    async fn start(stand: &Stand, folder: &Path, home: &Path, name: &str) -> Result<Self, Failure> {
        let url = stand.create_database(&format!("peer_{name}")).await?;
        let mut command = Command::new(folder.join("run"));
        command.envs([("DATABASE_URL", url.as_str()), ("LISTEN_PORT", "0"), ("TOKEN", TOKEN)]).env("PEER_HOME", home);
        let mut running = Running::spawn(command, stand.directory.path(), name)?;
        let target = Target { address: running.address().await?, token: TOKEN.to_owned() };
        // A handful of names, for as long as the bench runs: so a work stays as simple as a number.
        let name = Box::leak(name.to_owned().into_boxed_str());
        let peer = Self { name, pids: process::tree(running.pid), running, target };
        http_run::create_known(&peer.target, WARM_UP_CONNECTIONS).await?;
        let run = Run { work: Work::PeerNew(peer.name), connections: WARM_UP_CONNECTIONS, duration: WARM_UP };
        peer.run(stand, &run).await?;
        Ok(peer)
    }

    /// Runs a load on it.
    pub async fn run(&self, stand: &Stand, run: &Run) -> Result<Sample, Failure> {
        let &Run { work, connections, duration } = run;
        let load = Load { work, keys: Keys::RANDOM, connections, duration, run: stand.next_run() };
        stand.meter(self.pids.clone()).watch(send(&self.target, load)).await
    }

    /// Whether this is whom a work is for.
    pub fn does(&self, work: Work) -> bool {
        matches!(work, Work::PeerNew(name) | Work::PeerReplay(name) if name == self.name)
    }

    /// Ends it.
    pub async fn end(self) {
        self.running.end().await;
    }
}
