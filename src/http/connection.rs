//! Requests that are the last of their connection.
//!
//! Either they say so, or the length of their body is not announced, so that what follows on the connection cannot be told from it
//! with certainty (RFC 9112, section 11.2). They are answered, and the connection is closed. The HTTP library has often read on by
//! then and hands over what came next all the same: that is never executed (section 9.6).

use actix_web::HttpRequest;
use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::dev::{Payload, ServiceRequest};
use actix_web::http::header::{self, HeaderMap};
use actix_web::http::{ConnectionType, Method};
use actix_web::web::Bytes;
use std::error::Error;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

/// What is known of a connection, for all its requests.
#[derive(Debug, Default)]
pub struct Connection {
    over: AtomicBool,
}

/// Whether nobody can say where this request ends. Its body is not read, and it is the last of its connection.
pub fn has_no_end(request: &ServiceRequest) -> bool {
    *request.method() == Method::CONNECT || has_unknown_length(request.headers())
}

/// Whether the client said that this request is the last of its connection; with HTTP/1.0 it has to say the opposite.
pub fn says_last(request: &ServiceRequest) -> bool {
    // The library knows only a line that holds nothing else.
    let closes = |token: &str| token.trim().eq_ignore_ascii_case("close");
    let mut lines = request.headers().get_all(header::CONNECTION).filter_map(|line| line.to_str().ok());
    request.head().connection_type() == ConnectionType::Close || lines.any(|line| line.split(',').any(closes))
}

/// Whether the body ends elsewhere than `Content-Length` says. For `Upgrade: websocket` the library reads until the
/// connection ends, since a WebSocket would begin there.
pub fn has_unknown_length(headers: &HeaderMap) -> bool {
    let websocket = |value: &header::HeaderValue| value.as_bytes().trim_ascii().eq_ignore_ascii_case(b"websocket");
    headers.contains_key(header::TRANSFER_ENCODING) || headers.get_all(header::UPGRADE).any(websocket)
}

/// Whether an earlier request was the last of this connection; notes whether this one is.
pub fn is_over(request: &ServiceRequest, last: bool) -> bool {
    let connection = request.conn_data::<Connection>();
    connection.is_some_and(|connection| connection.over.fetch_or(last, Ordering::Relaxed))
}

/// Notes that the answer to this request is the connection's last.
pub fn end(request: &HttpRequest) {
    if let Some(connection) = request.conn_data::<Connection>() {
        connection.over.store(true, Ordering::Relaxed);
    }
}

/// An answer's body that keeps the request's unread one until it is sent. Only with that does the library close the
/// connection at once; otherwise it first waits for the unread body's end, which may never come.
struct Holding {
    body: BoxBody,
    _unread: Payload,
}

/// An answer's body together with the request's, which nobody will read.
pub fn holding(body: BoxBody, unread: Payload) -> BoxBody {
    BoxBody::new(Holding { body, _unread: unread })
}

impl MessageBody for Holding {
    type Error = Box<dyn Error>;

    fn size(&self) -> BodySize {
        self.body.size()
    }

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Self::Error>>> {
        Pin::new(&mut self.body).poll_next(context)
    }
}
