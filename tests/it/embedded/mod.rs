//! The private PostgreSQL, with what its tests share: a server, a query, and a helper process to kill.
#![allow(clippy::doc_markdown)]

mod basics;
mod leftovers;
mod refusals;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use ichido::embedded::{Binaries, EmbeddedError, Options, Server, fetch};

/// What the helper process is to do, and on which data directory.
const HELPER: &str = "ICHIDO_EMBEDDED_HELPER";

fn quiet(_: &str) {}

fn options(data_dir: &Path) -> Options {
    Options { data_dir: data_dir.to_path_buf(), durable: false, settings: Vec::new() }
}

fn start(data_dir: &Path) -> Server {
    let binaries = Binaries::find_for(data_dir, &quiet).expect("binaries");
    Server::start(&binaries, &options(data_dir), &quiet).expect("a server")
}

fn refused(data_dir: &Path) -> EmbeddedError {
    let binaries = Binaries::find(&quiet).expect("binaries");
    Server::start(&binaries, &options(data_dir), &quiet).expect_err("a refusal")
}

fn query(url: &str, sql: &str) -> String {
    let psql = Binaries::find(&quiet).expect("binaries").bin_dir.join("psql");
    let output = Command::new(psql).args([url, "-XAtqc", sql]).output().expect("psql");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn within(seconds: u64, what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(seconds);
    while !done() {
        assert!(Instant::now() < deadline, "not within {seconds} s: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// The state of a process; a zombie, whose parent has not asked for it yet, has ended.
fn runs(pid: &str) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

/// This test binary, to be run as a process of its own that does `action`.
fn helper(program: &[&str], action: &str, data_dir: &Path) -> Command {
    let module = module_path!().split_once("::").map_or(String::new(), |(_, path)| format!("{path}::"));
    let mut words = program.iter();
    let exe = std::env::current_exe().expect("this program");
    let mut command = Command::new(words.next().map_or(exe.as_os_str(), |word| word.as_ref()));
    command.args(words).args(["--exact", &format!("{module}helper_process"), "--nocapture"]);
    command.env(HELPER, format!("{action}:{}", data_dir.display()));
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command
}

/// Waits for what the helper wrote: the server's process number and URL, or a message.
fn answer(data_dir: &Path) -> (String, String) {
    let path = data_dir.with_extension("out");
    within(90, "the helper's answer", || path.exists());
    let text = fs::read_to_string(&path).expect("the answer");
    fs::remove_file(&path).expect("to remove the answer");
    let (pid, url) = text.split_once(' ').expect("two words");
    (pid.to_owned(), url.to_owned())
}

fn kill_outright(mut child: Child) {
    child.kill().expect("to kill the helper");
    child.wait().expect("the helper's end");
}

/// Not a test by itself: what `helper` runs.
#[test]
fn helper_process() {
    let Ok(task) = std::env::var(HELPER) else {
        return;
    };
    let (action, data_dir) = task.split_once(':').expect("a task");
    let data_dir = PathBuf::from(data_dir);
    let found = if action == "fetch" { fetch(&quiet) } else { Binaries::find(&quiet) };
    let started = found.and_then(|binaries| {
        if action == "find" {
            return Ok((format!("found {}", binaries.major_version), None));
        }
        let server = Server::start(&binaries, &options(&data_dir), &quiet)?;
        Ok((format!("{} {}", server.postmaster_pid(), server.url("postgres")), Some(server)))
    });
    let (text, server) = started.unwrap_or_else(|error| (format!("error {error}"), None));
    fs::write(data_dir.with_extension("tmp"), text).expect("to write");
    fs::rename(data_dir.with_extension("tmp"), data_dir.with_extension("out")).expect("to rename");
    if server.is_some() {
        within(60, "the request to stop", || data_dir.with_extension("stop").exists());
    }
}

/// A directory for `PATH` with what the programs need, except one program.
fn path_without(root: &Path, missing: &str) -> PathBuf {
    let dir = root.join(format!("without-{missing}"));
    fs::create_dir(&dir).expect("a directory");
    for name in ["true", "test", "setpriv", "unshare", "python3"].iter().filter(|name| **name != missing) {
        symlink(Path::new("/usr/bin").join(name), dir.join(name)).expect("a link");
    }
    dir
}
