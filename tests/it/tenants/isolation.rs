//! Organisations with one of everything; what they ask, and what then became of the one they asked about.
//!
//! `TENANT_CASES=10000` makes more random requests, `TENANT_SEED` replays a run's, `VERIFY_JSON` names a file for its result.

use super::books::{books, telling};
use super::every::every_operation;
use super::filled::Filled;
use super::judge::{Judge, OTHER_SECRET};
use super::random::random_cases;
use crate::inbox::endpoint::settled;
use crate::support::app::TestApp;
use crate::support::work::work;
use rand::SeedableRng;
use rand::rngs::StdRng;
use serde_json::json;
use std::collections::BTreeSet;
use std::fs;
use std::time::Instant;

const CASES: u64 = 300;
/// Rounds of the worker over what was asked for.
const ROUNDS: usize = 3;
/// Violations in a failure's text.
const SHOWN: usize = 8;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is no number")))
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_asks_for_what_is_anothers_learns_and_changes_nothing() {
    let began = Instant::now();
    let seed = number("TENANT_SEED").unwrap_or_else(rand::random);
    let cases = number("TENANT_CASES").unwrap_or(CASES);
    eprintln!("tenants: seed {seed}, {cases} random requests");
    let app = TestApp::start().await;
    let filled = |name| Filled::new(&app, name);
    let (reader, writer, theirs) = tokio::join!(filled("reads"), filled("writes"), filled("theirs"));
    eprintln!("tenants: three organisations filled, {:.1} s", began.elapsed().as_secs_f64());
    writer.endpoint.add(&app, "OTHER", OTHER_SECRET).await;
    let mut telling = telling(&app, theirs.org.id).await;
    assert!(telling.len() > 50 && telling.iter().any(|text| text.contains(&theirs.canary)), "{telling:?}");
    telling.insert(theirs.canary.clone());
    let before = books(&app, &theirs).await;
    let mut judge =
        Judge { app: &app, theirs: &theirs, telling, written: BTreeSet::new(), asked: 0, violations: Vec::new() };
    every_operation(&mut judge).await;
    eprintln!("tenants: {} requests on every operation, {:.1} s", judge.asked, began.elapsed().as_secs_f64());
    random_cases(&mut judge, [&reader, &writer], cases, &mut StdRng::seed_from_u64(seed)).await;
    // What was asked for is done, too, before the books are closed.
    settled(&app).await;
    for _ in 0..ROUNDS {
        work(&app).await;
    }
    let after = books(&app, &theirs).await;
    let Judge { asked, mut violations, .. } = judge;
    violations.extend(before.changes(&after));
    report(seed, asked, violations.len(), began);
    let shown: Vec<_> = violations.iter().take(SHOWN).map(String::as_str).collect();
    let told = shown.join("\n");
    assert!(violations.is_empty(), "{} violations in {asked} requests, seed {seed}:\n{told}", violations.len());
}

fn report(seed: u64, asked: u64, violations: usize, began: Instant) {
    let seconds = began.elapsed().as_secs_f64();
    eprintln!("tenants: {asked} requests, {violations} violations, {seconds:.1} s");
    let Some(path) = std::env::var_os("VERIFY_JSON") else { return };
    let result = json!({
        "run": "tenants", "faults": 0, "operations": asked, "violations": violations, "seed": seed, "seconds": seconds,
    });
    fs::write(path, result.to_string()).unwrap();
}
