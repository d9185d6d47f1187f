//! Takes what many requests ask at the same moment to the database as one statement.
//!
//! There is no artificial wait: a connection that is free takes what is queued. At low load that is one request, and its
//! answer comes as fast as without this; under load a flush and a round trip are shared by many. One request's trouble is
//! never its neighbours': whatever goes wrong with a batch as a whole, each of its requests is then asked alone.

use crate::budget::{Budget, Share};
use crate::db::deadline::Deadline;
use crate::db::error::DbError;
use crate::db::pool::BATCH_SESSION;
use crate::db::{connection, keep_or_drop};
use deadpool_postgres::{Object, Pool};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

/// Requests in one statement at most. Measured: 32, 64 and 128 are equal within noise, and more only delays the first.
pub const MAX_BATCH: usize = 128;
/// Bytes in one statement, about: a few large requests do not make many small ones wait for long.
const MAX_BATCH_BYTES: usize = 1024 * 1024;
/// Requests that may wait in one queue; more are refused at once.
const MAX_QUEUE: usize = 8_192;
/// Bytes that may wait in all queues of the process, about; more are refused at once, so that memory is bounded whatever is in them.
pub const MAX_QUEUE_BYTES: usize = 64 * 1024 * 1024;
/// How a session is set while the questions of a batch that was undone are asked one by one.
const IMPATIENT: &str = include_str!("../../sql/batch_one_by_one.sql");
/// How long a batch's questions are begun to be asked one by one, while others wait for the next batch. Those that are left wait
/// alone.
const ONE_BY_ONE_TIME: Duration = Duration::from_secs(1);
/// Longer than the session's `statement_timeout`, so that the server ends a statement before its answer is given up.
const STATEMENT_TIME: Duration = Duration::from_millis(2_800);

/// How a batch is asked.
pub trait Batched: Send + Sync + 'static {
    /// What one request asks.
    type Question: Send + Sync + 'static;
    /// What it gets.
    type Answer: Send + 'static;

    /// How much memory one question takes, in bytes, about.
    fn weight(question: &Self::Question) -> usize;

    /// Asks all at once. Gives an answer for each question, in their order; `None` for one that is to be asked alone.
    fn ask<'a>(
        &'a self,
        client: &'a Object,
        questions: &'a [Self::Question],
    ) -> BoxFuture<'a, Result<Vec<Option<Self::Answer>>, DbError>>;
}

/// What came of a question.
#[derive(Debug, PartialEq, Eq)]
pub enum Asked<Q, A> {
    /// Its answer.
    Answered(A),
    /// The batch was undone as a whole, or this question did not fit into it: nothing happened, and it is to be asked alone.
    Alone(Q),
}

struct Waiting<B: Batched> {
    question: B::Question,
    deadline: Deadline,
    ticket: Ticket,
    weight: Share,
    answer: oneshot::Sender<Reply<B>>,
}

type Reply<B> = Result<Asked<<B as Batched>::Question, <B as Batched>::Answer>, DbError>;

/// Decides, once, whether a question is sent or given up: whoever waits for it may be told that nothing was sent only if
/// nothing ever will be.
#[derive(Clone, Default)]
struct Ticket(Arc<AtomicBool>);

impl Ticket {
    /// `true` for the first to ask.
    fn take(&self) -> bool {
        !self.0.swap(true, Ordering::AcqRel)
    }
}

/// The queue of questions, and the task that takes them to the database. Cheap to clone; the task ends with the last clone.
pub struct Batcher<B: Batched> {
    queue: mpsc::Sender<Waiting<B>>,
    queued_bytes: Arc<Budget>,
}

impl<B: Batched> Clone for Batcher<B> {
    fn clone(&self) -> Self {
        Self { queue: self.queue.clone(), queued_bytes: Arc::clone(&self.queued_bytes) }
    }
}

impl<B: Batched> Batcher<B> {
    /// Starts the task that carries batches, one at a time, each on a connection of the pool. `queued_bytes` counts what waits in
    /// all queues that share it. Has to be called in a runtime.
    /// Measured: with a second one the batches are smaller, and every order is a sixth dearer for PostgreSQL.
    #[must_use]
    pub fn start(kind: B, pool: &Pool, queued_bytes: &Arc<Budget>) -> Self {
        let (queue, waiting) = mpsc::channel(MAX_QUEUE);
        tokio::spawn(work(kind, pool.clone(), waiting));
        Self { queue, queued_bytes: Arc::clone(queued_bytes) }
    }

    /// Asks together with whoever else asks now.
    ///
    /// # Errors
    ///
    /// [`DbError::Unavailable`] when nothing was sent, [`DbError::Lost`] when it was sent and no answer came.
    pub async fn ask(
        &self,
        question: B::Question,
        deadline: Deadline,
    ) -> Result<Asked<B::Question, B::Answer>, DbError> {
        let (answer, asked) = oneshot::channel();
        let full = || DbError::Unavailable { reason: "too many requests are waiting".to_owned() };
        let weight = self.queued_bytes.take(B::weight(&question)).ok_or_else(full)?;
        let ticket = Ticket::default();
        let waiting = Waiting { question, deadline, ticket: ticket.clone(), weight, answer };
        self.queue.try_send(waiting).map_err(|_| full())?;
        match tokio::time::timeout_at(deadline.instant(), asked).await {
            Ok(Ok(asked)) => asked,
            // Dropped unanswered: the task is gone, and whether it had sent the batch is not known.
            Ok(Err(_)) => Err(DbError::Lost { reason: "the batch was given up" }),
            Err(_) if ticket.take() => Err(DbError::Unavailable { reason: "no free connection in time".to_owned() }),
            Err(_) => Err(DbError::Lost { reason: "no answer from the database in time" }),
        }
    }
}

async fn work<B: Batched>(kind: B, pool: Pool, mut waiting: mpsc::Receiver<Waiting<B>>) {
    let mut batch = Vec::new();
    while waiting.recv_many(&mut batch, MAX_BATCH).await > 0 {
        while !batch.is_empty() {
            let rest = batch.split_off(fitting(&batch));
            let batch = std::mem::replace(&mut batch, rest);
            // A panic is a fault of ours. Its batch is told that nobody knows, and the next one must not suffer for it.
            if AssertUnwindSafe(carry_out(&kind, &pool, batch)).catch_unwind().await.is_err() {
                tracing::error!("a batch ended with a panic");
            }
        }
    }
}

/// How many of the first fit into one statement; one at least.
fn fitting<B: Batched>(batch: &[Waiting<B>]) -> usize {
    let mut bytes = 0;
    let fits = batch.iter().take_while(|each| {
        bytes += each.weight.bytes();
        bytes <= MAX_BATCH_BYTES
    });
    fits.count().max(1)
}

async fn carry_out<B: Batched>(kind: &B, pool: &Pool, batch: Vec<Waiting<B>>) {
    let Some(latest) = batch.iter().map(|each| each.deadline.left()).max() else {
        return;
    };
    let client = match connection(pool, Deadline::after(latest)).await {
        Ok(client) => client,
        Err(error) => return refuse(batch, &error),
    };
    // Whoever has stopped waiting has taken the ticket back.
    let batch: Vec<_> = batch.into_iter().filter(|each| each.ticket.take()).collect();
    if batch.is_empty() {
        return;
    }
    let (questions, answers): (Vec<_>, Vec<_>) = batch.into_iter().map(|each| (each.question, each.answer)).unzip();
    let result = asked(kind, &client, &questions).await;
    match result {
        // A single question's error is its own, unless it is only that a batch has little patience with locks. Of a batch
        // that was sent without an answer nobody knows anything.
        Err(error) if error.is_for_all(answers.len()) => {
            keep_or_drop(client, &Err::<(), _>(error.clone()));
            for answer in answers {
                // Whoever asked may be gone.
                let _ = answer.send(Err(error.clone()));
            }
        }
        // Undone as a whole. What took too long would take as long for each.
        Err(error) if answers.len() > 1 && !error.is_timeout() && !error.spoils_the_connection() => {
            one_by_one(kind, client, questions, answers).await;
        }
        result => {
            keep_or_drop(client, &result);
            let mut found = result.unwrap_or_default().into_iter();
            for (question, answer) in questions.into_iter().zip(answers) {
                let _ = answer.send(Ok(found.next().flatten().map_or(Asked::Alone(question), Asked::Answered)));
            }
        }
    }
}

async fn asked<B: Batched>(
    kind: &B,
    client: &Object,
    questions: &[B::Question],
) -> Result<Vec<Option<B::Answer>>, DbError> {
    let answer = tokio::time::timeout(STATEMENT_TIME, kind.ask(client, questions)).await;
    answer.unwrap_or(Err(DbError::Lost { reason: "no answer from the database in time" }))
}

/// Asks each question of a batch that was undone, on the batch's own connection and with hardly any patience: the one whose lock
/// somebody holds is told apart from its neighbours at once, and only that one waits alone.
async fn one_by_one<B: Batched>(
    kind: &B,
    client: Object,
    questions: Vec<B::Question>,
    answers: Vec<oneshot::Sender<Reply<B>>>,
) {
    let until = Instant::now() + ONE_BY_ONE_TIME;
    let lent = Lent(Some(client));
    let Some(client) = lent.0.as_ref() else { return };
    let mut usable = is_set(client, IMPATIENT).await;
    for (question, answer) in questions.into_iter().zip(answers) {
        // It was told that nobody knows, and would now be asked for nobody.
        if answer.is_closed() {
            continue;
        }
        let mut question = vec![question];
        let found =
            if usable && Instant::now() < until { asked(kind, client, &question).await } else { Ok(Vec::new()) };
        usable = usable && !found.as_ref().is_err_and(DbError::spoils_the_connection);
        let reply = match (found, question.pop()) {
            (Err(error), _) if error.is_for_all(1) => Err(error),
            (Ok(mut found), Some(question)) => {
                Ok(found.pop().flatten().map_or(Asked::Alone(question), Asked::Answered))
            }
            (Err(_), Some(question)) => Ok(Asked::Alone(question)),
            (_, None) => Err(DbError::Lost { reason: "the batch was given up" }),
        };
        let _ = answer.send(reply);
    }
    if usable && is_set(client, BATCH_SESSION).await {
        lent.back();
    }
}

async fn is_set(client: &Object, session: &str) -> bool {
    matches!(tokio::time::timeout(STATEMENT_TIME, client.batch_execute(session)).await, Ok(Ok(())))
}

/// A connection whose session is set to something else meanwhile: unless it is given back, it is closed.
struct Lent(Option<Object>);

impl Lent {
    fn back(mut self) {
        drop(self.0.take());
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let Some(client) = self.0.take() {
            drop(Object::take(client));
        }
    }
}

fn refuse<B: Batched>(batch: Vec<Waiting<B>>, error: &DbError) {
    for each in batch {
        let _ = each.answer.send(Err(error.clone()));
    }
}
