//! The listening server, with its limits.

use crate::app::App;
use crate::http::connection::Connection;
use crate::http::entrance::Entrance;
use crate::http::{configure, cors, observe};
use actix_web::dev::Server;
use actix_web::middleware::{Condition, from_fn};
use actix_web::{HttpServer, web};
use std::io;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::thread::available_parallelism;
use std::time::Duration;

/// From a connection's first byte to the end of a request's head. Bodies have a limit of their own.
const HEAD_TIME: Duration = Duration::from_secs(5);
/// An idle connection is kept a little longer than the 60 s that proxies usually keep theirs, so that they close first.
const KEEP_ALIVE: Duration = Duration::from_secs(75);
/// For each thread.
const MAX_CONNECTIONS: usize = 10_000;
/// Requests in flight at shutdown are given this long; each is bounded by less.
const SHUTDOWN_SECONDS: u64 = 15;

/// Threads that serve requests, unless it is said otherwise: one for each core, but no more than one PostgreSQL can keep busy.
/// Each has three connections of its own, which carry batches.
#[must_use]
pub fn default_threads() -> usize {
    const MOST: usize = 8;
    available_parallelism().map_or(1, NonZeroUsize::get).min(MOST)
}

/// A server that has started.
pub struct Started {
    /// It, to be awaited.
    pub server: Server,
    /// Where it listens.
    pub address: SocketAddr,
    /// How it is closed to new connections.
    pub entrance: Entrance,
}

/// Binds and starts, on so many threads. The server runs when awaited, and ends through its handle only: signals are the caller's business.
///
/// # Errors
///
/// When the address cannot be bound.
pub fn start(app: App, listen: SocketAddr, threads: usize, cors_origins: Vec<String>) -> io::Result<Started> {
    let (entrance, listener) = Entrance::open(listen)?;
    let address = listener.local_addr()?;
    let factory = move || {
        actix_web::App::new()
            // Called once for each of the server's threads, in it.
            .app_data(web::Data::new(app.for_this_thread()))
            .configure(configure)
            .wrap(Condition::new(!cors_origins.is_empty(), cors::policy(&cors_origins)))
            .wrap(from_fn(observe::observe))
    };
    let server = HttpServer::new(factory)
        .workers(threads)
        .on_connect(|_, connection| {
            connection.insert(Connection::default());
        })
        .client_request_timeout(HEAD_TIME)
        .keep_alive(KEEP_ALIVE)
        .max_connections(MAX_CONNECTIONS)
        .shutdown_timeout(SHUTDOWN_SECONDS)
        .disable_signals()
        .listen(listener)?;
    Ok(Started { server: server.run(), address, entrance })
}
