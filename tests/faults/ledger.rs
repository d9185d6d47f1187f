//! What has happened so far: answers, faults, requests that were on their way when their server was killed, violations.

use crate::Failure;
use crate::after_kill::AfterKill;
use crate::answer::{Answer, Call};
use crate::fault::Fault;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// An order was charged more than once.
    DoubleCharge,
    /// A charge that should not be, that is missing, or of another amount.
    WrongCharge,
    /// A refund that should not be, that is missing, or more than one.
    WrongRefund,
    /// A business step was done more than once.
    DoubleStep,
    /// A business step that should not be, or that is missing.
    WrongStep,
    /// What a client was told is not what the database holds.
    LostAcknowledgement,
    /// Not one order for each key, or not one key for each order.
    OrdersPerKey,
    /// Something that should have been settled by now.
    Unfinished,
    /// More reconciliation cases than are tolerated.
    Cases,
    /// Two definite answers to one key differ, or a settled key is unsettled again.
    Replay,
    /// An answer that should not have been given.
    Answer,
    /// No answer, though nobody broke anything.
    LostAnswer,
    /// A process that was asked to end did not end in order.
    Drain,
    /// Nothing was struck by what was to be tried: nothing is known of it.
    NothingStruck,
    /// Answers that took too long after a kill.
    Late,
    /// A process ended by itself.
    Process,
    /// What the history's checker found.
    History,
}

/// One thing that went wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Of which kind.
    pub kind: Kind,
    /// What exactly.
    pub what: String,
}

impl Violation {
    /// One of this kind.
    pub fn new(kind: Kind, what: impl Into<String>) -> Self {
        Self { kind, what: what.into() }
    }
}

/// All of it. Shared by everybody who takes part.
pub struct Ledger {
    started: Instant,
    state: Mutex<State>,
    log: Mutex<File>,
}

/// The figures.
#[derive(Debug, Clone, Default)]
pub struct Figures {
    /// Tries.
    pub requests: u64,
    /// Tries that a client hung up on.
    pub hung_up: u64,
    /// Tries by status and code.
    pub answers: BTreeMap<String, u64>,
    /// Faults by kind.
    pub faults: BTreeMap<String, u64>,
    /// Calls with a definite answer.
    pub settled: u64,
    /// From the kill of a server to the definite answer of what was on its way there.
    pub after_kill: Vec<AfterKill>,
    /// What this kind of run adds to the table.
    pub others: Vec<(&'static str, Value)>,
    /// What went wrong so far.
    pub violations: Vec<Violation>,
}

/// A kill that a try was caught in.
#[derive(Debug, Clone, Copy)]
pub struct Kill {
    at: Instant,
    /// How many faults there had been by then.
    faults: u64,
}

#[derive(Default)]
struct State {
    figures: Figures,
    faults: u64,
    next_flight: u64,
    flights: HashMap<u64, Flight>,
}

/// A try on its way.
struct Flight {
    server: usize,
    kill: Option<Kill>,
}

impl Ledger {
    /// An empty one, with a log in a directory.
    pub fn new(directory: &Path) -> Result<Self, Failure> {
        let log = Mutex::new(File::create(directory.join("faults.log"))?);
        Ok(Self { started: Instant::now(), state: Mutex::default(), log })
    }

    /// A line of the log.
    pub fn log(&self, line: &str) {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        // The run does not hang on its log.
        let _ = writeln!(log, "{:9.3} {line}", self.started.elapsed().as_secs_f64());
    }

    /// A fault is about to happen.
    pub fn injected(&self, fault: &Fault) {
        self.log(&format!("fault {fault:?}"));
        let mut state = self.state();
        state.faults += 1;
        *state.figures.faults.entry(fault.kind()).or_default() += 1;
    }

    /// A server is about to be killed.
    pub fn kills(&self, server: usize) {
        let mut state = self.state();
        let kill = Kill { at: Instant::now(), faults: state.faults };
        for flight in state.flights.values_mut().filter(|flight| flight.server == server) {
            flight.kill.get_or_insert(kill);
        }
    }

    /// How many tries are on their way to a server.
    pub fn on_their_way(&self, server: usize) -> usize {
        self.state().flights.values().filter(|flight| flight.server == server).count()
    }

    /// Adds a line to the table.
    pub fn add_to_table(&self, name: &'static str, value: Value) {
        self.state().figures.others.push((name, value));
    }

    /// A try sets out; gives its number.
    pub fn sets_out(&self, server: usize) -> u64 {
        let mut state = self.state();
        state.figures.requests += 1;
        state.next_flight += 1;
        let number = state.next_flight;
        state.flights.insert(number, Flight { server, kill: None });
        number
    }

    /// A try has ended. When it was lost with its server, gives the kill.
    pub fn arrives(&self, number: u64, answer: Option<&Answer>) -> Option<Kill> {
        let mut state = self.state();
        let label = answer.map_or_else(|| "no answer".to_owned(), Answer::label);
        *state.figures.answers.entry(label).or_default() += 1;
        let flight = state.flights.remove(&number)?;
        flight.kill.filter(|_| answer.is_none())
    }

    /// A try found nobody who listens.
    pub fn refused(&self, number: u64) {
        let mut state = self.state();
        *state.figures.answers.entry("connection refused".to_owned()).or_default() += 1;
        state.flights.remove(&number);
    }

    /// A client has hung up.
    pub fn hung_up(&self) {
        let mut state = self.state();
        state.figures.requests += 1;
        state.figures.hung_up += 1;
    }

    /// A call has its definite answer; with the first kill that it was caught in.
    pub fn settled(&self, call: &Call, kill: Option<Kill>) {
        let mut state = self.state();
        state.figures.settled += 1;
        let Some(kill) = kill else { return };
        let after = AfterKill { time: kill.at.elapsed(), alone: kill.faults == state.faults };
        state.figures.after_kill.push(after);
        drop(state);
        let (seconds, body) = (after.time.as_secs_f64(), String::from_utf8_lossy(&call.body));
        self.log(&format!("{seconds:.2} s after a kill, alone: {}, {} of {}: {body}", after.alone, call.key, call.org));
    }

    /// Something went wrong.
    pub fn violated(&self, violation: Violation) {
        self.log(&format!("VIOLATION {:?}: {}", violation.kind, violation.what));
        self.state().figures.violations.push(violation);
    }

    /// The figures so far.
    pub fn figures(&self) -> Figures {
        self.state().figures.clone()
    }

    /// Since the beginning.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
