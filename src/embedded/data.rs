//! The data directory: what made it, who uses it, and making one.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use super::launch::Launcher;
use super::lock::{Acquired, FileLock};
use super::{Binaries, EmbeddedError, find, io_error, leftovers, run};

/// The superuser that `initdb` makes.
pub(super) const USER: &str = "ichido";

/// What the lock file's name adds to the data directory's.
const LOCK: &str = ".lock";

/// How long another Ichido on the same directory is given to end: one that was just interrupted still stops its server.
const LOCK_LIMIT: Duration = Duration::from_secs(3);

/// How long `initdb` may take; it takes about a second on an idle machine.
const INITDB_LIMIT: Duration = Duration::from_mins(3);

/// The major version that made a data directory; `None` when it is missing or empty.
pub(super) fn major_version(data_dir: &Path) -> Result<Option<u32>, EmbeddedError> {
    let not_ours = || EmbeddedError::NotADataDirectory { data_dir: data_dir.to_path_buf() };
    match fs::read_to_string(data_dir.join("PG_VERSION")) {
        Ok(text) => {
            let digits = text.trim().split('.').next().unwrap_or_default();
            digits.parse().map(Some).map_err(|_| not_ours())
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => match fs::read_dir(data_dir) {
            Ok(mut entries) => {
                if entries.next().is_none() {
                    Ok(None)
                } else {
                    Err(not_ours())
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(io_error("read the data directory", data_dir)(error)),
        },
        Err(error) => Err(io_error("read the data directory", data_dir)(error)),
    }
}

/// The directory's absolute path without symbolic links; makes its parent.
pub(super) fn resolve(data_dir: &Path) -> Result<PathBuf, EmbeddedError> {
    if data_dir.exists() {
        return fs::canonicalize(data_dir).map_err(io_error("resolve", data_dir));
    }
    let absolute = std::path::absolute(data_dir).map_err(io_error("resolve", data_dir))?;
    let (Some(parent), Some(name)) = (absolute.parent(), absolute.file_name()) else {
        return Err(EmbeddedError::NotADataDirectory { data_dir: absolute });
    };
    fs::create_dir_all(parent).map_err(io_error("make the directory", parent))?;
    Ok(fs::canonicalize(parent).map_err(io_error("resolve", parent))?.join(name))
}

/// Takes the directory for this process. The lock file is beside it, named after it with `.lock` at the end: the
/// directory itself is replaced as a whole when it is made.
pub(super) fn lock(data_dir: &Path) -> Result<FileLock, EmbeddedError> {
    match FileLock::acquire(&sibling(data_dir, LOCK), LOCK_LIMIT)? {
        Acquired::Held(lock) => Ok(lock),
        Acquired::By(pid) => {
            let holder =
                pid.map_or_else(|| "another Ichido".to_owned(), |pid| format!("another Ichido (process {pid})"));
            Err(EmbeddedError::InUse { data_dir: data_dir.to_path_buf(), holder })
        }
    }
}

/// Makes the data directory if it is empty or missing, and checks that the binaries fit it. The caller holds the lock.
pub(super) fn prepare(
    binaries: &Binaries,
    launcher: &Launcher,
    data_dir: &Path,
    durable: bool,
    progress: &dyn Fn(&str),
) -> Result<(), EmbeddedError> {
    remove_unfinished(data_dir);
    // So that the directory's owner can use it without root later.
    launcher.hand_over(&sibling(data_dir, LOCK))?;
    match major_version(data_dir)? {
        Some(made_by) if made_by == binaries.major_version => launcher.hand_over_tree(data_dir),
        Some(made_by) => {
            let reason = format!("is not what {} holds ({})", binaries.bin_dir.display(), binaries.major_version);
            Err(find::mismatch(data_dir, made_by, reason))
        }
        None => initialize(binaries, launcher, data_dir, durable, progress),
    }
}

/// Runs `initdb` in a directory beside the data directory and moves the complete result into place, so that an
/// interruption at any point leaves either no data directory or a complete one.
fn initialize(
    binaries: &Binaries,
    launcher: &Launcher,
    data_dir: &Path,
    durable: bool,
    progress: &dyn Fn(&str),
) -> Result<(), EmbeddedError> {
    progress(&format!("Making a PostgreSQL {} data directory in {}", binaries.major_version, data_dir.display()));
    let unfinished = sibling(data_dir, &leftovers::unique_name(UNFINISHED));
    fs::DirBuilder::new().mode(0o700).create(&unfinished).map_err(io_error("make the directory", &unfinished))?;
    launcher.hand_over(&unfinished)?;
    let mut command = launcher.command(&binaries.program("initdb"), "TERM");
    command.arg("--pgdata").arg(&unfinished);
    // The locale C sorts and compares alike on every machine. The socket's directory keeps others out.
    command.args(["--username", USER, "--encoding=UTF8", "--locale=C", "--auth-local=trust", "--auth-host=reject"]);
    command.arg("--no-instructions");
    if !durable {
        command.arg("--no-sync");
    }
    let outcome = run::run(command, INITDB_LIMIT);
    let failed = |output: String| EmbeddedError::Initdb { data_dir: data_dir.to_path_buf(), output };
    let result = match outcome {
        Ok(finished) if finished.status.success() => {
            fs::rename(&unfinished, data_dir).map_err(io_error("move the new data directory to", data_dir))
        }
        Ok(finished) => Err(failed(run::last_lines(&finished.output, 10))),
        Err(error) => Err(failed(error.to_string())),
    };
    if result.is_err() {
        // Otherwise the next start removes it.
        let _ = fs::remove_dir_all(&unfinished);
    } else if let Some(parent) = data_dir.parent().filter(|_| durable) {
        File::open(parent).and_then(|dir| dir.sync_all()).map_err(io_error("write to disk", parent))?;
    }
    result
}

/// What stands between a data directory's name and the process's in the name of an unfinished one.
const UNFINISHED: &str = ".initdb-";

/// Removes what an interrupted `initdb` left; the lock on the data directory means that none is running.
fn remove_unfinished(data_dir: &Path) {
    let prefix = sibling(data_dir, UNFINISHED);
    let (Some(parent), Some(prefix)) = (prefix.parent(), prefix.file_name()) else {
        return;
    };
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        if entry.file_name().as_encoded_bytes().starts_with(prefix.as_encoded_bytes()) {
            remove(&entry.path());
        }
    }
}

/// How often a directory is tried, and the pause in between: an `initdb` whose starter was killed a moment ago writes into it
/// until it has ended too.
const REMOVE_TRIES: u32 = 40;
const REMOVE_PAUSE: Duration = Duration::from_millis(50);

/// What cannot be removed takes space, but hinders nothing.
fn remove(unfinished: &Path) {
    for _ in 0..REMOVE_TRIES {
        match fs::remove_dir_all(unfinished) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => thread::sleep(REMOVE_PAUSE),
            _ => return,
        }
    }
}

/// The path of the data directory with a suffix.
fn sibling(data_dir: &Path, suffix: &str) -> PathBuf {
    let mut path = data_dir.as_os_str().to_owned();
    path.push(suffix);
    PathBuf::from(path)
}
