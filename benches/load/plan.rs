//! Which runs there are, in which order, and how long the rest of them takes.

use std::fmt::{self, Display, Formatter};
use std::time::{Duration, Instant};

use crate::options::Options;
use crate::work::{
    CONNECTIONS, CROWD, FEWER_CONNECTIONS, PACED_CONNECTIONS, PAID_WORKS, PeerName, Sample, WORKS, Work,
};

/// The crowd's figure is a maximum that is reached within the first second; it runs once.
const CROWD_DURATION: Duration = Duration::from_secs(5);

/// What starting and ending a run takes, until it is known better.
const FIRST_GUESS: Duration = Duration::from_millis(800);

/// One run.
#[derive(Debug, Clone, Copy)]
pub struct Run {
    /// What.
    pub work: Work,
    /// With how many connections.
    pub connections: usize,
    /// For how long.
    pub duration: Duration,
}

/// All runs that are asked for. Rounds come one after the other, so that whatever drifts on the machine hits all works
/// alike.
pub fn runs(options: &Options, peers: &[PeerName]) -> Vec<Run> {
    let peer_works: Vec<_> = peers.iter().flat_map(|&peer| [Work::PeerNew(peer), Work::PeerReplay(peer)]).collect();
    let mut runs = Vec::new();
    for _ in 0..options.rounds {
        add(&mut runs, options, &CONNECTIONS, &WORKS);
        if options.wants(Work::Paced.word()) {
            // Twice as long as others: a percentile of few requests says little.
            runs.push(Run { work: Work::Paced, connections: PACED_CONNECTIONS, duration: options.duration * 2 });
        }
        add(&mut runs, options, &FEWER_CONNECTIONS, &PAID_WORKS);
        add(&mut runs, options, &FEWER_CONNECTIONS, &peer_works);
    }
    let word = Work::Crowd.word();
    if options.names(word) || (options.wants(word) && !options.quick) {
        runs.push(Run { work: Work::Crowd, connections: CROWD, duration: CROWD_DURATION });
    }
    runs
}

fn add(runs: &mut Vec<Run>, options: &Options, usual: &[usize], works: &[Work]) {
    for &connections in options.connections(usual) {
        for &work in works.iter().filter(|work| options.wants(work.word())) {
            runs.push(Run { work, connections, duration: options.duration });
        }
    }
}

/// How far it is.
pub struct Progress {
    done: usize,
    all: usize,
    /// Of what is left, without starting and ending the runs.
    planned: Duration,
    /// What starting and ending took so far.
    besides: Duration,
    run_started: Instant,
}

impl Progress {
    /// Before the first run; `afterwards` is what comes after the last one.
    pub fn new(runs: &[Run], afterwards: Duration) -> Self {
        let planned: Duration = runs.iter().map(|run| run.duration).sum();
        Self {
            done: 0,
            all: runs.len(),
            planned: planned + afterwards,
            besides: Duration::ZERO,
            run_started: Instant::now(),
        }
    }

    /// To be called when a run begins.
    pub fn begin(&mut self) {
        self.run_started = Instant::now();
    }

    /// To be called when it has ended.
    pub fn end(&mut self, run: &Run) {
        self.done += 1;
        self.planned = self.planned.saturating_sub(run.duration);
        self.besides += self.run_started.elapsed().saturating_sub(run.duration);
    }

    fn left(&self) -> Duration {
        let each = match u32::try_from(self.done) {
            Ok(done) if done > 0 => self.besides / done,
            _ => FIRST_GUESS,
        };
        self.planned + each * u32::try_from(self.all - self.done).unwrap_or(u32::MAX)
    }
}

impl Display for Progress {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let seconds = self.left().as_secs();
        write!(f, "run {} of {}, ", self.done, self.all)?;
        if seconds < 90 {
            write!(f, "about {seconds} s left")
        } else {
            write!(f, "about {} min left", seconds.div_ceil(60))
        }
    }
}

/// What a run gave, in one line.
pub fn describe(run: &Run, sample: &Sample) -> String {
    let Sample { per_second, p50_ms, p99_ms, errors, .. } = sample;
    format!(
        "{:<28}{:>6} connections {per_second:>8.0}/s  p50 {p50_ms:.2} ms  p99 {p99_ms:.2} ms  errors {errors}",
        run.work.name(),
        run.connections
    )
}
