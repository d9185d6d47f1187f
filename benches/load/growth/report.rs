//! What the growth bench has found, as a table and as JSON.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

use serde_json::{Value, json};

use super::{Place, SUSTAINED};
use crate::Failure;
use crate::gates::{self, Gate};
use crate::keys::KeyOrder;
use crate::options::Options;
use crate::stand::Environment;
use crate::statistics::median;
use crate::work::{Sample, Work};

/// New orders with random keys, sustained, keep at least this part of their speed; more is aimed at.
const RANDOM_GATE: (f64, f64) = (0.75, 0.9);

/// What ran: with which keys, which work, with how many connections, and where.
pub type Cell = (KeyOrder, Work, usize, Place);

/// All samples.
pub struct GrowthReport {
    environment: Environment,
    seconds: u64,
    rounds: usize,
    rows: u64,
    samples: BTreeMap<Cell, Vec<Sample>>,
    /// With which keys, how many expired ones were removed during the runs, and how many were left.
    removed: Vec<(KeyOrder, i64, i64)>,
    /// What could not be measured to its end, and why.
    failures: Vec<String>,
}

impl GrowthReport {
    /// An empty one.
    pub fn new(environment: Environment, options: &Options, rows: u64) -> Self {
        let (seconds, rounds) = (options.duration.as_secs(), options.rounds);
        Self { environment, seconds, rounds, rows, samples: BTreeMap::new(), removed: Vec::new(), failures: Vec::new() }
    }

    /// Adds what a run gave.
    pub fn add(&mut self, cell: Cell, sample: Sample) {
        self.samples.entry(cell).or_default().push(sample);
    }

    /// Adds what the clean-up did.
    pub fn add_removed(&mut self, order: KeyOrder, removed: i64, left: i64) {
        self.removed.push((order, removed, left));
    }

    /// Notes that the runs with these keys did not come to their end.
    pub fn fail(&mut self, order: KeyOrder, failure: &Failure) {
        self.failures.push(format!("{} keys: {failure}", order.name()));
    }

    /// Requests that failed, and variants that did not come to their end.
    pub fn errors(&self) -> u64 {
        let requests: u64 = self.samples.values().flatten().map(|sample| sample.errors).sum();
        requests + u64::try_from(self.failures.len()).unwrap_or(u64::MAX)
    }

    fn median(&self, cell: Cell, figure: fn(&Sample) -> Option<f64>) -> Option<f64> {
        median(self.samples.get(&cell)?.iter().filter_map(figure))
    }

    /// The speed in parts of that on the empty database.
    fn ratio(&self, (order, work, connections, place): Cell) -> Option<f64> {
        let per_second = |place| self.median((order, work, connections, place), |sample| Some(sample.per_second));
        Some(per_second(place)? / per_second(Place::Empty)?)
    }

    fn gates(&self) -> Vec<Gate> {
        let (limit, goal) = RANDOM_GATE;
        let loaded = self.samples.keys().filter(|cell| {
            let &&(order, work, _, place) = cell;
            (order, work, place) == (KeyOrder::Random, Work::Sustained, Place::Loaded)
        });
        let gate = |&cell: &Cell| {
            let name = format!("{} random keys / empty, {} connections", self.rows, cell.2);
            Gate::ratio(name, limit, Some(goal), self.ratio(cell))
        };
        loaded.map(gate).collect()
    }

    /// All figures.
    pub fn json(&self) -> Value {
        let cells = self.samples.iter().map(|(&cell, samples)| {
            let median = |figure: fn(&Sample) -> Option<f64>| self.median(cell, figure);
            let (order, work, connections, place) = cell;
            json!({
                "keys": order.name(),
                "work": work.id(),
                "connections": connections,
                "database": place_name(place),
                "per_second": median(|sample| Some(sample.per_second)),
                "to_empty": self.ratio(cell),
                "p50_ms": median(|sample| Some(sample.p50_ms)),
                "p99_ms": median(|sample| Some(sample.p99_ms)),
                "errors": samples.iter().map(|sample| sample.errors).sum::<u64>(),
                "server_cpu_us": median(|sample| sample.server_cpu_us),
                "postgres_cpu_us": median(|sample| sample.postgres_cpu_us),
                "wal_bytes": median(|sample| sample.wal_bytes),
                "per_second_of_rounds": samples.iter().map(|sample| sample.per_second).collect::<Vec<_>>(),
            })
        });
        json!({
            "environment": self.environment.line(),
            "rows": self.rows,
            "rounds": self.rounds,
            "seconds_per_run": self.seconds,
            "medians": cells.collect::<Vec<_>>(),
            "cleaned_up": self.removed.iter().map(|&(order, removed, left)| {
                json!({"keys": order.name(), "removed": removed, "left": left})
            }).collect::<Vec<_>>(),
            "failures": self.failures,
            "gates": self.gates().iter().map(Gate::json).collect::<Vec<_>>(),
        })
    }

    fn line(&self, f: &mut Formatter<'_>, cell: Cell) -> fmt::Result {
        let shown = |figure: Option<f64>, digits: usize| {
            figure.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
        };
        let median = |figure: fn(&Sample) -> Option<f64>, digits| shown(self.median(cell, figure), digits);
        let (order, work, connections, place) = cell;
        writeln!(
            f,
            "{:<14}{:<28}{:<20}{connections:>6}{:>10}{:>9}{:>9}{:>9}{:>12}{:>14}{:>8}",
            order.name(),
            work.name(),
            place_name(place),
            median(|sample| Some(sample.per_second), 0),
            shown(self.ratio(cell), 2),
            median(|sample| Some(sample.p50_ms), 2),
            median(|sample| Some(sample.p99_ms), 2),
            median(|sample| sample.server_cpu_us, 1),
            median(|sample| sample.postgres_cpu_us, 1),
            median(|sample| sample.wal_bytes, 0),
        )
    }
}

impl Display for GrowthReport {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.environment.line())?;
        let (rows, rounds, seconds) = (self.rows, self.rounds, self.seconds);
        let sustained = seconds * u64::from(SUSTAINED);
        writeln!(
            f,
            "{rows} orders loaded; medians of {rounds} round(s) of {seconds} s each, sustained: {sustained} s once\n"
        )?;
        let head = ["keys", "work", "database", "conns", "per s", "to empty", "p50 ms", "p99 ms", "server CPU"];
        let [keys, work, place, connections, per_s, ratio, p50, p99, server] = head;
        let left = format!("{keys:<14}{work:<28}{place:<20}{connections:>6}");
        writeln!(f, "{left}{per_s:>10}{ratio:>9}{p50:>9}{p99:>9}{server:>12}{:>14}{:>8}", "postgres CPU", "WAL")?;
        self.samples.keys().try_for_each(|&cell| self.line(f, cell))?;
        writeln!(f)?;
        for &(order, removed, left) in &self.removed {
            writeln!(f, "{}: {removed} expired keys were removed during the runs, {left} were left", order.name())?;
        }
        writeln!(f, "\n{}", gates::head())?;
        self.gates().iter().try_for_each(|gate| writeln!(f, "{}", gate.line().trim_end()))?;
        self.failures.iter().try_for_each(|failure| writeln!(f, "failed: {failure}"))?;
        let notes = self.samples.values().flatten().flat_map(|sample| &sample.notes);
        notes.take(crate::table::NOTES).try_for_each(|note| writeln!(f, "error: {note}"))
    }
}

fn place_name(place: Place) -> &'static str {
    match place {
        Place::Empty => "empty",
        Place::Loaded => "loaded",
        Place::Compressed => "loaded, log in lz4",
        Place::Cleaned => "cleaned",
    }
}
