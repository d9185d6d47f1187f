//! `ichido dev`, as a person uses it.

use crate::support::process::{Program, Running};
use crate::support::wait::{runs, until};
use rustix::process::Signal;
use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

fn dev(data: &Path) -> Program {
    Program::new(&["dev", "--listen", "127.0.0.1:0", "--data", data.to_str().unwrap()])
}

/// The literal line to copy, once it is printed.
async fn curl_line(running: &mut Running) -> String {
    running.base().await;
    let line = |out: &str| out.lines().find(|line| line.starts_with("curl ")).map(str::to_owned);
    until("the curl line", Duration::from_secs(5), || async { line(&running.out()).is_some() }).await;
    line(&running.out()).unwrap()
}

/// Runs a line as a shell would; gives status and body.
async fn shell(line: &str) -> (String, String) {
    let line = line.to_owned();
    let run = move || Command::new("sh").args(["-c", &line]).output().unwrap();
    let output = tokio::task::spawn_blocking(run).await.unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let (head, body) =
        text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{text} {output:?}", output = output.stderr));
    (head.split(' ').nth(1).unwrap().to_owned(), body.to_owned())
}

fn postmaster(data: &Path) -> String {
    let file = fs::read_to_string(data.join("postgresql/postmaster.pid")).unwrap();
    file.lines().next().unwrap().to_owned()
}

fn token(line: &str) -> &str {
    line.split("Bearer ").nth(1).unwrap().split('\'').next().unwrap()
}

async fn postgres_ends(pid: &str) {
    until("PostgreSQL has ended", Duration::from_secs(10), || async { !runs(pid) }).await;
}

#[tokio::test]
async fn an_address_that_is_taken_is_said_before_anything_is_made() {
    let (root, taken) = (tempfile::tempdir().unwrap(), TcpListener::bind("127.0.0.1:0").unwrap());
    let (data, address) = (root.path().join("data"), taken.local_addr().unwrap().to_string());
    let ended = Program::new(&["dev", "--listen", &address, "--data", data.to_str().unwrap()]).run().await;
    assert_eq!(ended.status.code(), Some(1));
    assert!(ended.err.contains(&format!("cannot listen on {address}")), "{}", ended.err);
    assert!(!data.exists());
}

#[tokio::test]
async fn the_printed_line_works_twice_the_data_stays_and_no_postgres_does() {
    let root = tempfile::tempdir().unwrap();
    let data = root.path().join("data");
    let mut first = dev(&data).start();
    let line = curl_line(&mut first).await;
    let created = shell(&line).await;
    let replayed = shell(&line).await;
    assert_eq!((created.0.as_str(), replayed.0.as_str()), ("201", "200"), "{created:?} {replayed:?}");
    assert_eq!(created.1, replayed.1);
    let pid = postmaster(&data);
    first.signal(Signal::INT);
    assert_eq!(first.ended_within(Duration::from_secs(15)).await.status.code(), Some(0));
    assert!(!runs(&pid), "PostgreSQL ends before the program does");

    let mut second = dev(&data).start();
    let other_line = curl_line(&mut second).await;
    assert_eq!(token(&line), token(&other_line));
    let order: serde_json::Value = serde_json::from_str(&created.1).unwrap();
    let base = second.base().await;
    let get = format!(
        "curl -si {base}/v1/orders/{} -H 'Authorization: Bearer {}'",
        order["id"].as_str().unwrap(),
        token(&line)
    );
    let (status, again) = shell(&get).await;
    let again: serde_json::Value = serde_json::from_str(&again).unwrap();
    assert_eq!(status, "200");
    // Its steps may have gone on since.
    for same in ["id", "amount", "lines", "payment", "created_at"] {
        assert_eq!(again[same], order[same], "{same}");
    }
    let pid = postmaster(&data);
    second.kill();
    postgres_ends(&pid).await;

    // After a kill -9 the data is there all the same.
    let mut third = dev(&data).start();
    let line = curl_line(&mut third).await;
    assert_eq!(shell(&line).await.0, "201");
    let pid = postmaster(&data);
    third.signal(Signal::TERM);
    assert_eq!(third.ended_within(Duration::from_secs(15)).await.status.code(), Some(0));
    assert!(!runs(&pid));
}

#[tokio::test]
async fn with_exit_with_parent_it_ends_when_its_parent_is_killed() {
    let root = tempfile::tempdir().unwrap();
    let data = root.path().join("data");
    let program = env!("CARGO_BIN_EXE_ichido");
    let script = format!(
        "{program} dev --listen 127.0.0.1:0 --data {data} --exit-with-parent >{root}/out 2>&1 & \
         echo $! >{root}/pid; wait",
        data = data.display(),
        root = root.path().display()
    );
    let mut parent = Command::new("sh").args(["-c", &script]).spawn().unwrap();
    let out = || fs::read_to_string(root.path().join("out")).unwrap_or_default();
    until("dev listens", Duration::from_mins(1), || async { out().contains("listening on") }).await;
    let pid = fs::read_to_string(root.path().join("pid")).unwrap().trim().to_owned();
    let postgres = postmaster(&data);
    assert!(runs(&pid) && runs(&postgres));
    parent.kill().unwrap();
    parent.wait().unwrap();
    until("dev has ended", Duration::from_secs(10), || async { !runs(&pid) }).await;
    postgres_ends(&postgres).await;
}
