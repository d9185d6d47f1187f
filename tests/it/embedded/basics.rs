//! Starting, restarting, and as whom.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::thread;
use std::time::Duration;

use ichido::embedded::{Binaries, EmbeddedError, Server, fetch};

use super::{answer, helper, kill_outright, options, path_without, query, quiet, refused, runs, start, within};

#[test]
fn keeps_its_data_and_stops_cleanly() {
    let root = tempfile::tempdir().expect("a directory");
    let data_dir = root.path().join("a b'ü").join("data");
    let mut server = start(&data_dir);
    let mode = fs::metadata(server.socket_dir()).expect("the socket directory").permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    query(&server.url("postgres"), "create database \"ein Käse/?\"");
    query(&server.url("ein Käse/?"), "create table t as select 42 as n");
    let settings = "select string_agg(setting, ',' order by name) from pg_settings \
                    where name in ('fsync', 'listen_addresses', 'server_encoding')";
    assert_eq!(query(&server.url("postgres"), settings), "off,,UTF8");
    server.stop();
    server.stop();
    assert!(!server.socket_dir().exists() && !runs(&server.postmaster_pid().to_string()));
    let again = start(&data_dir);
    assert_eq!(query(&again.url("ein Käse/?"), "select n from t"), "42");
}

#[test]
fn fetched_18_runs_and_its_data_directory_finds_it_again() {
    let root = tempfile::tempdir().expect("a directory");
    let data_dir = root.path().join("data");
    let binaries = fetch(&quiet).expect("PostgreSQL 18");
    let server = Server::start(&binaries, &options(&data_dir), &quiet).expect("a server");
    assert!(query(&server.url("postgres"), "show server_version").starts_with("18."));
    drop(server);
    assert_eq!(Binaries::find_for(&data_dir, &quiet).expect("binaries").major_version, 18);
    fs::write(data_dir.join("PG_VERSION"), "12\n").expect("to write");
    let message = Binaries::find_for(&data_dir, &quiet).expect_err("a refusal").to_string();
    assert!(message.contains("made by PostgreSQL 12") && message.contains("PG_BIN"), "{message}");
    assert!(matches!(refused(&data_dir), EmbeddedError::VersionMismatch { needed: 12, .. }));
}

#[test]
fn several_at_once_outlive_the_threads_that_started_them() {
    let root = tempfile::tempdir().expect("a directory");
    let starts: Vec<_> = (0..3).map(|n| root.path().join(n.to_string())).collect();
    let threads: Vec<_> = starts.into_iter().map(|dir| thread::spawn(move || start(&dir))).collect();
    let servers: Vec<Server> = threads.into_iter().map(|thread| thread.join().expect("a server")).collect();
    thread::sleep(Duration::from_millis(500));
    for server in &servers {
        assert_eq!(query(&server.url("postgres"), "select 1"), "1");
    }
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|metadata| metadata.uid() == 0)
}

#[test]
fn an_ordinary_user_and_root_without_namespaces_run_it_too() {
    if !is_root() {
        return; // Then every other test here runs as an ordinary user.
    }
    let root = tempfile::tempdir().expect("a directory");
    fs::set_permissions(root.path(), fs::Permissions::from_mode(0o755)).expect("to open the directory");
    let exe = root.path().join("tests");
    fs::copy(std::env::current_exe().expect("this program"), &exe).expect("a copy");
    let home = root.path().join("home");
    fs::create_dir(&home).expect("a directory");
    chown(&home, Some(1000), Some(1000)).expect("to give it away");
    let exe = exe.to_str().expect("a plain path");
    let user = ["setpriv", "--reuid=1000", "--regid=1000", "--clear-groups", exe];
    let path = path_without(root.path(), "unshare");
    for (n, (program, path, uid)) in
        [(&user[..], None, "1000"), (&[], Some(&path), "65534"), (&[], None, "0")].into_iter().enumerate()
    {
        let parent = if uid == "1000" { &home } else { root.path() };
        // The last round takes the directory of the one before back.
        let data_dir = parent.join(format!("data{}", n.min(1)));
        let mut command = helper(program, "serve", &data_dir);
        command.envs(path.map(|path| ("PATH", path)));
        if uid == "1000" {
            command.env("HOME", &home).env("TMPDIR", &home).env_remove("XDG_CACHE_HOME");
        }
        let child = command.spawn().expect("the helper");
        let (pid, url) = answer(&data_dir);
        assert!(url.starts_with("postgresql://"), "{url}");
        let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("its status");
        assert!(status.lines().any(|line| line.starts_with("Uid:") && line.ends_with(uid)), "{status}");
        assert_eq!(query(&url, "select 1"), "1");
        kill_outright(child);
        within(5, "the end of PostgreSQL", || !runs(&pid));
    }
}
