//! A server that does what it is told, one step for each connection: answers, waits, breaks off. It keeps every request
//! as it was sent.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// What to do with one connection.
#[derive(Debug, Clone)]
pub enum Step {
    /// Read the request, write this answer.
    Answer { status: u16, headers: Vec<(&'static str, String)>, body: Vec<u8> },
    /// Read the request, wait, write this answer.
    Late(Duration, Box<Step>),
    /// Reset the connection without having read anything.
    ResetAtOnce,
    /// Read the request, then reset.
    ResetAfterRequest,
    /// Read the request, then close in order.
    CloseAfterRequest,
    /// Read the request, promise this many bytes, write fewer, close.
    Half { promised: usize, body: Vec<u8> },
    /// Read the request, write these bytes as they are, close.
    Raw(Vec<u8>),
    /// Read the request, promise a long body, write a byte of it now and then.
    Drip(Duration),
    /// Read the request, write an endless body in chunks.
    Endless,
}

impl Step {
    /// A JSON answer.
    pub fn json(status: u16, body: &serde_json::Value) -> Self {
        let headers = vec![("Content-Type", "application/json".to_owned())];
        Self::Answer { status, headers, body: body.to_string().into_bytes() }
    }

    /// The same answer with one more header.
    pub fn header(mut self, name: &'static str, value: &str) -> Self {
        if let Self::Answer { headers, .. } = &mut self {
            headers.push((name, value.to_owned()));
        }
        self
    }
}

/// A request as it was sent.
#[derive(Debug, Clone)]
pub struct Sent {
    /// Method and target of the first line.
    pub line: String,
    /// Header fields in order, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: String,
}

impl Sent {
    /// The one value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(header, _)| header == name).map(|(_, value)| value.as_str());
        let first = found.next();
        assert!(found.next().is_none(), "{name} twice");
        first
    }
}

/// The server. It ends with the test's runtime.
pub struct ScriptedHttp {
    /// `http://127.0.0.1:port`
    pub base: String,
    sent: Arc<Mutex<Vec<Sent>>>,
    connections: Arc<Mutex<usize>>,
}

impl ScriptedHttp {
    /// Takes one step for each connection, in order; further connections are closed at once.
    pub async fn start(steps: impl IntoIterator<Item = Step>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let (sent, connections) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(0)));
        let mut steps: VecDeque<Step> = steps.into_iter().collect();
        let (log, counter) = (Arc::clone(&sent), Arc::clone(&connections));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                *counter.lock().unwrap() += 1;
                if let Some(step) = steps.pop_front() {
                    // A peer that gave up is part of the script.
                    tokio::spawn(carry_out(stream, step, Arc::clone(&log)));
                }
            }
        });
        Self { base, sent, connections }
    }

    /// An address at which nobody listens.
    pub async fn nobody() -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    }

    /// The requests that were read, in order.
    pub fn sent(&self) -> Vec<Sent> {
        self.sent.lock().unwrap().clone()
    }

    /// How many connections were made.
    pub fn connections(&self) -> usize {
        *self.connections.lock().unwrap()
    }
}

async fn carry_out(mut stream: TcpStream, step: Step, log: Arc<Mutex<Vec<Sent>>>) -> std::io::Result<()> {
    if matches!(step, Step::ResetAtOnce) {
        return stream.set_zero_linger();
    }
    let sent = read_request(&mut stream).await?;
    log.lock().unwrap().push(sent);
    let step = match step {
        Step::Late(wait, step) => {
            tokio::time::sleep(wait).await;
            *step
        }
        step => step,
    };
    match step {
        Step::Answer { status, headers, body } => {
            let mut head =
                format!("HTTP/1.1 {status} Scripted\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
            for (name, value) in headers {
                write!(head, "{name}: {value}\r\n").unwrap();
            }
            stream.write_all(format!("{head}\r\n").as_bytes()).await?;
            stream.write_all(&body).await?;
        }
        Step::Half { promised, body } => {
            stream.write_all(format!("HTTP/1.1 200 OK\r\nContent-Length: {promised}\r\n\r\n").as_bytes()).await?;
            stream.write_all(&body).await?;
        }
        Step::Raw(bytes) => stream.write_all(&bytes).await?,
        Step::Drip(pause) => {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n").await?;
            for _ in 0..1_000 {
                stream.write_all(b" ").await?;
                tokio::time::sleep(pause).await;
            }
        }
        Step::Endless => {
            stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").await?;
            let chunk = format!("10000\r\n{}\r\n", " ".repeat(0x1_0000));
            loop {
                stream.write_all(chunk.as_bytes()).await?;
            }
        }
        Step::ResetAfterRequest => return stream.set_zero_linger(),
        Step::CloseAfterRequest | Step::ResetAtOnce | Step::Late(..) => {}
    }
    stream.shutdown().await
}

async fn read_request(stream: &mut TcpStream) -> std::io::Result<Sent> {
    let mut bytes = Vec::new();
    loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
            let mut lines = head.split("\r\n");
            let line = lines.next().unwrap().trim_end_matches(" HTTP/1.1").to_owned();
            let pair = |line: &str| line.split_once(": ").map(|(name, value)| (name.to_lowercase(), value.to_owned()));
            let headers: Vec<_> = lines.filter_map(pair).collect();
            let length = headers.iter().find(|(name, _)| name == "content-length");
            let length: usize = length.map_or(0, |(_, value)| value.parse().unwrap());
            if bytes.len() >= end + 4 + length {
                let body = String::from_utf8(bytes[end + 4..end + 4 + length].to_vec()).unwrap();
                return Ok(Sent { line, headers, body });
            }
        }
        if stream.read_buf(&mut bytes).await? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
    }
}
