//! A TCP proxy between the service and PostgreSQL that breaks on demand.
//!
//! It reads PostgreSQL's messages, so that a fault can be put at an exact point of one statement: before the server
//! has seen it, or after the server has done it and before anybody is told.

use crate::support::postgres;
use secrecy::{ExposeSecret, SecretString};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf as FromClient, OwnedWriteHalf as ToClient};
use tokio::net::unix::{OwnedReadHalf as FromServer, OwnedWriteHalf as ToServer};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Bytes read at once, at least.
const READ: usize = 8 * 1024;

/// What the proxy does with every connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Hands everything on.
    Pass,
    /// Accepts and hands nothing on, in either direction; what it holds goes on its way once this is over.
    Stall,
    /// Ends every connection, old and new.
    Refuse,
}

/// Where in a statement's life a fault strikes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At {
    /// The server never sees the statement.
    Before,
    /// The server has done it and has written its answer, which nobody gets.
    Answer,
}

/// What strikes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// This connection ends; others live on.
    Cut,
    /// This connection ends, and the proxy goes over to [`Mode::Refuse`].
    CutAndRefuse,
    /// The proxy goes over to [`Mode::Stall`].
    Stall,
}

/// The fault that the next statements containing `text` meet.
struct Plan {
    text: &'static str,
    at: At,
    fault: Fault,
    times: usize,
}

struct Shared {
    mode: watch::Sender<Mode>,
    plan: Mutex<Option<Plan>>,
    struck: AtomicUsize,
    socket: PathBuf,
}

/// A running proxy; it ends when dropped.
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

impl Proxy {
    /// In front of the tests' PostgreSQL, passing.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            mode: watch::Sender::new(Mode::Pass),
            plan: Mutex::default(),
            struck: AtomicUsize::new(0),
            socket: postgres::socket_dir().join(".s.PGSQL.5432"),
        });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Self { address, shared, accepting }
    }

    /// The same database by way of the proxy.
    pub fn url(&self, direct: &SecretString) -> SecretString {
        let database = direct.expose_secret().rsplit('/').next().unwrap();
        SecretString::from(format!("postgresql://ichido@{}/{database}?sslmode=disable", self.address))
    }

    /// From now on, for all connections.
    pub fn set(&self, mode: Mode) {
        self.shared.mode.send_replace(mode);
    }

    /// The next `times` executions of statements containing `text` meet this fault.
    pub fn arm(&self, text: &'static str, at: At, fault: Fault, times: usize) {
        *self.shared.plan.lock().unwrap() = Some(Plan { text, at, fault, times });
    }

    /// How many statements have met their fault.
    pub fn struck(&self) -> usize {
        self.shared.struck.load(Ordering::SeqCst)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
        self.set(Mode::Refuse);
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    while let Ok((client, _)) = listener.accept().await {
        if *shared.mode.borrow() == Mode::Refuse {
            continue;
        }
        // A real line hands each message on at once, too.
        let _ = client.set_nodelay(true);
        tokio::spawn(connection(client, Arc::clone(&shared)));
    }
}

/// What the two directions of one connection know of each other.
struct Link {
    shared: Arc<Shared>,
    /// Set while a statement's answer is on its way that must not arrive.
    answer: Mutex<Option<Fault>>,
}

async fn connection(client: TcpStream, shared: Arc<Shared>) {
    let Ok(server) = UnixStream::connect(&shared.socket).await else { return };
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let mut mode = shared.mode.subscribe();
    let link = Link { shared, answer: Mutex::default() };
    // Whichever ends first ends both: the other half's socket is dropped with it.
    tokio::select! {
        () = upstream(from_client, to_server, &link) => {}
        () = downstream(from_server, to_client, &link) => {}
        _ = mode.wait_for(|mode| *mode == Mode::Refuse) => {}
    }
}

/// From the service to PostgreSQL, message by message.
async fn upstream(mut from: FromClient, mut to: ToServer, link: &Link) {
    let mut mode = link.shared.mode.subscribe();
    let mut buffer = Vec::new();
    let mut statements = HashMap::new();
    let mut started = false;
    loop {
        buffer.reserve(READ);
        let read = from.read_buf(&mut buffer).await;
        while let Some(message) = take_message(&mut buffer, &mut started) {
            if let Some(fault) = link.shared.strikes(&message, &mut statements, link) {
                link.shared.strike(fault);
                if fault != Fault::Stall {
                    return;
                }
            }
            let flowing = mode.wait_for(|mode| *mode != Mode::Stall).await.is_ok();
            if !flowing || to.write_all(&message).await.is_err() {
                return;
            }
        }
        if !matches!(read, Ok(1..)) {
            return;
        }
    }
}

/// From PostgreSQL to the service. An answer that must not arrive is read to its end, so that it is certain to exist.
async fn downstream(mut from: FromServer, mut to: ToClient, link: &Link) {
    let mut mode = link.shared.mode.subscribe();
    let mut buffer = Vec::new();
    let mut started = true;
    loop {
        buffer.reserve(READ);
        if !matches!(from.read_buf(&mut buffer).await, Ok(1..)) {
            return;
        }
        while let Some(message) = take_message(&mut buffer, &mut started) {
            let withheld = *link.answer.lock().unwrap();
            if let Some(fault) = withheld {
                if message.first() != Some(&b'Z') {
                    continue;
                }
                link.shared.strike(fault);
                if fault != Fault::Stall {
                    return;
                }
                // An answer without its beginning would be worse than none: nothing more comes on this connection.
                std::future::pending::<()>().await;
            }
            let flowing = mode.wait_for(|mode| *mode != Mode::Stall).await.is_ok();
            if !flowing || to.write_all(&message).await.is_err() {
                return;
            }
        }
    }
}

impl Shared {
    /// Whether a message of the service is the one a fault waits for. Notes what each prepared statement holds.
    fn strikes(&self, message: &[u8], statements: &mut HashMap<Vec<u8>, Vec<u8>>, link: &Link) -> Option<Fault> {
        let mut plan = self.plan.lock().unwrap();
        let (kind, rest) = (message.first()?, message.get(5..)?);
        let mut texts = rest.split(|byte| *byte == 0).map(<[u8]>::to_vec);
        if *kind == b'P' {
            statements.insert(texts.next()?, texts.next()?);
            return None;
        }
        // A prepared statement is bound and run; BEGIN, COMMIT and the like come as they are.
        let simple = texts.next()?;
        let text = match *kind {
            b'B' => statements.get(&texts.next()?)?,
            b'Q' => &simple,
            _ => return None,
        };
        let text = String::from_utf8_lossy(text);
        let found = plan.as_mut().filter(|plan| plan.times > 0 && text.contains(plan.text))?;
        found.times -= 1;
        if found.at == At::Before {
            return Some(found.fault);
        }
        *link.answer.lock().unwrap() = Some(found.fault);
        None
    }

    fn strike(&self, fault: Fault) {
        match fault {
            Fault::Cut => {}
            Fault::CutAndRefuse => {
                self.mode.send_replace(Mode::Refuse);
            }
            Fault::Stall => {
                self.mode.send_replace(Mode::Stall);
            }
        }
        self.struck.fetch_add(1, Ordering::SeqCst);
    }
}

/// The next whole message: a type and a length, except that the first one of a client has no type.
fn take_message(buffer: &mut Vec<u8>, started: &mut bool) -> Option<Vec<u8>> {
    let at = usize::from(*started);
    let length = u32::from_be_bytes(buffer.get(at..at + 4)?.try_into().ok()?) as usize + at;
    if buffer.len() < length {
        return None;
    }
    *started = true;
    let rest = buffer.split_off(length);
    Some(std::mem::replace(buffer, rest))
}
