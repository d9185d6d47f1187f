//! Bounded waiting, and child processes that are waited for.

use std::io::{self, Read};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// Output kept of a child, in bytes; the rest is read and dropped so that the child never blocks on it.
const OUTPUT_LIMIT: usize = 256 * 1024;

/// How long to wait for the end of a finished child's output, which a grandchild may still hold open.
const OUTPUT_GRACE: Duration = Duration::from_secs(2);

/// A finished child.
pub(super) struct Finished {
    pub status: ExitStatus,
    /// Standard output and standard error, as they came.
    pub output: String,
}

/// Asks `done` every `interval` until it says true; false when `limit` passed first.
pub(super) fn poll(limit: Duration, interval: Duration, mut done: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + limit;
    loop {
        if done() {
            return true;
        }
        if Instant::now() >= deadline {
            return false;
        }
        thread::sleep(interval);
    }
}

/// Runs a command to its end and collects its output; kills it after `limit` and answers `TimedOut`.
///
/// The command is taken by value: it holds the writing ends of the pipe, and the output has no end before
/// they are closed.
pub(super) fn run(mut command: Command, limit: Duration) -> io::Result<Finished> {
    let (reader, writer) = io::pipe()?;
    command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
    let mut child = command.spawn()?;
    drop(command);
    let (sender, receiver) = mpsc::channel();
    thread::Builder::new().name("ichido-output".to_owned()).spawn(move || {
        // The receiver may have given up; then nobody needs the text.
        let _ = sender.send(read_limited(reader));
    })?;
    let mut status = None;
    let mut failure = None;
    poll(limit, Duration::from_millis(5), || match child.try_wait() {
        Ok(answer) => {
            status = answer;
            status.is_some()
        }
        Err(error) => {
            failure = Some(error);
            true
        }
    });
    if let Some(error) = failure {
        return Err(error);
    }
    let Some(status) = status else {
        child.kill()?;
        child.wait()?;
        return Err(io::Error::new(io::ErrorKind::TimedOut, format!("no end after {} s", limit.as_secs())));
    };
    let output = receiver.recv_timeout(OUTPUT_GRACE).unwrap_or_default();
    Ok(Finished { status, output })
}

/// Whether a command can be run and succeeds within ten seconds.
pub(super) fn succeeds(command: Command) -> bool {
    run(command, Duration::from_secs(10)).is_ok_and(|finished| finished.status.success())
}

/// The last `count` lines of a text, without the empty ones.
pub(super) fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines.get(lines.len().saturating_sub(count)..).unwrap_or_default().join("\n")
}

/// Reads to the end and keeps the first [`OUTPUT_LIMIT`] bytes.
fn read_limited(mut reader: impl Read) -> String {
    let mut kept = Vec::new();
    // An unreadable rest is no reason to lose the part that was read.
    let _ = (&mut reader).take(OUTPUT_LIMIT as u64).read_to_end(&mut kept);
    let _ = io::copy(&mut reader, &mut io::sink());
    String::from_utf8_lossy(&kept).into_owned()
}
