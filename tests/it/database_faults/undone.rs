//! A batch that the database undid: what becomes of each of its questions, and of the connection that it was sent on.

use crate::support::held::eventually;
use crate::support::postgres;
use crate::support::proxy::{At, Fault, Proxy};
use deadpool_postgres::{Object, Pool};
use futures_util::future::{BoxFuture, join_all};
use ichido::budget::Budget;
use ichido::db::batch::{Asked, Batched, Batcher};
use ichido::db::deadline::Deadline;
use ichido::db::error::DbError;
use ichido::db::pool::Connecting;
use secrecy::SecretString;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio_postgres::SimpleQueryMessage;

type Reply = Result<Asked<&'static str, String>, DbError>;

/// Answered with the number of the connection's process.
const FINE: &str = "SELECT pg_backend_pid()";
/// The same question of another client.
const FINE_TOO: &str = "SELECT pg_backend_pid() AS too";
/// How long the connection waits for a lock.
const PATIENCE: &str = "SHOW lock_timeout";
/// Refused, for a reason of its own.
const TAKEN: &str = "DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '23505'; END $$";
/// Refused, since the server is a standby now.
const READ_ONLY: &str = "DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '25006'; END $$";
/// Refused, since the connection does not know its statement any more.
const FORGOTTEN: &str = "DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '26000'; END $$";
/// Refused, since the statement no longer fits the tables.
const OUTDATED: &str = "DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '0A000'; END $$";

/// Sends its questions as they are, all in one transaction, and answers each with the first value of its row.
#[derive(Clone)]
struct Script {
    sent: Arc<Mutex<Vec<Vec<&'static str>>>>,
    /// Each sending needs one.
    turns: Arc<Semaphore>,
}

impl Batched for Script {
    type Question = &'static str;
    type Answer = String;

    fn weight(_question: &Self::Question) -> usize {
        1
    }

    fn ask<'a>(
        &'a self,
        client: &'a Object,
        questions: &'a [Self::Question],
    ) -> BoxFuture<'a, Result<Vec<Option<Self::Answer>>, DbError>> {
        self.sent.lock().unwrap().push(questions.to_vec());
        Box::pin(async move {
            self.turns.acquire().await.unwrap().forget();
            let messages = client.simple_query(&questions.join(";")).await.map_err(|error| DbError::running(&error))?;
            let rows = messages.iter().filter_map(|message| match message {
                SimpleQueryMessage::Row(row) => Some(row.get(0).map(str::to_owned)),
                _ => None,
            });
            Ok(rows.collect())
        })
    }
}

struct Bench {
    batcher: Batcher<Script>,
    script: Script,
    pool: Pool,
    direct: SecretString,
}

impl Bench {
    async fn start() -> Self {
        let direct = postgres::database().await;
        Self::start_on(&direct.clone(), direct)
    }

    fn start_on(url: &SecretString, direct: SecretString) -> Self {
        let script = Script { sent: Arc::default(), turns: Arc::new(Semaphore::new(0)) };
        let pool = Connecting::to(url).unwrap().batch_pool().unwrap();
        let batcher = Batcher::start(script.clone(), &pool, &Budget::of(1_000_000));
        Self { batcher, script, pool, direct }
    }

    async fn ask(&self, question: &'static str) -> Reply {
        self.batcher.ask(question, Deadline::of_request()).await
    }

    /// Asks alone, of a connection that works.
    async fn answer(&self, question: &'static str) -> String {
        self.script.turns.add_permits(1);
        match self.ask(question).await {
            Ok(Asked::Answered(answer)) => answer,
            other => panic!("{question}: {other:?}"),
        }
    }

    /// Asks all of them in one batch, and then everything in its turn; gives the replies and what was sent for them.
    async fn batch(&self, questions: &[&'static str]) -> (Vec<Reply>, Vec<Vec<&'static str>>) {
        let before = self.script.sent.lock().unwrap().len();
        // They gather while this one has no turn.
        let gate = self.ask(FINE);
        let others = async {
            self.sent(before + 1).await;
            let all = join_all(questions.iter().map(|question| self.ask(question)));
            let turns = async { self.script.turns.add_permits(100) };
            tokio::join!(all, turns).0
        };
        let (gate, replies) = tokio::join!(gate, others);
        assert!(matches!(gate, Ok(Asked::Answered(_))), "{gate:?}");
        self.script.turns.forget_permits(100);
        (replies, self.script.sent.lock().unwrap()[before + 1..].to_vec())
    }

    async fn sent(&self, batches: usize) {
        eventually("the batch is sent", async || self.script.sent.lock().unwrap().len() >= batches).await;
    }

    /// Waits until the server has no such process any more.
    async fn is_gone(&self, pid: &str) {
        let sql = postgres::connect(&self.direct).await;
        eventually("the connection is closed", async || {
            let text = "SELECT count(*) FROM pg_stat_activity WHERE pid = $1::text::integer";
            sql.query_one(text, &[&pid]).await.unwrap().get::<_, i64>(0) == 0
        })
        .await;
    }
}

fn refused(sqlstate: &str) -> Reply {
    Err(DbError::Refused { sqlstate: sqlstate.to_owned(), constraint: None })
}

#[tokio::test]
async fn a_refused_question_leaves_its_neighbours_their_answers_and_the_connection_its_settings() {
    let bench = Bench::start().await;
    let (pid, patience) = (bench.answer(FINE).await, bench.answer(PATIENCE).await);
    let (replies, sent) = bench.batch(&[FINE, TAKEN, PATIENCE]).await;
    let answered = |text: &str| Ok(Asked::Answered(text.to_owned()));
    assert_eq!(replies, [answered(&pid), refused("23505"), answered("10ms")]);
    assert_eq!(sent, [vec![FINE, TAKEN, PATIENCE], vec![FINE], vec![TAKEN], vec![PATIENCE]]);
    assert_eq!((bench.answer(FINE).await, bench.answer(PATIENCE).await), (pid, patience.clone()));
    assert_ne!(patience, "10ms");
}

#[tokio::test]
async fn what_spoils_the_connection_of_a_batch_is_not_asked_again_on_it() {
    for spoils in [READ_ONLY, FORGOTTEN, OUTDATED] {
        let bench = Bench::start().await;
        let pid = bench.answer(FINE).await;
        let (replies, sent) = bench.batch(&[FINE, spoils, FINE_TOO]).await;
        assert_eq!(replies, [FINE, spoils, FINE_TOO].map(|question| Ok(Asked::Alone(question))), "{spoils}");
        assert_eq!(sent, [[FINE, spoils, FINE_TOO]], "{spoils}");
        bench.is_gone(&pid).await;
        assert_ne!(bench.answer(FINE).await, pid, "{spoils}");
    }
}

#[tokio::test]
async fn what_spoils_the_connection_when_asked_alone_sends_the_rest_elsewhere() {
    let bench = Bench::start().await;
    let pid = bench.answer(FINE).await;
    let (replies, sent) = bench.batch(&[TAKEN, READ_ONLY, FINE]).await;
    assert_eq!(replies, [refused("23505"), refused("25006"), Ok(Asked::Alone(FINE))]);
    assert_eq!(sent, [vec![TAKEN, READ_ONLY, FINE], vec![TAKEN], vec![READ_ONLY]]);
    bench.is_gone(&pid).await;
    assert_ne!(bench.answer(FINE).await, pid);
}

#[tokio::test]
async fn nobody_is_asked_for_who_has_left() {
    let bench = Bench::start().await;
    let before = bench.script.sent.lock().unwrap().len();
    let gate = async { bench.ask(FINE).await };
    let rest = async {
        bench.sent(before + 1).await;
        let stays = join_all([bench.ask(TAKEN), bench.ask(FINE)]);
        // Takes its place in the queue, and leaves once the batch is on its way.
        let leaves = async {
            let on_its_way = async {
                bench.script.turns.add_permits(1);
                bench.sent(before + 2).await;
            };
            tokio::select! {
                biased;
                reply = bench.ask(FINE_TOO) => panic!("{reply:?}"),
                () = on_its_way => bench.script.turns.add_permits(100),
            }
        };
        tokio::join!(stays, leaves).0
    };
    let (_, stayed) = tokio::join!(gate, rest);
    assert_eq!(stayed[0], refused("23505"));
    assert!(matches!(stayed[1], Ok(Asked::Answered(_))), "{stayed:?}");
    let sent = bench.script.sent.lock().unwrap()[before + 1..].to_vec();
    assert_eq!(sent, [vec![TAKEN, FINE, FINE_TOO], vec![TAKEN], vec![FINE]]);
}

#[tokio::test]
async fn a_connection_that_stalls_between_two_questions_is_given_up() {
    let direct = postgres::database().await;
    let proxy = Proxy::start().await;
    let bench = Bench::start_on(&proxy.url(&direct), direct);
    proxy.arm("SET lock_timeout = '10ms'", At::Before, Fault::Stall, 1);
    let (replies, sent) = bench.batch(&[TAKEN, FINE]).await;
    assert_eq!((sent.len(), proxy.struck()), (1, 1));
    // Their own time was over; what they are not told is that it was done.
    assert!(
        replies.iter().all(|reply| matches!(reply, Err(DbError::Lost { .. }) | Ok(Asked::Alone(_)))),
        "{replies:?}"
    );
    // The line still stands still.
    eventually("the connection is closed", async || {
        tokio::time::sleep(Duration::from_millis(5)).await;
        bench.pool.status().size == 0
    })
    .await;
}
