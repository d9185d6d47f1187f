//! Reads a history: from lines to calls.

use crate::history::line::{Event, Invoke, Line, Said};
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;

/// An organisation's id and a name in it: a key, or an order's id.
pub type Name = (i64, String);

/// A history that is over.
#[derive(Debug, Clone, Default)]
pub struct History {
    /// In the order in which they were sent.
    pub calls: Vec<Call>,
}

/// One call, with what came of it.
#[derive(Debug, Clone)]
pub struct Call {
    /// What was sent.
    pub invoke: Invoke,
    /// The line at which it was about to be sent.
    pub from: usize,
    /// What the client was told, and at which line; `None` while nobody knows.
    pub end: Option<(usize, End)>,
}

/// How a call ended.
#[derive(Debug, Clone)]
pub enum End {
    /// As [`Event::Ok`].
    Ok(Said),
    /// As [`Event::Fail`].
    Fail(Said),
    /// As [`Event::NoAnswer`].
    NoAnswer(Said),
}

impl Call {
    /// What it was told when the key was acknowledged.
    pub fn acknowledged(&self) -> Option<&Said> {
        match &self.end {
            Some((_, End::Ok(said))) => Some(said),
            _ => None,
        }
    }

    /// Whatever it was told.
    pub fn said(&self) -> Option<&Said> {
        self.end.as_ref().map(|(_, End::Ok(said) | End::Fail(said) | End::NoAnswer(said))| said)
    }

    /// How a violation names it.
    pub fn name(&self) -> String {
        format!("{} of organisation {}", self.invoke.key, self.invoke.org)
    }
}

impl History {
    /// From a file.
    ///
    /// # Errors
    ///
    /// In words, with the line.
    pub fn read(path: &Path) -> Result<Self, String> {
        Self::parse(&fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?)
    }

    /// From JSON lines. A last line without its end was being written when the writer died, and is left out.
    ///
    /// # Errors
    ///
    /// In words, with the line.
    pub fn parse(text: &str) -> Result<Self, String> {
        let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
        let mut history = Self::default();
        let mut open = HashMap::new();
        for (at, text) in whole.lines().enumerate() {
            let line: Line = serde_json::from_str(text).map_err(|error| format!("line {}: {error}", at + 1))?;
            history.add(at, line, &mut open)?;
        }
        Ok(history)
    }

    /// `open` has the place of every call without an end.
    fn add(&mut self, at: usize, line: Line, open: &mut HashMap<u64, usize>) -> Result<(), String> {
        let end = match line.event {
            Event::Invoke(invoke) => {
                if open.insert(line.call, self.calls.len()).is_some() {
                    return Err(format!("line {}: call {} begins twice", at + 1, line.call));
                }
                self.calls.push(Call { invoke, from: at, end: None });
                return Ok(());
            }
            Event::Ok(said) => End::Ok(said),
            Event::Fail(said) => End::Fail(said),
            Event::NoAnswer(said) => End::NoAnswer(said),
        };
        let call = open.remove(&line.call).and_then(|place| self.calls.get_mut(place));
        let call = call.ok_or_else(|| format!("line {}: call {} ends without a beginning", at + 1, line.call))?;
        call.end = Some((at, end));
        Ok(())
    }

    /// Calls by organisation and key.
    pub fn by_key(&self) -> BTreeMap<Name, Vec<&Call>> {
        let mut keys: BTreeMap<Name, Vec<&Call>> = BTreeMap::new();
        for call in &self.calls {
            keys.entry((call.invoke.org, call.invoke.key.clone())).or_default().push(call);
        }
        keys
    }
}
