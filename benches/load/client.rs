//! One HTTP/1.1 connection, as lean as it can be: the less the load generator takes, the more is left to measure.

use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::pin::Pin;

use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::TcpStream;

/// The longest answer that is understood; those of the bench have a tenth of it.
const ANSWER_LIMIT: usize = 16 * 1024;

/// A connection that is kept for many requests, one at a time.
pub struct Connection {
    stream: TcpStream,
    buffer: Box<[u8]>,
}

/// Where an answer is in the buffer.
struct Head {
    status: u16,
    body_at: usize,
    end: usize,
}

impl Connection {
    /// Connects.
    pub async fn open(address: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: vec![0; ANSWER_LIMIT].into_boxed_slice() })
    }

    /// Sends one request and waits for the whole answer; gives its status and body.
    pub async fn exchange(&mut self, request: &[u8]) -> io::Result<(u16, &[u8])> {
        self.send(request).await?;
        let mut filled = 0;
        loop {
            filled += self.receive(filled).await?;
            if let Some(head) = parse_head(&self.buffer[..filled])?
                && filled >= head.end
            {
                return Ok((head.status, &self.buffer[head.body_at..head.end]));
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
            return Err(io::Error::new(ErrorKind::InvalidData, "the answer is too long"));
        }
        poll_fn(|context| Pin::new(&mut *stream).poll_read(context, &mut free)).await?;
        match free.filled().len() {
            0 => Err(io::Error::new(ErrorKind::UnexpectedEof, "the server closed the connection")),
            read => Ok(read),
        }
    }
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
