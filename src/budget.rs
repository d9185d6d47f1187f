//! Memory that many share: whoever takes some of it gives it back when dropped, and what is not there is refused.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// So many bytes, for all who share it.
#[derive(Debug)]
pub struct Budget {
    most: usize,
    taken: AtomicUsize,
}

/// What one of them holds.
#[derive(Debug)]
pub struct Share {
    bytes: usize,
    budget: Arc<Budget>,
}

impl Budget {
    /// Of so many bytes.
    #[must_use]
    pub fn of(most: usize) -> Arc<Self> {
        Arc::new(Self { most, taken: AtomicUsize::new(0) })
    }

    /// So many bytes of it; `None` when there are not as many left.
    #[must_use]
    pub fn take(self: &Arc<Self>, bytes: usize) -> Option<Share> {
        let mut share = Share { bytes: 0, budget: Arc::clone(self) };
        share.grow(bytes).then_some(share)
    }
}

impl Share {
    /// How many bytes it is.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes more; `false`, and nothing has changed, when there is not as much left.
    #[must_use]
    pub fn grow(&mut self, bytes: usize) -> bool {
        let before = self.budget.taken.fetch_add(bytes, Ordering::Relaxed);
        if before + bytes > self.budget.most {
            self.budget.taken.fetch_sub(bytes, Ordering::Relaxed);
            return false;
        }
        self.bytes += bytes;
        true
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.budget.taken.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// A request's body, which counts for as long as anybody holds it.
#[derive(Debug)]
pub struct Body {
    bytes: Vec<u8>,
    _share: Share,
}

impl Body {
    /// Bytes for which `share` was taken.
    #[must_use]
    pub fn new(bytes: Vec<u8>, share: Share) -> Self {
        Self { bytes, _share: share }
    }
}

impl Deref for Body {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_taken_than_there_is_and_all_comes_back() {
        let budget = Budget::of(10);
        let mut first = budget.take(6).unwrap();
        assert!(budget.take(5).is_none());
        let second = budget.take(3).unwrap();
        assert!(!first.grow(2) && first.grow(1));
        assert_eq!((first.bytes(), second.bytes()), (7, 3));
        assert!(budget.take(1).is_none());
        drop((first, second));
        assert_eq!(budget.take(10).unwrap().bytes(), 10);
    }
}
