//! The simulated world's journal, as far as the checker compares it. It is read as JSON and not with the world's own
//! types: what the world wrote is to be judged, not what its types make of it.

use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Everything that really happened.
#[derive(Debug, Clone, Default)]
pub struct Journal {
    /// Charges that took money: id and what it was for.
    pub charges: BTreeMap<String, Charge>,
    /// How often each thing was done, by kind and key.
    pub effects: BTreeMap<(String, String), u64>,
    /// Ids of charges that took none.
    pub failed: BTreeSet<String>,
}

/// Money that was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Charge {
    /// From the metadata that the service sent along.
    pub order_id: String,
    /// The same; empty when there is none.
    pub attempt: String,
    /// In the currency's minor unit.
    pub amount: i64,
}

#[derive(Deserialize)]
struct JournalLine {
    effect: Option<EffectLine>,
    charge: Option<ChargeLine>,
}

#[derive(Deserialize)]
struct EffectLine {
    kind: String,
    key: String,
}

#[derive(Deserialize)]
struct ChargeLine {
    id: String,
    amount: i64,
    failure: Option<serde_json::Value>,
    #[serde(default)]
    metadata: BTreeMap<String, String>,
}

impl Journal {
    /// From the files of all worlds that took part.
    ///
    /// # Errors
    ///
    /// In words, with the line.
    pub fn read(paths: &[&Path]) -> Result<Self, String> {
        let mut journal = Self::default();
        for path in paths {
            let text = fs::read_to_string(path).map_err(|error| error.to_string());
            text.and_then(|text| journal.add_lines(&text)).map_err(|error| format!("{}: {error}", path.display()))?;
        }
        Ok(journal)
    }

    /// From JSON lines. Of a last line without its end nobody was told.
    ///
    /// # Errors
    ///
    /// In words, with the line.
    #[allow(dead_code, reason = "tests have a text and no file")]
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut journal = Self::default();
        journal.add_lines(text)?;
        Ok(journal)
    }

    fn add_lines(&mut self, text: &str) -> Result<(), String> {
        let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
        for (at, text) in whole.lines().enumerate() {
            let line = serde_json::from_str(text).map_err(|error| format!("line {}: {error}", at + 1))?;
            self.add(line);
        }
        Ok(())
    }

    /// A charge is written again when a part of it is given back: it is still one.
    fn add(&mut self, line: JournalLine) {
        if let Some(effect) = line.effect {
            *self.effects.entry((effect.kind, effect.key)).or_default() += 1;
        }
        let Some(ChargeLine { id, amount, failure, metadata }) = line.charge else { return };
        if failure.is_some() {
            self.failed.insert(id);
            return;
        }
        let text = |member: &str| metadata.get(member).cloned().unwrap_or_default();
        let charge = Charge { order_id: text("ichido_order_id"), attempt: text("ichido_attempt"), amount };
        self.charges.insert(id, charge);
    }
}
