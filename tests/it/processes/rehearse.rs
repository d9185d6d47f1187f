//! `ichido rehearse`, as a person and as a script run it.

use crate::support::process::Program;
use crate::support::wait::until;
use serde_json::Value;
use std::time::Duration;

#[tokio::test]
async fn scenarios_are_played_and_every_effect_is_counted() {
    let program = Program::new(&["rehearse", "--scenario", "partner_answer_lost", "--json"]);
    let ended = program
        .arg("--scenario")
        .arg("server_killed_at_the_gateway")
        .arg("--scenario")
        .arg("notified_in_reverse_order")
        .start()
        .ended_within(Duration::from_mins(2))
        .await;
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    let report: Value = serde_json::from_str(&ended.out).unwrap();
    let verdicts = report["verdicts"].as_array().unwrap();
    assert_eq!((&report["ok"], verdicts.len()), (&Value::from(true), 19));
    let charges = verdicts.iter().filter(|verdict| verdict["effect"] == "charge" && verdict["seen"] == 1).count();
    assert_eq!(charges, 3);
    assert!(ended.err.contains("kill -9 while the gateway holds its answer"), "{}", ended.err);
    let unknown = Program::new(&["rehearse", "--scenario", "none"]).run().await;
    assert_eq!(unknown.status.code(), Some(2));
}

/// The word behind a mark in what a program printed.
fn behind<'a>(out: &'a str, mark: &str) -> &'a str {
    let rest = out.split(mark).nth(1).unwrap_or_else(|| panic!("no {mark} in {out}"));
    rest.split(|c: char| c.is_whitespace() || c == ',').next().unwrap()
}

#[tokio::test]
async fn a_service_that_runs_is_rehearsed_on_too_but_no_live_organisation() {
    let root = tempfile::tempdir().unwrap();
    let data = root.path().join("data");
    let mut dev = Program::new(&["dev", "--listen", "127.0.0.1:0", "--data", data.to_str().unwrap()]).start();
    let base = dev.base().await;
    until("the token", Duration::from_secs(5), || async { dev.out().contains("TOKEN=") }).await;
    let out = dev.out();
    let (world, token) = (behind(&out, "simulated world (payments) at "), behind(&out, "TOKEN="));
    let visit = |token: &str, scenario: &str| {
        Program::new(&[
            "rehearse",
            "--url",
            &base,
            "--world",
            world,
            "--token",
            token,
            "--scenario",
            scenario,
            "--json",
        ])
    };
    let scenario = visit(token, "notified_three_times_at_once").arg("--scenario").arg("server_killed_at_a_partner");
    let ended = scenario.start().ended_within(Duration::from_mins(2)).await;
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    let report: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!((&report["ok"], report["verdicts"].as_array().unwrap().len()), (&Value::from(true), 6));
    assert!(ended.err.contains("server_killed_at_a_partner: left out"), "{}", ended.err);
    // The payment's own notifications came, besides those that the scenario sent.
    let receipts = reqwest::Client::new().get(format!("{base}/v1/receipts")).bearer_auth(token).send().await.unwrap();
    let receipts: Value = receipts.json().await.unwrap();
    assert!(receipts["data"].as_array().unwrap().len() > 6, "{receipts}");

    let live = ichido::domain::api_key::ApiKey::assemble(
        ichido::domain::org::Mode::Live,
        &"a".repeat(ichido::domain::api_key::KEY_ID_LENGTH),
        &"b".repeat(ichido::domain::api_key::RANDOM_LENGTH),
    );
    let alone = visit(token, "server_killed_at_a_partner").run().await;
    assert_eq!(alone.status.code(), Some(1), "what was not played is no success");
    for (token, why) in [(live.token().as_str(), "live organisation"), ("nonsense", "not an API key")] {
        let refused = visit(token, "wrong_amount").run().await;
        assert_eq!(refused.status.code(), Some(1));
        assert!(format!("{}{}", refused.out, refused.err).contains(why), "{refused:?}");
        assert!(!refused.err.contains(token), "a key is never printed");
    }
    dev.signal(rustix::process::Signal::INT);
    assert_eq!(dev.ended_within(Duration::from_secs(15)).await.status.code(), Some(0));
}
