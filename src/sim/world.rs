//! The state of the world, behind one lock, and the one way to change it.
//!
//! A change is a value: it is applied to the state and queued for the journal under the same lock, and at start the
//! journal's changes are applied again. So what is read back is what was there.

use crate::sim::effects::{Effect, Effects};
use crate::sim::journal::{Journal, JournalLost};
use crate::sim::keys::Stored;
use crate::sim::partners::Record;
use crate::sim::stripe::charge::Charge;
use crate::sim::stripe::intent::Intent;
use crate::sim::stripe::refund::Refund;
use crate::sim::table::Table;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::io;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Everything that is known.
#[derive(Default)]
pub struct State {
    /// Stripe's payment intents.
    pub intents: Table<Intent>,
    /// Stripe's charges, failed ones too.
    pub charges: Table<Charge>,
    /// Stripe's refunds.
    pub refunds: Table<Refund>,
    /// What partners did, by [`Record::name`].
    pub records: HashMap<String, Record>,
    /// Idempotency records by the key's name.
    pub answers: HashMap<String, Stored>,
    /// Calls that a fault has struck already: it strikes the first call only.
    pub struck: HashSet<String>,
    /// What really happened.
    pub effects: Effects,
}

/// One step of the world: a line of the journal, whole or not at all.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Change {
    /// It happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<Effect>,
    /// A new or changed payment intent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent: Option<Intent>,
    /// A new or changed charge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub charge: Option<Charge>,
    /// A new refund.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refund: Option<Refund>,
    /// What a partner knows of an operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<Record>,
    /// An idempotency record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Stored>,
    /// A fault has struck this call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub struck: Option<String>,
}

impl Change {
    fn is_nothing(&self) -> bool {
        let Self { effect, intent, charge, refund, record, answer, struck } = self;
        let objects = intent.is_none() && charge.is_none() && refund.is_none() && record.is_none();
        objects && effect.is_none() && answer.is_none() && struck.is_none()
    }
}

impl State {
    fn apply(&mut self, change: Change) {
        let Change { effect, intent, charge, refund, record, answer, struck } = change;
        if let Some(intent) = intent {
            self.intents.put(&intent.id.clone(), intent);
        }
        if let Some(charge) = charge {
            self.charges.put(&charge.id.clone(), charge);
        }
        if let Some(refund) = refund {
            self.refunds.put(&refund.id.clone(), refund);
        }
        if let Some(record) = record {
            self.records.insert(record.name(), record);
        }
        if let Some(answer) = answer {
            self.answers.insert(answer.name.clone(), answer);
        }
        if let Some(struck) = struck {
            self.struck.insert(struck);
        }
        if let Some(effect) = effect {
            self.effects.happened(effect);
        }
    }
}

/// The state, and the calls at work, which no journal keeps: they end with the process.
#[derive(Default)]
struct Held {
    state: State,
    running: HashSet<String>,
}

/// The world.
pub struct World {
    held: Mutex<Held>,
    journal: Journal,
}

impl World {
    /// An empty world, or the one that a journal tells of.
    ///
    /// # Errors
    ///
    /// When the journal cannot be read, holds what no world wrote, or belongs to a world that runs.
    pub fn open(journal: Option<&Path>) -> io::Result<Self> {
        let Some(path) = journal else {
            return Ok(Self { held: Mutex::default(), journal: Journal::default() });
        };
        let (journal, lines) = Journal::open(path)?;
        let mut held = Held::default();
        for (number, line) in lines.iter().enumerate() {
            let change = serde_json::from_str(line).map_err(|error| damaged(number + 1, &error))?;
            held.state.apply(change);
        }
        Ok(Self { held: Mutex::new(held), journal })
    }

    /// A panic of another call cannot leave half a change: deciding comes before applying.
    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks. What was seen may be told after [`World::synced`].
    pub fn read<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        look(&self.lock().state)
    }

    /// Looks at the state together with the keys of the calls at work, which may be changed.
    pub fn with_running<T>(&self, look: impl FnOnce(&State, &mut HashSet<String>) -> T) -> T {
        let held = &mut *self.lock();
        look(&held.state, &mut held.running)
    }

    /// Decides on the state as it is and makes the change, with nothing in between. It may be told after
    /// [`World::synced`].
    pub fn change<T>(&self, decide: impl FnOnce(&State) -> (Change, T)) -> T {
        let held = &mut *self.lock();
        let (change, result) = decide(&held.state);
        if !change.is_nothing() {
            if self.journal.is_kept() {
                self.journal.append(serde_json::to_string(&change).unwrap_or_default());
            }
            held.state.apply(change);
        }
        result
    }

    /// Returns once everything that happened until now is on disk.
    ///
    /// # Errors
    ///
    /// [`JournalLost`].
    pub async fn synced(&self) -> Result<(), JournalLost> {
        self.journal.synced().await
    }
}

fn damaged(line: usize, error: &serde_json::Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("line {line} of the journal is damaged: {error}"))
}
