//! What one run came to, as the line of JSON that `make verify` makes its table of.

use serde::Serialize;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

/// The figures of a run, or of a part of it.
#[derive(Debug, Serialize)]
pub struct Tally {
    /// Which run it was.
    pub run: &'static str,
    /// How many faults were injected.
    pub faults: usize,
    /// How many requests, cases or states were looked at.
    pub operations: usize,
    /// What should not have been.
    pub violations: usize,
    /// What replays the run's choices.
    pub seed: Option<u64>,
    /// How long it took.
    pub seconds: u64,
}

impl Tally {
    /// One that has not counted anything yet.
    pub fn of(run: &'static str, seed: Option<u64>, took: Duration) -> Self {
        Self { run, faults: 0, operations: 0, violations: 0, seed, seconds: took.as_secs() }
    }

    /// Adds it to a file: the parts of a run are a line each.
    pub fn append(&self, file: &Path) -> io::Result<()> {
        let line = serde_json::to_string(self)?;
        writeln!(OpenOptions::new().create(true).append(true).open(file)?, "{line}")
    }
}
