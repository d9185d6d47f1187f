//! One HTTP/1.1 connection, as lean as it can be: the less the load generator takes, the more is left to measure.

use std::future::poll_fn;
use std::io::{self, ErrorKind, Read, Write};
use std::net;
use std::pin::Pin;
use std::time::Duration;

use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::TcpStream;

/// The longest answer to an order, head included; those of the bench have half of it. Small, since there may be ten
/// thousand connections.
pub const ORDER_ANSWER_BYTES: usize = 4 * 1024;

/// The longest answer with a page of 20 orders.
pub const PAGE_ANSWER_BYTES: usize = 64 * 1024;

/// A connection that is kept for many requests, one at a time.
pub struct Connection {
    stream: TcpStream,
    buffer: Box<[u8]>,
}

/// One whole answer.
pub struct Answer<'a> {
    /// Its status.
    pub status: u16,
    /// Status line and header fields.
    pub head: &'a [u8],
    /// The content.
    pub body: &'a [u8],
}

impl Answer<'_> {
    /// Whether there is such a header field; `name` in lower case.
    pub fn has_field(&self, name: &str) -> bool {
        let head = String::from_utf8_lossy(self.head).to_ascii_lowercase();
        head.split("\r\n").any(|line| line.split_once(':').is_some_and(|(field, _)| field == name))
    }
}

/// Where an answer is in the buffer.
struct Head {
    status: u16,
    body_at: usize,
    end: usize,
}

impl Head {
    fn answer<'a>(&self, buffer: &'a [u8]) -> Answer<'a> {
        Answer { status: self.status, head: &buffer[..self.body_at], body: &buffer[self.body_at..self.end] }
    }
}

impl Connection {
    /// Connects. Answers longer than so many bytes are errors.
    pub async fn open(address: &str, answer_bytes: usize) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: vec![0; answer_bytes].into_boxed_slice() })
    }

    /// Sends one request and waits for the whole answer.
    pub async fn exchange(&mut self, request: &[u8]) -> io::Result<Answer<'_>> {
        self.send(request).await?;
        let mut filled = 0;
        loop {
            filled += self.receive(filled).await?;
            if let Some(head) = whole(&self.buffer[..filled])? {
                return Ok(head.answer(&self.buffer));
            }
        }
    }

    async fn send(&self, mut rest: &[u8]) -> io::Result<()> {
        while !rest.is_empty() {
            match self.stream.try_write(rest) {
                Ok(written) => rest = &rest[written..],
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.stream.writable().await?,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// `poll_read` instead of `readable` and `try_read`: after an answer that does not fill the buffer it waits at
    /// once, where the others make a system call that finds nothing.
    async fn receive(&mut self, filled: usize) -> io::Result<usize> {
        let Self { stream, buffer } = self;
        let mut free = ReadBuf::new(&mut buffer[filled..]);
        if free.remaining() == 0 {
            return Err(too_long());
        }
        poll_fn(|context| Pin::new(&mut *stream).poll_read(context, &mut free)).await?;
        match free.filled().len() {
            0 => Err(closed()),
            read => Ok(read),
        }
    }
}

/// A connection for a thread of its own, which waits in the kernel.
pub struct BlockingConnection {
    stream: net::TcpStream,
    buffer: Box<[u8]>,
}

impl BlockingConnection {
    /// Connects. No single read or write may take longer than `limit`.
    pub fn open(address: &str, limit: Duration) -> io::Result<Self> {
        let stream = net::TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(limit))?;
        stream.set_write_timeout(Some(limit))?;
        Ok(Self { stream, buffer: vec![0; ORDER_ANSWER_BYTES].into_boxed_slice() })
    }

    /// Sends one request and waits for the whole answer.
    pub fn exchange(&mut self, request: &[u8]) -> io::Result<Answer<'_>> {
        self.stream.write_all(request)?;
        let mut filled = 0;
        loop {
            if filled == self.buffer.len() {
                return Err(too_long());
            }
            match self.stream.read(&mut self.buffer[filled..])? {
                0 => return Err(closed()),
                read => filled += read,
            }
            if let Some(head) = whole(&self.buffer[..filled])? {
                return Ok(head.answer(&self.buffer));
            }
        }
    }
}

fn too_long() -> io::Error {
    io::Error::new(ErrorKind::InvalidData, "the answer is too long")
}

fn closed() -> io::Error {
    io::Error::new(ErrorKind::UnexpectedEof, "the server closed the connection")
}

/// Where the answer is, once all of it is there.
fn whole(bytes: &[u8]) -> io::Result<Option<Head>> {
    Ok(parse_head(bytes)?.filter(|head| bytes.len() >= head.end))
}

/// Reads status and length; `None` while the head is incomplete.
fn parse_head(bytes: &[u8]) -> io::Result<Option<Head>> {
    let Some(head_end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
        return Ok(None);
    };
    let invalid = || io::Error::new(ErrorKind::InvalidData, "the answer is not HTTP/1.1 with a Content-Length");
    let head = std::str::from_utf8(&bytes[..head_end]).map_err(|_| invalid())?;
    let status = head.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)?.parse().ok()).ok_or_else(invalid)?;
    let length = head.split("\r\n").find_map(content_length).ok_or_else(invalid)?;
    let body_at = head_end + 4;
    Ok(Some(Head { status, body_at, end: body_at.saturating_add(length) }))
}

fn content_length(line: &str) -> Option<usize> {
    let (name, value) = line.split_once(':')?;
    if name.eq_ignore_ascii_case("content-length") { value.trim().parse().ok() } else { None }
}
