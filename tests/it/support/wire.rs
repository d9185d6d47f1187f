//! HTTP by hand, for what no client library sends.

use crate::support::app::TestApp;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// One connection.
pub struct Wire(pub TcpStream);

impl Wire {
    /// Connects.
    pub async fn to(app: &TestApp) -> Self {
        Self(TcpStream::connect(app.base.trim_start_matches("http://")).await.unwrap())
    }

    /// Sends bytes as they are.
    pub async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.0.write_all(bytes.as_ref()).await.unwrap();
    }

    /// Everything that comes until the server closes the connection; panics if it does not within five seconds.
    pub async fn until_closed(&mut self) -> String {
        let mut all = Vec::new();
        let read = timeout(Duration::from_secs(5), self.0.read_to_end(&mut all)).await;
        read.expect("the server keeps the connection open").unwrap();
        String::from_utf8(all).unwrap()
    }

    /// What has come when `end` has come.
    pub async fn until(&mut self, end: &str) -> String {
        let mut all = Vec::new();
        while !String::from_utf8_lossy(&all).contains(end) {
            let mut chunk = [0; 4096];
            let count = timeout(Duration::from_secs(5), self.0.read(&mut chunk)).await.expect("no answer").unwrap();
            assert_ne!(count, 0, "closed after {:?}", String::from_utf8_lossy(&all));
            all.extend_from_slice(&chunk[..count]);
        }
        String::from_utf8(all).unwrap()
    }
}

/// The head of `POST /v1/orders` with the usual headers, `lines` (each ended by CRLF) and the blank line.
pub fn post_head(app: &TestApp, lines: &str) -> String {
    let token = &app.org.token;
    format!(
        "POST /v1/orders HTTP/1.1\r\nHost: ichido\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\n{lines}\r\n"
    )
}

/// A whole `POST /v1/orders` under a key.
pub fn post(app: &TestApp, key: &str, body: &[u8]) -> Vec<u8> {
    let lines = format!("Idempotency-Key: {key}\r\nContent-Length: {}\r\n", body.len());
    [post_head(app, &lines).as_bytes(), body].concat()
}
