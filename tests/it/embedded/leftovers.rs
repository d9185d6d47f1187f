//! What killed processes leave behind.

use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use super::{answer, helper, kill_outright, path_without, query, runs, start, within};

#[test]
fn killed_outright_leaves_nothing_and_the_next_start_has_the_data() {
    let root = tempfile::tempdir().expect("a directory");
    let data_dir = root.path().join("data");
    let child = helper(&[], "serve", &data_dir).spawn().expect("the helper");
    let (pid, url) = answer(&data_dir);
    query(&url, "create table t as select 42 as n");
    let sockets = PathBuf::from(query(&url, "show unix_socket_directories"));
    kill_outright(child);
    let server = start(&data_dir);
    assert!(!runs(&pid) && !sockets.exists());
    assert_eq!(query(&server.url("postgres"), "select n from t"), "42");
    drop(server);
    // Without a restart that waits for it.
    let child = helper(&[], "serve", &data_dir).spawn().expect("the helper");
    let (pid, _) = answer(&data_dir);
    kill_outright(child);
    within(5, "the end of PostgreSQL", || !runs(&pid));
}

#[test]
fn without_setpriv_the_next_start_stops_what_a_killed_process_left() {
    let root = tempfile::tempdir().expect("a directory");
    let data_dir = root.path().join("data");
    let path = path_without(root.path(), "setpriv");
    let child = helper(&[], "serve", &data_dir).env("PATH", path).spawn().expect("the helper");
    let (pid, _) = answer(&data_dir);
    kill_outright(child);
    thread::sleep(Duration::from_millis(500));
    assert!(runs(&pid), "nothing could have stopped it");
    let server = start(&data_dir);
    assert!(!runs(&pid));
    assert_eq!(query(&server.url("postgres"), "select 1"), "1");
}

#[test]
fn an_interrupted_initdb_leaves_no_data_directory() {
    let root = tempfile::tempdir().expect("a directory");
    let data_dir = root.path().join("data");
    let unfinished = || {
        let entries = fs::read_dir(root.path()).expect("the directory");
        entries.flatten().map(|entry| entry.path()).find(|path| path.to_string_lossy().contains("data.initdb-"))
    };
    let child = helper(&[], "serve", &data_dir).spawn().expect("the helper");
    within(30, "initdb at work", || unfinished().is_some_and(|path| path.join("base/1").exists()));
    kill_outright(child);
    assert!(!data_dir.exists());
    let server = start(&data_dir);
    assert_eq!(query(&server.url("postgres"), "select 1"), "1");
    assert_eq!(unfinished(), None);
}
