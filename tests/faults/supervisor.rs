//! A program that is started again whenever it ends, as a service manager does it, and that is killed and stopped on
//! purpose. Only processes that were started here are ever signalled.

use crate::Failure;
use crate::program::Program;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::process::Child;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, sleep_until, timeout};

/// Before a program is started again that has ended by itself.
const PAUSE_BEFORE_RESTART: Duration = Duration::from_millis(200);
/// How long a program may take until it listens for the first time.
const LISTEN_LIMIT: Duration = Duration::from_secs(30);
/// How long a program may take to end after SIGTERM; a service manager would be told no less.
pub const DRAIN_LIMIT: Duration = Duration::from_secs(30);
/// The status of a program that says why it does not start: the database may be away.
const REFUSED: i32 = 1;

/// It, running again and again. Killed when dropped.
pub struct Supervised {
    program: Program,
    commands: mpsc::Sender<(Order, oneshot::Sender<()>)>,
    history: Arc<History>,
    task: JoinHandle<()>,
}

/// What has become of the processes so far.
#[derive(Debug, Default)]
pub struct History {
    restarts: AtomicU32,
    refused: AtomicU32,
    ended: Mutex<Vec<String>>,
    drains: Mutex<Vec<Drain>>,
}

/// How a process ended that was asked to, with SIGTERM.
#[derive(Debug, Clone)]
pub struct Drain {
    /// From the signal to the end.
    pub time: Duration,
    /// Why that was no end in order; `None` when it was.
    pub wrong: Option<String>,
}

#[derive(Debug, Clone, Copy)]
enum Order {
    Kill,
    /// SIGTERM, and its end in its own time.
    Drain,
    /// Stop it, and let it go on at that moment.
    StopUntil(Instant),
}

/// How watching a process came to its end.
enum End {
    Killed(oneshot::Sender<()>),
    ByItself,
    NotWanted,
}

impl Supervised {
    /// Starts it, and sees to it from now on.
    pub fn start(program: Program) -> Result<Self, Failure> {
        let history = Arc::new(History::default());
        let (commands, orders) = mpsc::channel(16);
        let first = program.start()?;
        let task = tokio::spawn(supervise(program.clone(), first, orders, Arc::clone(&history)));
        Ok(Self { program, commands, history, task })
    }

    /// Like [`Supervised::start`], for a program that has to listen before it is of use.
    pub async fn start_listening(program: Program) -> Result<Self, Failure> {
        let _ = fs::remove_file(program.output());
        let supervised = Self::start(program)?;
        supervised.until_it_listens().await?;
        Ok(supervised)
    }

    /// Waits until the process that runs now has said that it listens.
    pub async fn until_it_listens(&self) -> Result<(), Failure> {
        let program = &self.program;
        let started = Instant::now();
        while !program.listens() {
            if started.elapsed() > LISTEN_LIMIT {
                return Err(format!("{} does not listen; see {}", program.name, program.log().display()).into());
            }
            sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    /// SIGTERM, and the next process once the old one has ended and the new one listens. Tells how the old one ended.
    pub async fn replace(&self) -> Result<Drain, Failure> {
        self.order(Order::Drain).await;
        self.until_it_listens().await?;
        let drains = self.history.drains.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(drains.last().ok_or("nothing was drained")?.clone())
    }

    /// kill -9, seen to its end; the next process has been started when this returns.
    pub async fn kill(&self) {
        self.order(Order::Kill).await;
    }

    /// Stops it as a terminal's Ctrl-Z does, and lets it go on after a time.
    pub async fn pause(&self, time: Duration) {
        self.order(Order::StopUntil(Instant::now() + time)).await;
    }

    /// Lets it go on at once.
    pub async fn resume(&self) {
        self.pause(Duration::ZERO).await;
    }

    /// What has become of its processes so far.
    pub fn history(&self) -> &History {
        &self.history
    }

    async fn order(&self, order: Order) {
        let (done, is_done) = oneshot::channel();
        if self.commands.send((order, done)).await.is_ok() {
            let _ = is_done.await;
        }
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        // The process dies with the task's handle on it.
        self.task.abort();
    }
}

impl History {
    /// How often it was started again.
    pub fn restarts(&self) -> u32 {
        self.restarts.load(Ordering::SeqCst)
    }

    /// How often it did not start, and said why.
    pub fn refused(&self) -> u32 {
        self.refused.load(Ordering::SeqCst)
    }

    /// Ends that nobody ordered and that were no refusal to start.
    pub fn ended(&self) -> Vec<String> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note(&self, program: &Program, code: Option<i32>, how: &str) {
        if code == Some(REFUSED) && !program.listens() {
            self.refused.fetch_add(1, Ordering::SeqCst);
        } else {
            let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
            ended.push(format!("{} ended by itself: {how}; see {}", program.name, program.log().display()));
        }
    }
}

type Orders = mpsc::Receiver<(Order, oneshot::Sender<()>)>;

async fn supervise(mut program: Program, first: Child, mut orders: Orders, history: Arc<History>) {
    let mut child = first;
    loop {
        let killed = match watch(&program, &mut child, &mut orders, &history).await {
            End::NotWanted => return,
            End::Killed(done) => Some(done),
            End::ByItself => {
                sleep(PAUSE_BEFORE_RESTART).await;
                None
            }
        };
        history.restarts.fetch_add(1, Ordering::SeqCst);
        // A failpoint strikes once; whoever is started again has none.
        program.environment.retain(|(name, _)| name != "FAILPOINTS");
        match program.start() {
            Ok(next) => child = next,
            Err(error) => {
                history.note(&program, None, &error.to_string());
                return;
            }
        }
        if let Some(done) = killed {
            let _ = done.send(());
        }
    }
}

/// Follows orders until the process has ended.
async fn watch(program: &Program, child: &mut Child, orders: &mut Orders, history: &History) -> End {
    let mut goes_on_at = None;
    loop {
        // A process that is not waited for yet keeps its number, so a signal cannot reach another one.
        tokio::select! {
            status = child.wait() => {
                let (code, how) = match &status {
                    Ok(status) => (status.code(), status.to_string()),
                    Err(error) => (None, error.to_string()),
                };
                history.note(program, code, &how);
                return End::ByItself;
            }
            order = orders.recv() => match order {
                None => return End::NotWanted,
                Some((Order::Kill, done)) => {
                    let _ = child.kill().await;
                    return End::Killed(done);
                }
                Some((Order::Drain, done)) => {
                    let drain = drain(child).await;
                    history.drains.lock().unwrap_or_else(PoisonError::into_inner).push(drain);
                    return End::Killed(done);
                }
                Some((Order::StopUntil(moment), done)) => {
                    signal(child, Signal::STOP);
                    goes_on_at = Some(moment);
                    let _ = done.send(());
                }
            },
            () = at(goes_on_at) => {
                signal(child, Signal::CONT);
                goes_on_at = None;
            }
        }
    }
}

/// Asks a process to end, and waits for that.
async fn drain(child: &mut Child) -> Drain {
    let asked = Instant::now();
    signal(child, Signal::TERM);
    let wrong = match timeout(DRAIN_LIMIT, child.wait()).await {
        Ok(Ok(status)) if status.success() => None,
        Ok(Ok(status)) => Some(format!("it ended with {status}")),
        Ok(Err(error)) => Some(error.to_string()),
        Err(_) => {
            let _ = child.kill().await;
            Some(format!("it had not ended after {DRAIN_LIMIT:?}"))
        }
    };
    Drain { time: asked.elapsed(), wrong }
}

async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

fn signal(child: &Child, signal: Signal) {
    let pid = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    if let Some(pid) = pid {
        // One that has just ended is no failure.
        let _ = kill_process(pid, signal);
    }
}
