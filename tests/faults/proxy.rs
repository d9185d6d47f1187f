//! A TCP proxy that breaks what passes through it: at the next request, for a time, or all connections at once.
//!
//! It knows no protocol: what comes from the client is a request, what comes back is its answer. That holds for HTTP with
//! one request at a time, and nearly for PostgreSQL.

use crate::Failure;
use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, split};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, sleep_until};

/// Bytes read at once, at most.
const READ: usize = 16 * 1024;
/// How big the pieces are that bytes pass in while a line is split, one after the other and over again, in bytes; and the
/// pause between two. After so many pieces of what was read at once the rest passes as it is: a line may not stand still.
const PIECES: [usize; 9] = [1, 3, 7, 2, 1, 5, 4, 1, 6];
const PAUSE_BETWEEN_PIECES: Duration = Duration::from_millis(1);
const MOST_PIECES: usize = 120;
/// A request that was swallowed keeps its connection open for so long.
const SWALLOWED_FOR: Duration = Duration::from_secs(10);

/// What strikes one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strike {
    /// It never arrives, and the connection ends.
    CutBefore,
    /// It is carried out; when the answer comes, the connection ends instead.
    CutAfter,
    /// It never arrives, and nobody is told: the connection stays open, as one whose other end has vanished.
    HalfOpen,
}

/// Where the proxy leads to.
#[derive(Debug, Clone)]
pub enum Upstream {
    /// A port of this machine.
    Tcp(SocketAddr),
    /// A socket in the file system.
    Unix(PathBuf),
}

/// A running proxy; it ends when dropped.
pub struct Proxy {
    /// Where it listens.
    pub address: SocketAddr,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

struct Shared {
    upstream: Mutex<Upstream>,
    armed: Mutex<VecDeque<Strike>>,
    /// Until when nothing passes.
    stalled_until: Mutex<Instant>,
    /// Until when everything passes late, and how late.
    delayed_until: Mutex<(Instant, Duration)>,
    /// Until when everything passes in pieces.
    split_until: Mutex<Instant>,
    /// Changes when all connections are to be reset.
    resets: watch::Sender<u64>,
    struck: AtomicU64,
    split: AtomicU64,
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

impl Proxy {
    /// Listens on a port of its own.
    pub async fn start(upstream: Upstream) -> Result<Self, Failure> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let now = Instant::now();
        let shared = Arc::new(Shared {
            upstream: Mutex::new(upstream),
            armed: Mutex::default(),
            stalled_until: Mutex::new(now),
            delayed_until: Mutex::new((now, Duration::ZERO)),
            split_until: Mutex::new(now),
            resets: watch::Sender::new(0),
            struck: AtomicU64::new(0),
            split: AtomicU64::new(0),
        });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Ok(Self { address, shared, accepting })
    }

    /// New connections lead there from now on.
    pub fn lead_to(&self, upstream: Upstream) {
        *locked(&self.shared.upstream) = upstream;
    }

    /// The next `times` requests are struck.
    pub fn arm(&self, strike: Strike, times: usize) {
        locked(&self.shared.armed).extend(std::iter::repeat_n(strike, times));
    }

    /// Nothing passes for a time, in either direction; what is held goes on its way afterwards.
    pub fn stall(&self, time: Duration) {
        *locked(&self.shared.stalled_until) = Instant::now() + time;
    }

    /// Everything passes late for a time.
    pub fn delay(&self, each: Duration, time: Duration) {
        *locked(&self.shared.delayed_until) = (Instant::now() + time, each);
    }

    /// Everything passes in pieces of a few bytes for a time, in both directions.
    pub fn split(&self, time: Duration) {
        *locked(&self.shared.split_until) = Instant::now() + time;
    }

    /// Resets every connection that is open.
    pub fn reset(&self) {
        self.shared.resets.send_modify(|count| *count += 1);
    }

    /// Nothing breaks any more.
    pub fn calm(&self) {
        locked(&self.shared.armed).clear();
        self.stall(Duration::ZERO);
        self.delay(Duration::ZERO, Duration::ZERO);
        self.split(Duration::ZERO);
    }

    /// How many requests were struck.
    pub fn struck(&self) -> u64 {
        self.shared.struck.load(Ordering::SeqCst)
    }

    /// How often what came at once passed in pieces.
    pub fn split_count(&self) -> u64 {
        self.shared.split.load(Ordering::SeqCst)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
        self.reset();
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    loop {
        match listener.accept().await {
            Ok((client, _)) => drop(tokio::spawn(connection(client, Arc::clone(&shared)))),
            // Too many open files, for instance: that passes.
            Err(_) => sleep(Duration::from_millis(50)).await,
        }
    }
}

async fn connection(mut client: TcpStream, shared: Arc<Shared>) {
    let mut resets = shared.resets.subscribe();
    let upstream = locked(&shared.upstream).clone();
    let Ok(server) = connect(upstream).await else { return };
    let _ = client.set_nodelay(true);
    let (from_client, to_client) = client.split();
    let (from_server, to_server) = split(server);
    let withheld = AtomicBool::new(false);
    // Whichever ends first ends both: the sockets are dropped with this function.
    let reset = tokio::select! {
        _ = requests(from_client, to_server, &shared, &withheld) => false,
        _ = answers(from_server, to_client, &shared, &withheld) => false,
        _ = resets.changed() => true,
    };
    if reset {
        // What is closed in this way sends RST and not FIN.
        let _ = client.set_zero_linger();
    }
}

async fn connect(upstream: Upstream) -> io::Result<Box<dyn Stream>> {
    Ok(match upstream {
        Upstream::Tcp(address) => {
            let stream = TcpStream::connect(address).await?;
            // Small pieces would wait for each other, and arrive as one.
            stream.set_nodelay(true)?;
            Box::new(stream)
        }
        Upstream::Unix(path) => Box::new(UnixStream::connect(path).await?),
    })
}

/// From the client to the server.
async fn requests(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    shared: &Shared,
    withheld: &AtomicBool,
) -> io::Result<()> {
    let mut buffer = vec![0; READ];
    loop {
        let count = from.read(&mut buffer).await?;
        let strike = if count > 0 { shared.next_strike() } else { None };
        match strike {
            Some(Strike::CutBefore) => return Ok(()),
            Some(Strike::HalfOpen) => {
                sleep(SWALLOWED_FOR).await;
                return Ok(());
            }
            Some(Strike::CutAfter) => withheld.store(true, Ordering::SeqCst),
            None => {}
        }
        if pass(&buffer, count, &mut to, shared).await? {
            return Ok(());
        }
    }
}

/// From the server to the client.
async fn answers(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    shared: &Shared,
    withheld: &AtomicBool,
) -> io::Result<()> {
    let mut buffer = vec![0; READ];
    loop {
        let count = from.read(&mut buffer).await?;
        if withheld.load(Ordering::SeqCst) || pass(&buffer, count, &mut to, shared).await? {
            return Ok(());
        }
    }
}

/// Hands on what was read, when it is time; true at the end of the stream.
async fn pass(buffer: &[u8], count: usize, to: &mut (impl AsyncWrite + Unpin), shared: &Shared) -> io::Result<bool> {
    shared.hold().await;
    let mut rest = buffer.get(..count).unwrap_or_default();
    if count > 1 && shared.is_split() {
        for size in PIECES.into_iter().cycle().take(MOST_PIECES) {
            let (piece, others) = rest.split_at(size.min(rest.len()));
            to.write_all(piece).await?;
            to.flush().await?;
            rest = others;
            if rest.is_empty() {
                break;
            }
            sleep(PAUSE_BETWEEN_PIECES).await;
        }
    }
    to.write_all(rest).await?;
    to.flush().await?;
    Ok(count == 0)
}

impl Shared {
    fn next_strike(&self) -> Option<Strike> {
        let strike = locked(&self.armed).pop_front()?;
        self.struck.fetch_add(1, Ordering::SeqCst);
        Some(strike)
    }

    /// Whether what passes now passes in pieces; counts it.
    fn is_split(&self) -> bool {
        let split = Instant::now() < *locked(&self.split_until);
        if split {
            self.split.fetch_add(1, Ordering::SeqCst);
        }
        split
    }

    /// Waits as long as a stall or a delay says.
    async fn hold(&self) {
        let (until, each) = *locked(&self.delayed_until);
        if Instant::now() < until {
            sleep(each).await;
        }
        loop {
            let until = *locked(&self.stalled_until);
            if Instant::now() >= until {
                return;
            }
            sleep_until(until).await;
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
