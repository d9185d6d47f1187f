//! Writes a history. Shared by all clients of a run.

use crate::history::line::{Event, Invoke, Line};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// A history that is being written.
pub struct Writer {
    started: Instant,
    state: Mutex<State>,
}

struct State {
    file: BufWriter<File>,
    next_call: u64,
    /// The first thing that went wrong: a history with a hole proves nothing.
    broken: Option<io::Error>,
}

impl Writer {
    /// An empty history.
    ///
    /// # Errors
    ///
    /// When there can be no such file.
    pub fn create(path: &Path) -> io::Result<Self> {
        let file = BufWriter::new(File::create(path)?);
        Ok(Self { started: Instant::now(), state: Mutex::new(State { file, next_call: 1, broken: None }) })
    }

    /// To be called before anything is sent; gives the call's number.
    pub fn invoke(&self, invoke: Invoke) -> u64 {
        let mut state = self.state();
        let call = state.next_call;
        state.next_call += 1;
        self.write(&mut state, call, Event::Invoke(invoke));
        call
    }

    /// To be called once it is known what a call came to.
    pub fn end(&self, call: u64, event: Event) {
        self.write(&mut self.state(), call, event);
    }

    /// Puts everything into the file.
    ///
    /// # Errors
    ///
    /// When a line is missing.
    pub fn finish(&self) -> io::Result<()> {
        let mut state = self.state();
        match state.broken.take() {
            Some(error) => Err(error),
            None => state.file.flush(),
        }
    }

    /// The lock is held from the reading of the time to the end of the line, so that lines stand in order.
    fn write(&self, state: &mut State, call: u64, event: Event) {
        let at_ms = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let line = Line { call, at_ms, event };
        let written = serde_json::to_string(&line).map_err(io::Error::from);
        let written = written.and_then(|line| writeln!(state.file, "{line}"));
        if let Err(error) = written {
            state.broken.get_or_insert(error);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
