//! Does at once what several ask for at the same moment.
//!
//! There is no artificial wait: whoever comes first does it for all who are there by then, while the next ones gather.

use std::sync::{Mutex, PoisonError};
use tokio::sync::oneshot;

/// Questions that wait for whoever is at work to finish, and then are asked at once.
pub(super) struct Together<Q, A> {
    waiting: Mutex<Vec<(Q, oneshot::Sender<A>)>>,
    /// Held by whoever works for all.
    working: tokio::sync::Mutex<()>,
}

impl<Q, A> Default for Together<Q, A> {
    fn default() -> Self {
        Self { waiting: Mutex::default(), working: tokio::sync::Mutex::default() }
    }
}

impl<Q, A> Together<Q, A> {
    /// Asks together with whoever else asks now. `work` answers all questions in their order; it runs at most once for this call,
    /// and not at all when somebody else took the question along. `None` when nobody answered, since whoever was at work is gone.
    pub async fn ask<F>(&self, question: Q, work: impl FnOnce(Vec<Q>) -> F) -> Option<A>
    where
        F: Future<Output = Vec<A>>,
    {
        let (tell, told) = oneshot::channel();
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).push((question, tell));
        {
            let _turn = self.working.lock().await;
            let batch = std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner));
            if !batch.is_empty() {
                let (questions, tell): (Vec<_>, Vec<_>) = batch.into_iter().unzip();
                for (answer, tell) in work(questions).await.into_iter().zip(tell) {
                    // Whoever asked waits for this; a process that is ending may not.
                    let _ = tell.send(answer);
                }
            }
        }
        told.await.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use tokio::sync::Notify;

    #[tokio::test]
    async fn whoever_comes_while_others_work_is_asked_with_the_next() {
        let (together, rounds, go) =
            (Arc::new(Together::default()), Arc::new(AtomicUsize::new(0)), Arc::new(Notify::new()));
        let ask = |question: u32| {
            let (together, rounds, go) = (Arc::clone(&together), Arc::clone(&rounds), Arc::clone(&go));
            tokio::spawn(async move {
                let work = |all: Vec<u32>| async move {
                    rounds.fetch_add(1, Ordering::Relaxed);
                    if all == [0] {
                        go.notified().await;
                    }
                    all.iter().map(|each| each * 2).collect()
                };
                together.ask(question, work).await
            })
        };
        let first = ask(0);
        tokio::task::yield_now().await;
        let others: Vec<_> = (1..=5).map(ask).collect();
        tokio::task::yield_now().await;
        go.notify_one();
        assert_eq!(first.await.unwrap(), Some(0));
        for (question, other) in (1..=5).zip(others) {
            assert_eq!(other.await.unwrap(), Some(question * 2));
        }
        assert_eq!(rounds.load(Ordering::Relaxed), 2);
    }

    #[tokio::test]
    async fn a_question_without_an_answer_is_told_so() {
        let together = Together::<u32, u32>::default();
        assert_eq!(together.ask(1, |_| async { Vec::new() }).await, None);
        assert_eq!(together.ask(1, |all| async move { all }).await, Some(1));
    }
}
