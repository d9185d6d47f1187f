//! `ichido rehearse`, as a person and as a script run it.

use crate::support::process::Program;
use serde_json::Value;
use std::time::Duration;

#[tokio::test]
async fn scenarios_are_played_and_every_effect_is_counted() {
    let program = Program::new(&["rehearse", "--scenario", "partner_answer_lost", "--json"]);
    let ended = program
        .arg("--scenario")
        .arg("server_killed_at_the_gateway")
        .start()
        .ended_within(Duration::from_mins(2))
        .await;
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    let report: Value = serde_json::from_str(&ended.out).unwrap();
    let verdicts = report["verdicts"].as_array().unwrap();
    assert_eq!((&report["ok"], verdicts.len()), (&Value::from(true), 12));
    let charges = verdicts.iter().filter(|verdict| verdict["effect"] == "charge" && verdict["seen"] == 1).count();
    assert_eq!(charges, 2);
    assert!(ended.err.contains("kill -9 while the gateway holds its answer"), "{}", ended.err);
    let unknown = Program::new(&["rehearse", "--scenario", "none"]).run().await;
    assert_eq!(unknown.status.code(), Some(2));
}
