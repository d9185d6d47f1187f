//! What is asked of the figures: gates that hold, and goals beyond them.

use serde_json::{Value, json};

use crate::report::Report;
use crate::statistics::median;
use crate::work::{CROWD, PACED_CONNECTIONS, Work};

/// What runs taken in turn may differ by without meaning anything.
const TOLERANCE: f64 = 0.2;

/// What is compared, with how many connections, what holds, what is aimed at.
type RatioGate = ((Work, Work), usize, f64, Option<f64>);

/// At 32 connections pgbench has the machine for
/// itself; from 128 on, what many requests share decides.
const RATIOS: [RatioGate; 6] = [
    ((Work::New, Work::PgbenchSingle), 32, 0.65, None),
    ((Work::New, Work::PgbenchSingle), 128, 2.0, Some(3.0)),
    ((Work::New, Work::PgbenchSingle), 512, 2.4, Some(3.5)),
    ((Work::New, Work::PgbenchClassic), 128, 5.0, Some(8.0)),
    ((Work::Replay, Work::PgbenchRead), 128, 1.0, Some(1.5)),
    ((Work::Paid, Work::PgbenchPaid), 128, 0.8, Some(1.5)),
];

/// Which side of the gate is the right one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// A figure passes from there upwards.
    AtLeast,
    /// A figure passes up to there.
    AtMost,
}

/// One thing that is asked of the figures.
pub struct Gate {
    /// What.
    pub name: String,
    /// Which side passes.
    pub side: Side,
    /// What holds.
    pub limit: f64,
    /// What is aimed at.
    pub goal: Option<f64>,
    /// `None` when it was not measured.
    pub found: Option<f64>,
    /// Of all three; empty for ratios.
    pub unit: &'static str,
    /// Decimals of what was found.
    pub digits: usize,
}

impl Gate {
    /// A ratio that is to be as great as possible.
    pub fn ratio(name: String, limit: f64, goal: Option<f64>, found: Option<f64>) -> Self {
        Self { name, side: Side::AtLeast, limit, goal, found, unit: "", digits: 2 }
    }

    fn at_most(name: String, (limit, goal): (f64, Option<f64>), unit: &'static str, found: Option<f64>) -> Self {
        Self { name, side: Side::AtMost, limit, goal, found, unit, digits: 1 }
    }

    /// `pass`, `near` (short of it by no more than the tolerance), `short` or `not measured`.
    pub fn verdict(&self) -> &'static str {
        let reaches = |value: f64, asked: f64| if self.side == Side::AtLeast { value >= asked } else { value <= asked };
        let tolerated = match self.side {
            Side::AtLeast => self.limit * (1.0 - TOLERANCE),
            Side::AtMost => self.limit * (1.0 + TOLERANCE),
        };
        match self.found {
            None => "not measured",
            Some(found) if reaches(found, self.limit) => "pass",
            Some(found) if reaches(found, tolerated) => "near",
            Some(_) => "short",
        }
    }

    /// One line of the table.
    pub fn line(&self) -> String {
        let side = if self.side == Side::AtLeast { "at least" } else { "at most" };
        let found = self.found.map_or_else(|| "-".to_owned(), |found| format!("{found:.*}", self.digits));
        let goal = self.goal.map_or_else(|| "-".to_owned(), |goal| goal.to_string());
        format!("{:<13}{:<70}{found:>9}  {side:<8}{:>7}{goal:>7}  {}", self.verdict(), self.name, self.limit, self.unit)
    }

    /// The same for programs.
    pub fn json(&self) -> Value {
        let side = if self.side == Side::AtLeast { "at_least" } else { "at_most" };
        json!({
            "name": self.name, "side": side, "gate": self.limit, "goal": self.goal, "found": self.found,
            "unit": self.unit, "verdict": self.verdict(),
        })
    }
}

/// What stands above the lines.
pub fn head() -> String {
    format!("{:<13}{:<70}{:>9}  {:<8}{:>7}{:>7}", "verdict", "what", "found", "asked", "gate", "goal")
}

/// Everything that is asked of a report.
pub fn gates(report: &Report) -> Vec<Gate> {
    let ratios = RATIOS.into_iter().map(|(pair, connections, gate, goal)| {
        let name = format!("{} / {}, {connections} connections", pair.0.name(), pair.1.name());
        Gate::ratio(name, gate, goal, report.ratio(pair, connections))
    });
    let p99 = report.median(Work::Paced, PACED_CONNECTIONS, |sample| Some(sample.p99_ms));
    let cpu = report.median(Work::New, 128, |sample| sample.server_cpu_us);
    let memory = report.memory(128).map(|memory| memory.resident);
    let crowd = report.memory_of(Work::Crowd);
    let in_flight = crowd.map_or(CROWD, |(connections, _)| connections);
    let crowd = crowd.map(|(_, memory)| memory.resident);
    let effects = median(report.steps.iter().map(|steps| steps.per_second));
    let worker = report.steps.iter().map(|steps| steps.memory).reduce(f64::max);
    // More than 2^32 errors are as bad as 2^32.
    let errors = f64::from(u32::try_from(report.errors()).unwrap_or(u32::MAX));
    let others = [
        Gate { digits: 2, ..Gate::at_most(format!("p99 of {}", Work::Paced.name()), (1.5, Some(0.9)), "ms", p99) },
        Gate::at_most("server CPU for a new order, 128 connections".to_owned(), (22.0, Some(14.0)), "us", cpu),
        Gate::at_most(format!("server memory, {in_flight} in flight"), (400.0, Some(150.0)), "MiB", crowd),
        Gate::at_most("server memory, 128 connections".to_owned(), (60.0, None), "MiB", memory),
        Gate { digits: 0, ..Gate::ratio("effects of one worker a second".to_owned(), 1000.0, None, effects) },
        Gate::at_most("worker memory".to_owned(), (80.0, None), "MiB", worker),
        Gate { digits: 0, ..Gate::at_most("errors".to_owned(), (0.0, None), "", Some(errors)) },
    ];
    ratios.chain(others).collect()
}
