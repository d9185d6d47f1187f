//! HTTP by hand on a TCP connection, for what no HTTP library would send.

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Longer than any limit of the server's.
const PATIENCE: Duration = Duration::from_secs(15);

/// One connection.
pub struct Raw {
    stream: TcpStream,
    buffer: Vec<u8>,
}

/// One answer as it came.
#[derive(Debug)]
pub struct RawAnswer {
    /// HTTP status.
    pub status: u16,
    /// Headers.
    pub headers: HeaderMap,
    /// As many bytes as `Content-Length` says.
    pub body: Vec<u8>,
}

impl Raw {
    /// To `http://127.0.0.1:port`.
    pub async fn connect(base: &str) -> Self {
        let stream = TcpStream::connect(base.trim_start_matches("http://")).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream, buffer: Vec::new() }
    }

    /// Sends bytes. A server that has closed already is no failure here: its answer tells.
    pub async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = self.stream.write_all(bytes.as_ref()).await;
    }

    /// Tells the server that nothing more comes; still reads.
    pub async fn half_close(&mut self) {
        self.stream.shutdown().await.unwrap();
    }

    /// Ends the connection the hard way, as a crashed client's kernel does.
    pub fn reset(self) {
        self.stream.set_zero_linger().unwrap();
    }

    /// The next answer, with its body.
    pub async fn answer(&mut self) -> RawAnswer {
        let mut answer = self.head().await;
        let length = answer.headers.get("content-length").map_or(0, |length| length.to_str().unwrap().parse().unwrap());
        while self.buffer.len() < length {
            assert!(self.read().await, "the connection closed inside a body: {answer:?}");
        }
        answer.body = self.buffer.drain(..length).collect();
        answer
    }

    /// The next answer, if the server does not close instead.
    pub async fn answer_or_end(&mut self) -> Option<RawAnswer> {
        if self.buffer.is_empty() && !self.read().await { None } else { Some(self.answer().await) }
    }

    /// The next answer's head, for answers without a body.
    pub async fn head(&mut self) -> RawAnswer {
        let end = loop {
            if let Some(end) = self.buffer.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
                break end;
            }
            assert!(self.read().await, "closed without an answer, after {:?}", String::from_utf8_lossy(&self.buffer));
        };
        let head: Vec<_> = self.buffer.drain(..end + 4).collect();
        let head = String::from_utf8(head).unwrap();
        let mut lines = head.lines();
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let mut headers = HeaderMap::new();
        for (name, value) in lines.filter_map(|line| line.split_once(": ")) {
            headers.append(name.parse::<HeaderName>().unwrap(), HeaderValue::from_str(value).unwrap());
        }
        RawAnswer { status, headers, body: Vec::new() }
    }

    /// Waits until the server closes; panics when it sends anything more first, or does not close.
    pub async fn closed(&mut self) {
        while self.read().await {}
        assert!(self.buffer.is_empty(), "more came: {:?}", String::from_utf8_lossy(&self.buffer));
    }

    /// Everything the server sends until it closes.
    pub async fn rest(&mut self) -> String {
        while self.read().await {}
        String::from_utf8_lossy(&std::mem::take(&mut self.buffer)).into_owned()
    }

    /// Reads some bytes; `false` at the end, a reset included.
    async fn read(&mut self) -> bool {
        self.buffer.reserve(8 * 1024);
        let read = timeout(PATIENCE, self.stream.read_buf(&mut self.buffer)).await;
        matches!(read.expect("nothing came, and the connection did not close"), Ok(1..))
    }
}

impl RawAnswer {
    /// The code of the problem document that this has to be.
    pub fn problem(&self) -> String {
        assert_eq!(self.headers["content-type"], "application/problem+json", "{self:?}");
        let document: Value = serde_json::from_slice(&self.body).unwrap();
        assert_eq!(document["request_id"].as_str(), self.headers["request-id"].to_str().ok(), "{self:?}");
        assert_eq!(document["status"], self.status, "{self:?}");
        document["code"].as_str().unwrap().to_owned()
    }

    /// Whether the server said that it closes the connection.
    pub fn closes(&self) -> bool {
        self.headers.get("connection").is_some_and(|value| value == "close")
    }
}
