//! Does at once what several ask for at the same moment.
//!
//! There is no artificial wait: whoever comes first does it for all who are there by then, while the next ones gather.

use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::oneshot;
use tokio::sync::oneshot::error::TryRecvError;
use tokio_util::task::TaskTracker;
use tracing::Instrument;

/// Questions that wait for whoever is at work to finish, and then are asked at once.
pub(super) struct Together<Q, A> {
    waiting: Mutex<Vec<(Q, oneshot::Sender<A>)>>,
    /// Held while somebody works for all.
    working: Arc<tokio::sync::Mutex<()>>,
}

impl<Q, A> Default for Together<Q, A> {
    fn default() -> Self {
        Self { waiting: Mutex::default(), working: Arc::default() }
    }
}

/// Questions that are asked at once at most: what takes too long for all of them would be undone for all of them.
const MOST: usize = 128;

impl<Q, A> Together<Q, A> {
    /// Asks together with whoever else asks now. `work` answers all questions that it is given, in their order; it does not run when
    /// somebody else took the question along, and runs among `tasks` to its end even if whoever began it has left meanwhile. `None`
    /// when it did not answer.
    pub async fn ask<F>(&self, tasks: &TaskTracker, question: Q, work: impl Fn(Vec<Q>) -> F) -> Option<A>
    where
        A: Send + 'static,
        F: Future<Output = Vec<A>> + Send + 'static,
    {
        let (tell, mut told) = oneshot::channel();
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).push((question, tell));
        loop {
            tokio::select! {
                // Whoever has an answer leaves with it, and does not first work for others.
                biased;
                answer = &mut told => return answer.ok(),
                turn = Arc::clone(&self.working).lock_owned() => {
                    match told.try_recv() {
                        Ok(answer) => return Some(answer),
                        Err(TryRecvError::Closed) => return None,
                        Err(TryRecvError::Empty) => {}
                    }
                    let (questions, tell): (Vec<_>, Vec<_>) = self.next().into_iter().unzip();
                    let answers = work(questions);
                    let round = async move {
                        // The turn ends last: by then each asker has its answer, or sees that there will be none.
                        let (_turn, tell) = (turn, tell);
                        for (answer, tell) in answers.await.into_iter().zip(tell) {
                            // Whoever asked may have left.
                            let _ = tell.send(answer);
                        }
                    };
                    let _ = tasks.spawn(round.in_current_span()).await;
                }
            }
        }
    }

    /// The first that wait. Those behind them have askers of their own, who wait for their turn to work.
    fn next(&self) -> Vec<(Q, oneshot::Sender<A>)> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let most = waiting.len().min(MOST);
        waiting.drain(..most).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;
    use tokio::sync::{Notify, Semaphore, mpsc};
    use tokio::task::JoinHandle;

    #[tokio::test]
    async fn whoever_comes_while_others_work_is_asked_with_the_next() {
        let (together, rounds, go) =
            (Arc::new(Together::default()), Arc::new(AtomicUsize::new(0)), Arc::new(Notify::new()));
        let ask = |question: u32| {
            let (together, rounds, go) = (Arc::clone(&together), Arc::clone(&rounds), Arc::clone(&go));
            tokio::spawn(async move {
                let work = |all: Vec<u32>| {
                    rounds.fetch_add(1, Ordering::Relaxed);
                    let go = Arc::clone(&go);
                    async move {
                        if all == [0] {
                            go.notified().await;
                        }
                        all.iter().map(|each| each * 2).collect()
                    }
                };
                together.ask(&TaskTracker::new(), question, work).await
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

    type Asked = JoinHandle<Option<u32>>;
    type Rounds = mpsc::UnboundedReceiver<Vec<u32>>;

    /// Asks questions that are their own answers; each round is told of when it begins, and needs a turn to end.
    fn rounds_with_a_turn_each() -> (impl Fn(u32) -> Asked, Arc<Semaphore>, Rounds) {
        let (together, go) = (Arc::new(Together::default()), Arc::new(Semaphore::new(0)));
        let (tell, rounds) = mpsc::unbounded_channel();
        let turns = Arc::clone(&go);
        let ask = move |question: u32| {
            let (together, turns, tell) = (Arc::clone(&together), Arc::clone(&turns), tell.clone());
            tokio::spawn(async move {
                let work = |all: Vec<u32>| {
                    tell.send(all.clone()).unwrap();
                    let turns = Arc::clone(&turns);
                    async move {
                        turns.acquire().await.unwrap().forget();
                        all
                    }
                };
                together.ask(&TaskTracker::new(), question, work).await
            })
        };
        (ask, go, rounds)
    }

    #[tokio::test]
    async fn whoever_has_an_answer_does_not_work_for_others_first() {
        let (ask, go, mut rounds) = rounds_with_a_turn_each();
        let first = ask(0);
        assert_eq!(rounds.recv().await, Some(vec![0]));
        let (second, third) = (ask(1), ask(2));
        tokio::task::yield_now().await;
        go.add_permits(1);
        assert_eq!(rounds.recv().await, Some(vec![1, 2]));
        // Its round, the next one, never ends.
        let stuck = ask(9);
        tokio::task::yield_now().await;
        go.add_permits(1);
        for asked in [first, second, third] {
            let answer = tokio::time::timeout(Duration::from_secs(5), asked).await;
            assert!(answer.is_ok(), "held back by somebody else's round");
        }
        assert_eq!(rounds.recv().await, Some(vec![9]));
        stuck.abort();
    }

    #[tokio::test]
    async fn many_are_asked_in_several_rounds_and_all_are_answered() {
        let (together, most) = (Arc::new(Together::default()), Arc::new(AtomicUsize::new(0)));
        let asked: Vec<_> = (0..1_000_u32)
            .map(|question| {
                let (together, most) = (Arc::clone(&together), Arc::clone(&most));
                tokio::spawn(async move {
                    let work = |all: Vec<u32>| {
                        most.fetch_max(all.len(), Ordering::Relaxed);
                        async move {
                            tokio::task::yield_now().await;
                            all
                        }
                    };
                    together.ask(&TaskTracker::new(), question, work).await
                })
            })
            .collect();
        for (question, asked) in (0..1_000).zip(asked) {
            assert_eq!(asked.await.unwrap(), Some(question));
        }
        assert!((2..=MOST).contains(&most.load(Ordering::Relaxed)));
    }

    #[tokio::test]
    async fn a_question_without_an_answer_is_told_so() {
        let together = Together::<u32, u32>::default();
        assert_eq!(together.ask(&TaskTracker::new(), 1, |_| async { Vec::new() }).await, None);
        assert_eq!(together.ask(&TaskTracker::new(), 1, |all| async move { all }).await, Some(1));
    }

    #[tokio::test]
    async fn whoever_leaves_takes_nobodys_answer_along() {
        let (ask, go, mut rounds) = rounds_with_a_turn_each();
        let first = ask(0);
        assert_eq!(rounds.recv().await, Some(vec![0]));
        let (leaves, stays) = (ask(1), ask(2));
        tokio::task::yield_now().await;
        go.add_permits(1);
        assert_eq!(first.await.unwrap(), Some(0));
        // The one who comes first works for both, and leaves.
        assert_eq!(rounds.recv().await, Some(vec![1, 2]));
        leaves.abort();
        assert!(leaves.await.unwrap_err().is_cancelled());
        go.add_permits(1);
        assert_eq!(stays.await.unwrap(), Some(2));
    }
}
