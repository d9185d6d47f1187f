//! Starting and stopping a server.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::time::Duration;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use rustix::process::Signal;

use super::keeper::Keeper;
use super::launch::Launcher;
use super::leftovers::{self, PidFile};
use super::lock::FileLock;
use super::log::Log;
use super::socket::SocketDir;
use super::{Binaries, EmbeddedError, data, io_error, run};

/// How long a server may take until it accepts connections; a recovery after a crash is part of it.
const START_LIMIT: Duration = Duration::from_mins(1);

/// What is sent to stop a server, in this order, and how long each is given: a fast shutdown, an immediate one
/// (the next start recovers), and the end.
const STOP_STEPS: [(Signal, Duration); 3] = [
    (Signal::INT, Duration::from_secs(20)),
    (Signal::QUIT, Duration::from_secs(10)),
    (Signal::KILL, Duration::from_secs(5)),
];

/// What is encoded in a URL's host and path.
const RESERVED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// How to run a server.
#[derive(Debug, Clone)]
pub struct Options {
    /// The data directory; made when it is empty or missing, with its parents. A file named after it, with `.lock`
    /// at the end, is kept beside it. As root where user namespaces are not allowed, all directories above it must
    /// let everybody enter (mode 0711), because PostgreSQL then runs as another user.
    pub data_dir: PathBuf,
    /// Whether what was committed survives a crash of the machine. False turns `fsync`, `synchronous_commit` and
    /// `full_page_writes` off: for tests only, since a crash can then destroy the whole directory.
    pub durable: bool,
    /// Further PostgreSQL settings, such as `("max_connections", "50")`; they win over `durable`, but not over those
    /// that keep the server private.
    pub settings: Vec<(String, String)>,
}

/// A running server. Dropping it stops it.
#[must_use = "dropping the server stops it"]
pub struct Server {
    // Dropped in this order: the server's end first, then its directory, and the lock at the very end.
    running: Option<(Child, Keeper)>,
    pid: u32,
    socket: Option<SocketDir>,
    socket_dir: PathBuf,
    lock: Option<FileLock>,
}

impl Server {
    /// Starts PostgreSQL and waits until it accepts connections, at most 60 s after a data directory was made if
    /// there was none. May be called from any thread; the server outlives the thread.
    ///
    /// The server listens on a unix socket only, in a directory that nobody else may enter; everybody who can is let
    /// in without a password. It has its own process group, so that a terminal's Ctrl-C does not reach it. A
    /// PostgreSQL that a killed process left on the data directory is waited for, at most 15 s.
    ///
    /// # Errors
    ///
    /// [`EmbeddedError::InUse`] when another process serves the directory, [`EmbeddedError::VersionMismatch`] or
    /// [`EmbeddedError::NotADataDirectory`] when it does not fit, [`EmbeddedError::Root`], [`EmbeddedError::Initdb`],
    /// [`EmbeddedError::Start`] (with the end of PostgreSQL's log) and [`EmbeddedError::Io`] when something failed.
    /// No process is left behind then.
    pub fn start(binaries: &Binaries, options: &Options, progress: &dyn Fn(&str)) -> Result<Server, EmbeddedError> {
        let data_dir = data::resolve(&options.data_dir)?;
        // A directory of something else is refused before a lock file is put beside it.
        data::major_version(&data_dir)?;
        let lock = data::lock(&data_dir)?;
        leftovers::wait_for_predecessor(&data_dir, progress)?;
        let launcher = Launcher::choose(binaries, &data_dir)?;
        data::prepare(binaries, &launcher, &data_dir, options.durable, progress)?;
        let socket = SocketDir::create(&launcher)?;
        let log = Log::open(&data_dir, &launcher)?;
        let mut command = launcher.command(&binaries.program("postgres"), "INT");
        command.arg("-D").arg(&data_dir);
        for (name, value) in settings(options, socket.path()) {
            command.arg("-c").arg(format!("{name}={value}"));
        }
        let (output, errors) = log.writers()?;
        command.stdin(Stdio::null()).stdout(output).stderr(errors).process_group(0);
        let program = binaries.program("postgres");
        let (child, keeper) = Keeper::spawn(command).map_err(io_error("run", &program))?;
        let mut server = Server {
            pid: child.id(),
            running: Some((child, keeper)),
            socket_dir: socket.path().to_path_buf(),
            socket: Some(socket),
            lock: Some(lock),
        };
        if let Err(what) = server.wait_until_ready(&data_dir) {
            server.stop();
            let tail = log.tail();
            return Err(EmbeddedError::Start { what, log: log.into_path(), tail });
        }
        Ok(server)
    }

    /// The directory of the unix socket `.s.PGSQL.5432`; it exists until [`Server::stop`].
    #[must_use]
    pub fn socket_dir(&self) -> &Path {
        &self.socket_dir
    }

    /// The URL of a database on this server, for tokio-postgres, psql and everything else that knows such URLs. The
    /// user is `ichido`, a superuser. The database `postgres` always exists.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        let host = self.socket_dir.to_string_lossy();
        let host = utf8_percent_encode(&host, &RESERVED);
        format!("postgresql://{}@{host}/{}", data::USER, utf8_percent_encode(database, &RESERVED))
    }

    /// The process number of PostgreSQL's main process; meaningless after [`Server::stop`].
    #[must_use]
    pub fn postmaster_pid(&self) -> u32 {
        self.pid
    }

    /// Stops the server: open connections are ended and everything committed is written. Takes well under a second
    /// as a rule, at most 35 s, after which the server was killed. Does nothing when it has been stopped.
    pub fn stop(&mut self) {
        if let Some((mut child, keeper)) = self.running.take() {
            for (signal, limit) in STOP_STEPS {
                // The number cannot have passed to another process: that needs `try_wait` to have seen the end.
                if ended(&mut child).is_some() {
                    break;
                }
                leftovers::signal(self.pid, signal);
                if run::poll(limit, Duration::from_millis(5), || ended(&mut child).is_some()) {
                    break;
                }
            }
            drop(keeper);
        }
        self.socket = None;
        self.lock = None;
    }

    /// Waits until PostgreSQL's own record says that it is ready, which is also what `pg_ctl` looks at.
    fn wait_until_ready(&mut self, data_dir: &Path) -> Result<(), String> {
        let Some((child, _)) = self.running.as_mut() else {
            return Err("has been stopped".to_owned());
        };
        // Both, since a stale record may happen to have the number of the new process.
        let (pid, socket_dir) = (self.pid, &self.socket_dir);
        let is_ready =
            |file: PidFile| file.pid == pid && Path::new(&file.socket_dir) == socket_dir && file.status == "ready";
        let mut end = None;
        let decided = run::poll(START_LIMIT, Duration::from_millis(10), || {
            end = ended(child);
            end.is_some() || PidFile::read(data_dir).is_some_and(is_ready)
        });
        match (decided, end) {
            (_, Some(status)) => Err(format!("ended while starting ({status})")),
            (true, None) => Ok(()),
            (false, None) => Err(format!("did not accept connections within {} s", START_LIMIT.as_secs())),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Server { pid, socket_dir, running, .. } = self;
        formatter
            .debug_struct("Server")
            .field("pid", pid)
            .field("socket_dir", socket_dir)
            .field("running", &running.is_some())
            .finish_non_exhaustive()
    }
}

/// The child's end, if it has come. One that somebody else in this process waited for has ended as well.
fn ended(child: &mut Child) -> Option<ExitStatus> {
    child.try_wait().unwrap_or_else(|_| Some(ExitStatus::default()))
}

/// All settings, in an order in which the later ones win.
fn settings(options: &Options, socket_dir: &Path) -> Vec<(String, String)> {
    let fixed = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let mut settings = Vec::new();
    if !options.durable {
        settings.extend(["fsync", "synchronous_commit", "full_page_writes"].map(|name| fixed(name, "off")));
    }
    settings.extend(options.settings.iter().cloned());
    settings.extend([
        fixed("listen_addresses", ""),
        fixed("port", "5432"),
        fixed("unix_socket_directories", &socket_dir.to_string_lossy()),
        fixed("unix_socket_permissions", "0700"),
    ]);
    settings
}
