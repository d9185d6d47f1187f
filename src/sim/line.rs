//! The line to a client, for faults that cut it.

use actix_web::dev::Extensions;
use actix_web::rt::net::TcpStream;
use actix_web::{HttpRequest, HttpResponse};
use std::any::Any;
use std::net::{self, Shutdown};
use std::os::fd::AsFd;

/// The same socket as the server's, under a second name.
struct Line(net::TcpStream);

/// Keeps the line of a new connection, for [`cut`].
pub fn remember(connection: &dyn Any, data: &mut Extensions) {
    if let Some(stream) = connection.downcast_ref::<TcpStream>()
        && let Ok(socket) = stream.as_fd().try_clone_to_owned()
    {
        data.insert(Line(socket.into()));
    }
}

/// Ends the connection without an answer: the client sees it close. The response that is returned goes nowhere.
pub fn cut(request: &HttpRequest) -> HttpResponse {
    let cut = request.conn_data::<Line>().is_some_and(|line| line.0.shutdown(Shutdown::Both).is_ok());
    if !cut {
        // Without a free descriptor the line could not be kept, or the client is gone already.
        tracing::warn!("a connection that was to be cut could not be");
    }
    HttpResponse::InternalServerError().force_close().finish()
}
