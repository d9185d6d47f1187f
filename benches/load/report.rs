//! The figures of all runs as a table and as JSON: medians of the rounds, ratios, and what the ratios are held to.

use std::fmt::{self, Display, Formatter};
use std::time::Duration;

use serde_json::{Value, json};

use crate::stand::Environment;
use crate::statistics::median;
use crate::steps::Steps;
use crate::work::{CONNECTIONS, Memory, Sample, WORKS, Work};

/// What HTTP reaches at least beside pgbench with the bare statement: `(works, connections, ratio)`. At 32 connections pgbench
/// has the machine for itself; at 128 what many requests share decides.
const RATIO_GATES: [((Work, Work), usize, f64); 3] =
    [(RATIOS[0], 32, 0.65), (RATIOS[0], 128, 2.0), (RATIOS[1], 128, 1.0)];

/// The service's memory at 128 connections stays below this many MiB.
const MEMORY_GATE: f64 = 60.0;

/// A worker brings at least so many effects a second to local partners, and holds less memory than so many MiB.
const EFFECTS_GATE: f64 = 1_000.0;
const WORKER_MEMORY_GATE: f64 = 80.0;

/// Errors described in the table.
const NOTES: usize = 5;

/// What is compared with what.
const RATIOS: [(Work, Work); 2] = [(Work::New, Work::PgbenchClaim), (Work::Replay, Work::PgbenchRead)];

/// All samples, in the order in which they were taken.
pub struct Report {
    environment: Environment,
    duration: Duration,
    samples: Vec<(Work, usize, Sample)>,
    rows: Option<(i64, i64)>,
    steps: Vec<Steps>,
}

/// One thing that is asked of the figures.
struct Gate {
    name: String,
    asked: String,
    /// `None` when it could not be measured.
    found: Option<(String, bool)>,
}

impl Gate {
    fn verdict(&self) -> &'static str {
        match self.found {
            Some((_, true)) => "pass",
            Some((_, false)) => "short",
            None => "not measured",
        }
    }
}

impl Report {
    /// An empty one.
    pub fn new(environment: Environment, duration: Duration) -> Self {
        Self { environment, duration, samples: Vec::new(), rows: None, steps: Vec::new() }
    }

    /// Adds what a run gave.
    pub fn add(&mut self, work: Work, connections: usize, sample: Sample) {
        self.samples.push((work, connections, sample));
    }

    /// Adds what a run of one worker gave.
    pub fn add_steps(&mut self, steps: Steps) {
        self.steps.push(steps);
    }

    /// Sets how many keys and orders there were at the end.
    pub fn set_rows(&mut self, rows: (i64, i64)) {
        self.rows = Some(rows);
    }

    /// Requests that failed; keys without an order or orders without a key count as well.
    pub fn errors(&self) -> u64 {
        let requests: u64 = self.samples.iter().map(|(.., sample)| sample.errors).sum();
        let effects: u64 = self.steps.iter().map(|steps| steps.errors).sum();
        requests + effects + self.rows.map_or(0, |(keys, orders)| keys.abs_diff(orders))
    }

    /// What the figures depend on, in one line.
    pub fn environment(&self) -> String {
        let Environment { cores, postgres, durability, kernel, load_before } = &self.environment;
        format!(
            "{cores} cores, PostgreSQL {postgres} ({durability}), kernel {kernel}, load average before {load_before:.1}"
        )
    }

    fn of(&self, work: Work, connections: usize) -> impl Iterator<Item = &Sample> {
        self.samples.iter().filter(move |sample| sample.0 == work && sample.1 == connections).map(|(.., sample)| sample)
    }

    fn median(&self, work: Work, connections: usize, figure: fn(&Sample) -> Option<f64>) -> Option<f64> {
        median(self.of(work, connections).filter_map(figure))
    }

    fn ratio(&self, (above, below): (Work, Work), connections: usize) -> Option<f64> {
        let per_second = |work| self.median(work, connections, |sample| Some(sample.per_second));
        Some(per_second(above)? / per_second(below)?)
    }

    /// The most memory that the service had in any run with so many connections.
    fn memory(&self, connections: usize) -> Option<Memory> {
        let all = self.samples.iter().filter(|sample| sample.1 == connections).filter_map(|(.., sample)| sample.memory);
        all.reduce(|left, right| Memory {
            resident: left.resident.max(right.resident),
            peak: left.peak.max(right.peak),
        })
    }

    /// The part of the machine that other programs took: the median of the runs, and the most in any.
    fn others(&self) -> Option<(f64, f64)> {
        let all = || self.samples.iter().filter_map(|(.., sample)| sample.others);
        Some((median(all())?, all().reduce(f64::max)?))
    }

    fn notes(&self) -> impl Iterator<Item = String> {
        self.samples.iter().flat_map(|(work, connections, sample)| {
            sample.notes.iter().map(move |note| format!("{}, {connections} connections: {note}", work.name()))
        })
    }

    fn gates(&self) -> Vec<Gate> {
        let ratios = RATIO_GATES.map(|(pair, connections, asked)| Gate {
            name: format!("{} / {}, {connections} connections", pair.0.name(), pair.1.name()),
            asked: format!("at least {asked}"),
            found: self.ratio(pair, connections).map(|ratio| (format!("{ratio:.2}"), ratio >= asked)),
        });
        let memory = self.memory(128);
        let effects = median(self.steps.iter().map(|steps| steps.per_second));
        let worker = self.steps.iter().map(|steps| steps.memory).reduce(f64::max);
        let others = [
            Gate {
                name: "errors".to_owned(),
                asked: "0".to_owned(),
                found: Some((self.errors().to_string(), self.errors() == 0)),
            },
            Gate {
                name: "server memory, 128 connections".to_owned(),
                asked: format!("below {MEMORY_GATE} MiB"),
                found: memory.map(|Memory { resident, .. }| (format!("{resident:.1} MiB"), resident < MEMORY_GATE)),
            },
            Gate {
                name: "effects of one worker, a second".to_owned(),
                asked: format!("at least {EFFECTS_GATE}"),
                found: effects.map(|effects| (format!("{effects:.0}"), effects >= EFFECTS_GATE)),
            },
            Gate {
                name: "worker memory".to_owned(),
                asked: format!("below {WORKER_MEMORY_GATE} MiB"),
                found: worker.map(|memory| (format!("{memory:.1} MiB"), memory < WORKER_MEMORY_GATE)),
            },
        ];
        ratios.into_iter().chain(others).collect()
    }

    /// All figures, those of each run included.
    pub fn json(&self) -> Value {
        let cells = WORKS.iter().flat_map(|&work| CONNECTIONS.map(|connections| self.cell(work, connections)));
        let ratios = RATIOS.iter().flat_map(|&pair| {
            CONNECTIONS.map(|connections| {
                let name = format!("{} / {}", pair.0.id(), pair.1.id());
                json!({"name": name, "connections": connections, "ratio": self.ratio(pair, connections)})
            })
        });
        let gates: Vec<_> = self
            .gates()
            .iter()
            .map(|gate| {
                let found = gate.found.as_ref().map(|(found, _)| found);
                json!({"name": gate.name, "asked": gate.asked, "found": found, "verdict": gate.verdict()})
            })
            .collect();
        json!({
            "environment": {
                "cores": self.environment.cores,
                "postgres": self.environment.postgres,
                "durability": self.environment.durability,
                "kernel": self.environment.kernel,
                "load_before": self.environment.load_before,
            },
            "seconds_per_run": self.duration.as_secs(),
            "medians": cells.collect::<Vec<_>>(),
            "ratios": ratios.collect::<Vec<_>>(),
            "memory_mib_at_128": self.memory(128).map(|memory| json!({"rss": memory.resident, "peak": memory.peak})),
            "steps": self.steps.iter().map(|steps| json!({
                "effects_per_second": steps.per_second, "worker_memory_mib": steps.memory,
                "worker_cpu_us": steps.worker_cpu_us, "errors": steps.errors,
            })).collect::<Vec<_>>(),
            "cpu_of_others": self.others().map(|(median, most)| json!({"median": median, "most": most})),
            "rows": self.rows.map(|(keys, orders)| json!({"idempotency_keys": keys, "orders": orders})),
            "gates": gates,
            "error_notes": self.notes().take(NOTES).collect::<Vec<_>>(),
        })
    }

    fn cell(&self, work: Work, connections: usize) -> Value {
        let median = |figure| self.median(work, connections, figure);
        json!({
            "work": work.id(),
            "connections": connections,
            "per_second": median(|sample| Some(sample.per_second)),
            "p50_ms": median(|sample| Some(sample.p50_ms)),
            "p99_ms": median(|sample| Some(sample.p99_ms)),
            "errors": self.of(work, connections).map(|sample| sample.errors).sum::<u64>(),
            "server_cpu_us": median(|sample| sample.server_cpu_us),
            "postgres_cpu_us": median(|sample| sample.postgres_cpu_us),
            "per_second_of_rounds": self.of(work, connections).map(|sample| sample.per_second).collect::<Vec<_>>(),
        })
    }

    fn line(&self, f: &mut Formatter<'_>, work: Work, connections: usize) -> fmt::Result {
        let shown = |figure: fn(&Sample) -> Option<f64>, digits: usize| {
            self.median(work, connections, figure).map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
        };
        writeln!(
            f,
            "{:<26}{connections:>6}{:>10}{:>9}{:>9}{:>8}{:>11}{:>13}",
            work.name(),
            shown(|sample| Some(sample.per_second), 0),
            shown(|sample| Some(sample.p50_ms), 2),
            shown(|sample| Some(sample.p99_ms), 2),
            self.of(work, connections).map(|sample| sample.errors).sum::<u64>(),
            shown(|sample| sample.server_cpu_us, 1),
            shown(|sample| sample.postgres_cpu_us, 1),
        )
    }
}

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let rounds = self.of(WORKS[0], CONNECTIONS[0]).count();
        writeln!(f, "{}", self.environment())?;
        writeln!(
            f,
            "medians of {rounds} round(s) of {} s each; CPU in microseconds a request\n",
            self.duration.as_secs()
        )?;
        let head = ["conns", "per s", "p50 ms", "p99 ms", "errors", "server CPU", "postgres CPU"];
        let [conns, per_s, p50, p99, errors, server, postgres] = head;
        writeln!(f, "{:<26}{conns:>6}{per_s:>10}{p50:>9}{p99:>9}{errors:>8}{server:>11}{postgres:>13}", "work")?;
        for work in WORKS {
            CONNECTIONS.iter().try_for_each(|&connections| self.line(f, work, connections))?;
        }
        writeln!(f)?;
        for pair in RATIOS {
            for connections in CONNECTIONS {
                let ratio = self.ratio(pair, connections).map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}"));
                writeln!(f, "{} / {}, {connections} connections: {ratio}", pair.0.name(), pair.1.name())?;
            }
        }
        if let Some(Memory { resident, peak }) = self.memory(128) {
            writeln!(f, "server memory, 128 connections: {resident:.1} MiB resident, peak {peak:.1} MiB")?;
        }
        for steps in &self.steps {
            let Steps { per_second, memory, worker_cpu_us, errors } = steps;
            writeln!(
                f,
                "one worker: {per_second:.0} effects a second, {worker_cpu_us:.0} us of its CPU each, {memory:.1} MiB, \
                 {errors} errors"
            )?;
        }
        if let Some((median, most)) = self.others() {
            let (median, most) = (median * 100.0, most * 100.0);
            writeln!(f, "CPU that other programs took meanwhile: {median:.0} % (median), {most:.0} % (most in a run)")?;
        }
        if let Some((keys, orders)) = self.rows {
            writeln!(f, "in the database at the end: {keys} keys, {orders} orders")?;
        }
        writeln!(f)?;
        for gate in self.gates() {
            let found = gate.found.as_ref().map_or("-", |(found, _)| found.as_str());
            writeln!(f, "{:<12} {}: {found} (asked: {})", gate.verdict(), gate.name, gate.asked)?;
        }
        self.notes().take(NOTES).try_for_each(|note| writeln!(f, "error in {note}"))
    }
}
