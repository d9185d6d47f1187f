//! The table: each failpoint, how often it was reached and struck, and what came of it.

use crate::case::Outcome;
use crate::plan::Strike;
use serde_json::json;
use std::fmt::Write;
use std::time::Duration;

/// The whole of it, as Markdown.
pub fn render(outcomes: &[(Strike, Outcome)], seed: u64, took: Duration) -> String {
    let mut text =
        "| failpoint | scenario | reached | struck | verdict |\n| --- | --- | --- | --- | --- |\n".to_owned();
    for (strike, outcome) in outcomes {
        let (name, reached, struck) = (strike.scenario().name, outcome.reached, outcome.struck);
        let _ = writeln!(text, "| {strike} | {name} | {reached} | {struck} | {} |", outcome.told());
    }
    let passed = outcomes.iter().filter(|(_, outcome)| outcome.passed()).count();
    let points: std::collections::BTreeSet<_> = outcomes.iter().map(|(strike, _)| strike.name).collect();
    let struck: std::collections::BTreeSet<_> =
        outcomes.iter().filter(|(_, outcome)| outcome.struck > 0).map(|(strike, _)| strike.name).collect();
    let _ = write!(
        text,
        "\n{passed} of {} cases passed; {} of {} failpoints were struck; seed {seed}, {} s",
        outcomes.len(),
        struck.len(),
        points.len(),
        took.as_secs()
    );
    text
}

/// The sum of it, as one JSON object.
pub fn json(outcomes: &[(Strike, Outcome)], seed: u64, took: Duration) -> String {
    let struck: usize = outcomes.iter().map(|(_, outcome)| outcome.struck).sum();
    let violations = outcomes.iter().filter(|(_, outcome)| !outcome.passed()).count();
    let object = json!({
        "run": "failpoints", "faults": struck, "operations": outcomes.len(), "violations": violations, "seed": seed,
        "seconds": took.as_secs_f64(),
    });
    object.to_string()
}
