//! Claims that are made alone, because their batch failed: few at a time, and one at a time for each key.
//!
//! A claim that waits for somebody's lock may wait for seconds. However many retries of it come, they hold one connection
//! between them, and all such claims together leave half of the pool to everybody else.

use crate::db::deadline::Deadline;
use crate::db::error::DbError;
use crate::domain::ids::OrgId;
use crate::domain::key::IdempotencyKey;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{Mutex as Turns, OwnedMutexGuard, OwnedSemaphorePermit, Semaphore};

type Key = (OrgId, IdempotencyKey);

/// Who may claim alone now.
#[derive(Clone)]
pub struct Alone {
    keys: Arc<Mutex<HashMap<Key, Arc<Turns<()>>>>>,
    room: Arc<Semaphore>,
}

/// One claim's turn. The next one for its key comes when this is dropped.
pub struct Turn {
    keys: Arc<Mutex<HashMap<Key, Arc<Turns<()>>>>>,
    key: Key,
    turns: Arc<Turns<()>>,
    taken: Option<(OwnedMutexGuard<()>, OwnedSemaphorePermit)>,
}

impl Alone {
    /// With room for half of a pool's connections.
    #[must_use]
    pub fn beside(pool_size: usize) -> Self {
        Self { keys: Arc::default(), room: Arc::new(Semaphore::new((pool_size / 2).max(1))) }
    }

    /// Whether a claim of this key is being made alone: the next one would only fail its batch, too.
    #[must_use]
    pub fn is_busy(&self, org_id: OrgId, key: &IdempotencyKey) -> bool {
        let keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        !keys.is_empty() && keys.contains_key(&(org_id, key.clone()))
    }

    /// Waits for a turn, without a connection.
    ///
    /// # Errors
    ///
    /// [`DbError::Unavailable`] when none comes in time.
    pub async fn turn(&self, org_id: OrgId, key: &IdempotencyKey, deadline: Deadline) -> Result<Turn, DbError> {
        let key = (org_id, key.clone());
        let turns = {
            let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(keys.entry(key.clone()).or_default())
        };
        // From here on the entry is removed when the last of its turns is over or given up.
        let mut turn = Turn { keys: Arc::clone(&self.keys), key, turns: Arc::clone(&turns), taken: None };
        let wait = async {
            let guard = turns.lock_owned().await;
            Ok::<_, tokio::sync::AcquireError>((guard, Arc::clone(&self.room).acquire_owned().await?))
        };
        match tokio::time::timeout_at(deadline.instant(), wait).await {
            Ok(Ok(taken)) => {
                turn.taken = Some(taken);
                Ok(turn)
            }
            _ => Err(DbError::Unavailable { reason: "another claim of the key did not end in time".to_owned() }),
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        self.taken = None;
        // The map's and this one: nobody else waits.
        if Arc::strong_count(&self.turns) <= 2 {
            keys.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn soon() -> Deadline {
        Deadline::after(Duration::from_millis(50))
    }

    #[tokio::test]
    async fn one_at_a_time_for_each_key_and_half_of_the_pool_for_all() {
        let alone = Alone::beside(4);
        let [k, l, m] = ["k", "l", "m"].map(|key| IdempotencyKey::parse(key.as_bytes()).unwrap());
        let org = OrgId(1);
        let first = alone.turn(org, &k, soon()).await.unwrap();
        assert!(alone.is_busy(org, &k) && !alone.is_busy(OrgId(2), &k) && !alone.is_busy(org, &l));
        assert!(alone.turn(org, &k, soon()).await.is_err());
        let second = alone.turn(org, &l, soon()).await.unwrap();
        assert!(alone.turn(org, &m, soon()).await.is_err(), "two of four connections are taken");
        drop(first);
        assert!(!alone.is_busy(org, &k) && !alone.is_busy(org, &m));
        drop(alone.turn(org, &m, soon()).await.unwrap());
        drop(second);
        assert!(alone.keys.lock().unwrap().is_empty());
    }
}
