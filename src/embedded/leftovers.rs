//! What a killed process left behind: a PostgreSQL that still runs, and directories in shared places.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use std::{fs, process};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, geteuid, kill_process, test_kill_process};

use super::launch::NOBODY;
use super::{EmbeddedError, io_error, run, socket};

/// How long a PostgreSQL that is shutting down is waited for.
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(15);

/// PostgreSQL's own record of who serves a data directory, `postmaster.pid`.
pub(super) struct PidFile {
    pub pid: u32,
    pub socket_dir: String,
    /// Such as `starting` or `ready`; empty early in a start.
    pub status: String,
}

impl PidFile {
    /// Reads the record; `None` when there is none or it is not written yet.
    pub fn read(data_dir: &Path) -> Option<PidFile> {
        let text = fs::read_to_string(data_dir.join("postmaster.pid")).ok()?;
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        let line = |index: usize| lines.get(index).copied().unwrap_or_default().to_owned();
        Some(PidFile { pid: line(0).parse().ok()?, socket_dir: line(4), status: line(7) })
    }
}

/// A name that no other live process uses: `<prefix><pid>-<n>`.
pub(super) fn unique_name(prefix: &str) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("{prefix}{}-{}", process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// The process number in a name made by [`unique_name`].
pub(super) fn owner(prefix: &str, name: &str) -> Option<u32> {
    name.strip_prefix(prefix)?.split_once('-')?.0.parse().ok()
}

/// Removes our directories in `parent` that [`unique_name`] named for a process that is no more, except those
/// for which `in_use` is true. What cannot be removed is left for the next time.
pub(super) fn remove_stale_dirs(parent: &Path, prefix: &str, in_use: impl Fn(&Path) -> bool) {
    let me = geteuid();
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| owner(prefix, name)) else {
            continue;
        };
        // Not following links: in a directory that everybody may write to, a link could name anything.
        let Ok(metadata) = fs::symlink_metadata(entry.path()) else {
            continue;
        };
        let ours = metadata.uid() == me.as_raw() || (me.is_root() && metadata.uid() == NOBODY);
        if metadata.is_dir() && ours && !is_alive(pid) && !in_use(&entry.path()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Waits for a PostgreSQL that an earlier process left on the data directory, at most 15 s, and sees to it that a
/// stale `postmaster.pid` does not prevent a start.
///
/// The caller holds the lock on the data directory, so no other Ichido is behind that PostgreSQL any more.
pub(super) fn wait_for_predecessor(data_dir: &Path, progress: &dyn Fn(&str)) -> Result<(), EmbeddedError> {
    let Some(record) = PidFile::read(data_dir) else {
        return Ok(());
    };
    let left = postgres_processes(data_dir, &record);
    if let Some(first) = left.first().copied() {
        progress(&format!("Waiting for the previous PostgreSQL on {} to end", data_dir.display()));
        // Where `setpriv` is missing, nobody has told it to end. One that a person started by hand is not ours to stop.
        let ours = Path::new(&record.socket_dir).file_name().and_then(|name| name.to_str());
        if ours.is_some_and(|name| name.starts_with(socket::PREFIX)) && left.contains(&record.pid) {
            signal(record.pid, Signal::INT);
        }
        let ended =
            run::poll(SHUTDOWN_LIMIT, Duration::from_millis(50), || postgres_processes(data_dir, &record).is_empty());
        if !ended {
            let pid = if left.contains(&record.pid) { record.pid } else { first };
            let holder = format!("a PostgreSQL that was started otherwise or does not end (process {pid})");
            return Err(EmbeddedError::InUse { data_dir: data_dir.to_path_buf(), holder });
        }
    }
    // PostgreSQL removes a stale record itself, unless its number now belongs to a process that has nothing to do
    // with it, which is common after a container's restart. No PostgreSQL works in this directory, so it may go.
    if PidFile::read(data_dir).is_some_and(|record| is_alive(record.pid)) {
        let path = data_dir.join("postmaster.pid");
        fs::remove_file(&path).map_err(io_error("remove the stale file", &path))?;
    }
    Ok(())
}

/// Sends a signal; a process that is gone meanwhile is no failure.
pub(super) fn signal(pid: u32, signal: Signal) {
    if let Some(pid) = to_pid(pid) {
        let _ = kill_process(pid, signal);
    }
}

/// Whether there is a process of this number, even one that we may not signal.
fn is_alive(pid: u32) -> bool {
    to_pid(pid).is_some_and(|pid| test_kill_process(pid) != Err(Errno::SRCH))
}

fn to_pid(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}

/// The PostgreSQL processes that work on a data directory. All of them have it as their working directory, backends
/// that outlived their postmaster included; a zombie has none, and a process that took over the number another.
fn postgres_processes(data_dir: &Path, record: &PidFile) -> Vec<u32> {
    if !Path::new("/proc/self/comm").exists() {
        let mut command = Command::new("ps");
        command.args(["-o", "comm=", "-p", &record.pid.to_string()]);
        let shown = run::run(command, Duration::from_secs(5)).map(|finished| finished.output).unwrap_or_default();
        return if shown.trim().ends_with("postgres") { vec![record.pid] } else { Vec::new() };
    }
    let works_here = |pid: u32| {
        let process = Path::new("/proc").join(pid.to_string());
        fs::read_to_string(process.join("comm")).is_ok_and(|name| name.trim() == "postgres")
            && fs::read_link(process.join("cwd")).is_ok_and(|dir| dir == data_dir)
    };
    fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| works_here(*pid))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{owner, unique_name};

    #[test]
    fn names() {
        let name = unique_name("ichido-pg-");
        assert_eq!(owner("ichido-pg-", &name), Some(std::process::id()));
        assert_ne!(name, unique_name("ichido-pg-"));
        assert_eq!(owner("ichido-pg-", "ichido-pg-x-1"), None);
        assert_eq!(owner("ichido-pg-", "other-1-1"), None);
    }
}
