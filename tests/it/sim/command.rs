//! `ichido sim`, the program.

use super::World;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

struct Program {
    child: Child,
    world: World,
}

impl Program {
    fn start(journal: &Path) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut child = Command::new(env!("CARGO_BIN_EXE_ichido"))
            .args(["sim", "--listen", "127.0.0.1:0", "--journal"])
            .arg(journal)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let base = line.trim().strip_prefix("listening on ").unwrap();
        Self { world: World::at(base), child }
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test]
async fn a_killed_world_forgets_nothing_that_it_told() {
    let dir = tempfile::tempdir().unwrap();
    let journal = dir.path().join("world.jsonl");
    let mut told: Vec<String> = Vec::new();
    for round in 0..3 {
        let mut program = Program::start(&journal);
        let replays =
            futures_util::future::join_all(told.iter().map(|key| program.world.pay(key, "pm_card_visa"))).await;
        assert!(replays.iter().all(super::Answer::is_replay));
        let effects = program.world.effects().await;
        assert!(effects.as_array().unwrap().iter().all(|each| each["count"] == 1));
        let keys: Vec<_> = (0..40).map(|number| format!("K{round}-{number}")).collect();
        let call = async |key: String| (program.world.try_pay(&key, "pm_card_visa").await.is_ok(), key);
        let mut calls: FuturesUnordered<_> = keys.into_iter().map(call).collect();
        let mut answered = 0;
        // Killed while others are on their way.
        while let Some((is_ok, key)) = calls.next().await {
            if is_ok {
                told.push(key);
                answered += 1;
            }
            if answered == 5 {
                program.signal(Signal::KILL);
            }
        }
        assert!(answered >= 5);
        drop(calls);
        program.child.wait().unwrap();
    }
    let program = Program::start(&journal);
    let effects = program.world.effects().await;
    let effects = effects.as_array().unwrap();
    assert!(told.iter().all(|key| effects.iter().any(|each| each["key"] == json!(key) && each["count"] == 1)));
}

#[tokio::test]
async fn signals_end_it_with_0() {
    let dir = tempfile::tempdir().unwrap();
    for (name, signal) in [("a", Signal::TERM), ("b", Signal::INT)] {
        let mut program = Program::start(&dir.path().join(name));
        assert_eq!(program.world.pay("K", "pm_card_visa").await.status, 200);
        program.signal(signal);
        assert_eq!(program.child.wait().unwrap().code(), Some(0));
    }
}

#[test]
fn wrong_usage() {
    let run = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_ichido")).arg("sim").args(arguments).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    assert_eq!(run(&["--webhook-url", "http://127.0.0.1:1/"]).0, Some(2));
    let url = ["--webhook-url", "http://127.0.0.1:1/", "--webhook-secret-env", "ICHIDO_TEST_NOT_SET"];
    let (status, error) = run(&url);
    assert_eq!(status, Some(1));
    assert!(error.contains("ICHIDO_TEST_NOT_SET"), "{error}");
    assert_eq!(run(&["--listen", "127.0.0.1:0", "--journal", "/nonexistent/world.jsonl"]).0, Some(1));
}
