//! The figures of all runs, and what is derived from them: medians of the rounds, ratios, maxima. How they are shown is
//! the business of `table`, `json`, `chart` and `gates`.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::options::Options;
use crate::stand::Environment;
use crate::statistics::median;
use crate::steps::Steps;
use crate::work::{Memory, Sample, Work};

/// What is compared with what.
pub const RATIOS: [(Work, Work); 4] = [
    (Work::New, Work::PgbenchSingle),
    (Work::New, Work::PgbenchClassic),
    (Work::Replay, Work::PgbenchRead),
    (Work::Paid, Work::PgbenchPaid),
];

/// All samples, in the order in which they were taken.
pub struct Report {
    /// What the figures depend on.
    pub environment: Environment,
    /// Of most runs.
    pub duration: Duration,
    /// How often each run was repeated.
    pub rounds: usize,
    /// What the runs of one worker gave.
    pub steps: Vec<Steps>,
    /// How many keys and orders there were at the end.
    pub rows: Option<(i64, i64)>,
    samples: Vec<(Work, usize, Sample)>,
}

impl Report {
    /// An empty one.
    pub fn new(environment: Environment, options: &Options) -> Self {
        let &Options { duration, rounds, .. } = options;
        Self { environment, duration, rounds, samples: Vec::new(), rows: None, steps: Vec::new() }
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

    /// What was measured, in the order of the table.
    pub fn cells(&self) -> BTreeSet<(Work, usize)> {
        self.samples.iter().map(|&(work, connections, _)| (work, connections)).collect()
    }

    /// With how many connections a work was measured.
    pub fn connections(&self, work: Work) -> Vec<usize> {
        self.cells().into_iter().filter(|cell| cell.0 == work).map(|cell| cell.1).collect()
    }

    /// The samples of all rounds.
    pub fn of(&self, work: Work, connections: usize) -> impl Iterator<Item = &Sample> {
        self.samples.iter().filter(move |sample| sample.0 == work && sample.1 == connections).map(|(.., sample)| sample)
    }

    /// The median of the rounds; `None` when it was not measured.
    pub fn median(&self, work: Work, connections: usize, figure: fn(&Sample) -> Option<f64>) -> Option<f64> {
        median(self.of(work, connections).filter_map(figure))
    }

    /// How much one work does in a second; the median of the rounds.
    pub fn per_second(&self, work: Work, connections: usize) -> Option<f64> {
        self.median(work, connections, |sample| Some(sample.per_second))
    }

    /// How many times as much as the other one work does.
    pub fn ratio(&self, (above, below): (Work, Work), connections: usize) -> Option<f64> {
        Some(self.per_second(above, connections)? / self.per_second(below, connections)?)
    }

    /// What was compared, with how many connections, and the ratio.
    pub fn ratios(&self) -> Vec<((Work, Work), usize, f64)> {
        let works: BTreeSet<_> = self.cells().into_iter().map(|cell| cell.0).collect();
        let others = works.into_iter().filter_map(|work| match work {
            Work::PeerNew(_) => Some((Work::New, work)),
            Work::PeerReplay(_) => Some((Work::Replay, work)),
            _ => None,
        });
        let pairs = RATIOS
            .into_iter()
            .chain(others)
            .flat_map(|pair| self.connections(pair.0).into_iter().map(move |connections| (pair, connections)));
        pairs.filter_map(|(pair, connections)| Some((pair, connections, self.ratio(pair, connections)?))).collect()
    }

    /// The service's CPU time for each order in parts of what PostgreSQL needs for its single statement in pgbench: says
    /// more than microseconds, which depend on the machine.
    pub fn cpu_in_relation(&self, connections: usize) -> Option<f64> {
        let server = self.median(Work::New, connections, |sample| sample.server_cpu_us)?;
        Some(server / self.median(Work::PgbenchSingle, connections, |sample| sample.postgres_cpu_us)?)
    }

    /// The most memory that the service had in any of its own works with so many connections.
    pub fn memory(&self, connections: usize) -> Option<Memory> {
        let ours = self.samples.iter().filter(|sample| sample.1 == connections && !sample.0.is_peer());
        ours.filter_map(|(.., sample)| sample.memory).reduce(Memory::greatest)
    }

    /// The most memory that the service had in a work, with as many connections as it was measured with.
    pub fn memory_of(&self, work: Work) -> Option<(usize, Memory)> {
        let connections = self.connections(work).into_iter().max()?;
        let all = self.of(work, connections).filter_map(|sample| sample.memory);
        Some((connections, all.reduce(Memory::greatest)?))
    }

    /// The part of the machine that other programs took: the median of the runs, and the most in any.
    pub fn others(&self) -> Option<(f64, f64)> {
        let all = || self.samples.iter().filter_map(|(.., sample)| sample.others);
        Some((median(all())?, all().reduce(f64::max)?))
    }

    /// What went wrong, as far as it is described.
    pub fn notes(&self) -> impl Iterator<Item = String> {
        self.samples.iter().flat_map(|(work, connections, sample)| {
            sample.notes.iter().map(move |note| format!("{}, {connections} connections: {note}", work.name()))
        })
    }
}
