//! The report as text for people, at most 140 columns wide.

use std::fmt::{self, Display, Formatter};

use crate::gates::{self, gates};
use crate::paced::REACHED;
use crate::report::Report;
use crate::steps::Steps;
use crate::work::{Memory, PACE, PACED_CONNECTIONS, Sample, Work};

/// Errors that are described.
pub const NOTES: usize = 5;

/// More of the machine than that, in the middle of the runs, and the figures are of something else.
const DISTURBED: f64 = 0.1;

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.environment.line())?;
        writeln!(f, "medians of {} round(s) of {} s each", self.rounds, self.duration.as_secs())?;
        writeln!(f, "CPU: microseconds a request; server MiB: resident; pgbench is counted after a warm-up")?;
        writeln!(f, "WAL: bytes for each order made, or each transaction or request that makes none\n")?;
        let head = ["conns", "per s", "p50 ms", "p99 ms", "errors", "server CPU", "postgres CPU", "server MiB", "WAL"];
        row(f, "work", head.map(str::to_owned))?;
        for (work, connections) in self.cells() {
            self.line(f, work, connections)?;
        }
        writeln!(f)?;
        for (pair, connections, ratio) in self.ratios() {
            writeln!(f, "{} / {}, {connections} connections: {ratio:.2}", pair.0.name(), pair.1.name())?;
        }
        self.remarks(f)?;
        writeln!(f, "\n{}", gates::head())?;
        gates(self).iter().try_for_each(|gate| writeln!(f, "{}", gate.line().trim_end()))?;
        self.notes().take(NOTES).try_for_each(|note| writeln!(f, "error in {note}"))
    }
}

/// One line of the table of works.
fn row(f: &mut Formatter<'_>, name: &str, cells: [String; 9]) -> fmt::Result {
    let [connections, per_s, p50, p99, errors, server, postgres, memory, wal] = cells;
    let times = format!("{connections:>6}{per_s:>10}{p50:>9}{p99:>9}{errors:>8}");
    writeln!(f, "{name:<28}{times}{server:>12}{postgres:>14}{memory:>12}{wal:>8}")
}

impl Report {
    fn line(&self, f: &mut Formatter<'_>, work: Work, connections: usize) -> fmt::Result {
        let shown = |figure: fn(&Sample) -> Option<f64>, digits: usize| {
            self.median(work, connections, figure).map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
        };
        let cells = [
            connections.to_string(),
            shown(|sample| Some(sample.per_second), 0),
            shown(|sample| Some(sample.p50_ms), 2),
            shown(|sample| Some(sample.p99_ms), 2),
            self.of(work, connections).map(|sample| sample.errors).sum::<u64>().to_string(),
            shown(|sample| sample.server_cpu_us, 1),
            shown(|sample| sample.postgres_cpu_us, 1),
            shown(|sample| sample.memory.map(|memory| memory.resident), 1),
            shown(|sample| sample.wal_bytes, 0),
        ];
        row(f, &work.name(), cells)
    }

    /// What has no column.
    fn remarks(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for connections in self.connections(Work::New) {
            if let Some(relation) = self.cpu_in_relation(connections) {
                writeln!(
                    f,
                    "server CPU for a new order / PostgreSQL's for the single statement in pgbench, {connections} \
                     connections: {relation:.2}"
                )?;
            }
        }
        self.pace(f)?;
        for work in [Work::Storm, Work::Crowd] {
            for connections in self.connections(work) {
                writeln!(
                    f,
                    "{}, {connections} connections, answers: {}",
                    work.name(),
                    self.answers(work, connections)
                )?;
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
            let verdict = if median > DISTURBED { ": DISTURBED, so repeat it on a quiet machine" } else { "" };
            let (median, most) = (median * 100.0, most * 100.0);
            writeln!(
                f,
                "CPU that other programs took meanwhile: {median:.0} % (median), {most:.0} % (most in a run){verdict}"
            )?;
        }
        if let Some((keys, orders)) = self.rows {
            writeln!(f, "in the database at the end: {keys} keys, {orders} orders")?;
        }
        Ok(())
    }

    /// Whether the pace was reached, and what the load generator itself added.
    fn pace(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let late = |figure: fn(&Sample) -> Option<f64>| self.median(Work::Paced, PACED_CONNECTIONS, figure);
        let Some(per_second) = self.per_second(Work::Paced, PACED_CONNECTIONS) else { return Ok(()) };
        let reached = if per_second >= f64::from(PACE) * REACHED { "reached" } else { "NOT reached" };
        let p50 = late(|sample| sample.sent_late_ms.map(|late| late.0)).unwrap_or_default();
        let p99 = late(|sample| sample.sent_late_ms.map(|late| late.1)).unwrap_or_default();
        writeln!(
            f,
            "pace of {PACE} a second: {reached} ({per_second:.0}); sent after the due moment by {p50:.2} ms (p50), {p99:.2} \
             ms (p99), which is part of the latency"
        )
    }

    /// How many answers of all rounds had which status.
    fn answers(&self, work: Work, connections: usize) -> String {
        let mut all = std::collections::BTreeMap::<u16, u64>::new();
        for (status, count) in self.of(work, connections).flat_map(|sample| &sample.answers) {
            *all.entry(*status).or_default() += count;
        }
        let each: Vec<_> = all.iter().map(|(status, count)| format!("{count} with {status}")).collect();
        each.join(", ")
    }
}
