//! What happened to the requests of a run.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::client::Answer;
use crate::statistics::percentile;
use crate::work::{Sample, Verdict, Work};

/// How many errors are described.
const NOTES: usize = 3;

/// How much of an unexpected answer is shown.
const NOTE_LENGTH: usize = 300;

/// What happened on one connection, or on all of them.
#[derive(Debug, Default)]
pub struct Tally {
    /// Microseconds of each request that was answered as it should be.
    pub latencies: Vec<u32>,
    /// How many answers had which status.
    pub answers: BTreeMap<u16, u64>,
    /// Requests that were not answered as they should be.
    pub errors: u64,
    /// The first few of these.
    pub notes: Vec<String>,
    /// Microseconds from the moment for which a request was planned until it was sent; empty without a pace.
    pub sent_late: Vec<u32>,
}

impl Tally {
    /// Counts an answer.
    pub fn answer(&mut self, work: Work, expected: u16, answer: &Answer<'_>, latency: Duration) {
        *self.answers.entry(answer.status).or_default() += 1;
        match work.judge(answer.status, expected) {
            Verdict::Done => self.latencies.push(micros(latency)),
            Verdict::Shed if answer.has_field("retry-after") => {}
            Verdict::Shed | Verdict::Wrong => self.error(unexpected(answer)),
        }
    }

    /// Counts a request that failed.
    pub fn error(&mut self, note: String) {
        self.errors += 1;
        if self.notes.len() < NOTES {
            self.notes.push(note);
        }
    }

    /// Adds what happened elsewhere.
    pub fn merge(&mut self, other: Tally) {
        self.latencies.extend(other.latencies);
        self.sent_late.extend(other.sent_late);
        other.answers.into_iter().for_each(|(status, count)| *self.answers.entry(status).or_default() += count);
        self.errors += other.errors;
        self.notes.extend(other.notes);
        self.notes.truncate(NOTES);
    }

    /// How many requests were answered or failed.
    pub fn requests(&self) -> f64 {
        // Wrong answers are among both.
        count(self.answers.values().sum::<u64>().max(self.latencies.len() as u64 + self.errors))
    }

    /// How many orders were made: each was answered with 201.
    pub fn orders(&self) -> f64 {
        count(self.answers.get(&201).copied().unwrap_or_default())
    }

    /// The figures of a run that took so long.
    pub fn sample(mut self, elapsed: Duration) -> Sample {
        let answered = u32::try_from(self.latencies.len()).unwrap_or(u32::MAX);
        let p50_ms = millis(percentile(&mut self.latencies, 500));
        let late = !self.sent_late.is_empty();
        let sent_late_ms = late.then(|| {
            let late = &mut self.sent_late;
            (millis(percentile(late, 500)), millis(percentile(late, 990)))
        });
        Sample {
            per_second: f64::from(answered) / elapsed.as_secs_f64(),
            p50_ms,
            p99_ms: millis(percentile(&mut self.latencies, 990)),
            errors: self.errors,
            notes: self.notes,
            answers: self.answers,
            sent_late_ms,
            ..Sample::default()
        }
    }
}

/// An answer that was not asked for, as text.
pub fn unexpected(answer: &Answer<'_>) -> String {
    let shown = &answer.body[..answer.body.len().min(NOTE_LENGTH)];
    format!("unexpected status {}: {}", answer.status, String::from_utf8_lossy(shown))
}

/// Whole microseconds.
pub fn micros(duration: Duration) -> u32 {
    u32::try_from(duration.as_micros()).unwrap_or(u32::MAX)
}

fn count(number: u64) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}

fn millis(micros: u32) -> f64 {
    f64::from(micros) / 1000.0
}
