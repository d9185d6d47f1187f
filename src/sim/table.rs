//! Rows in the order in which they came, found by id.

use std::collections::HashMap;

/// Rows that are added and replaced, never removed.
pub struct Table<T> {
    rows: Vec<T>,
    places: HashMap<String, usize>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { rows: Vec::new(), places: HashMap::new() }
    }
}

impl<T> Table<T> {
    /// The row with this id.
    pub fn get(&self, id: &str) -> Option<&T> {
        self.rows.get(*self.places.get(id)?)
    }

    /// The row with this id, to change.
    pub fn get_mut(&mut self, id: &str) -> Option<&mut T> {
        self.rows.get_mut(*self.places.get(id)?)
    }

    /// Adds a row, or replaces the one with this id in its place.
    pub fn put(&mut self, id: &str, row: T) {
        if let Some(old) = self.get_mut(id) {
            *old = row;
            return;
        }
        self.places.insert(id.to_owned(), self.rows.len());
        self.rows.push(row);
    }

    /// All rows, the oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.rows.iter()
    }
}
