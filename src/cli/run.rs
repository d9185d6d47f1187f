//! Runs the HTTP server until a signal, and then ends in order: `/readyz` says no, requests in flight are answered,
//! idle connections are closed.

use crate::app::App;
use crate::cli::CliError;
use crate::http::entrance::Entrance;
use crate::http::server;
use crate::{telemetry, worker};
use actix_web::dev::ServerHandle;
use rustix::process::{Signal as Death, set_parent_process_death_signal};
use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

/// Requests in flight are waited for this long beyond the longest call to a gateway: 3 s before it, 6 s for recording what came of
/// it, and 3 s for a look afterwards.
const DRAIN_TIME: Duration = Duration::from_secs(12);
const DRAIN_POLL: Duration = Duration::from_millis(20);
/// For connections that have just come in, or had their last answer before the drain: their next request is on its way.
const READ_TIME: Duration = Duration::from_millis(250);
/// After the last request is answered, for its bytes to reach the client.
const FLUSH_TIME: Duration = Duration::from_millis(500);

/// SIGTERM and SIGINT, which mean the same here.
pub struct Stop {
    terminate: Signal,
    interrupt: Signal,
}

impl Stop {
    /// From now on the signals do not end the process by themselves.
    pub fn listen() -> Result<Self, CliError> {
        let listen = |kind| signal(kind).map_err(|error| CliError::Io("cannot listen for signals", error));
        Ok(Self { terminate: listen(SignalKind::terminate())?, interrupt: listen(SignalKind::interrupt())? })
    }

    /// Waits for one of them.
    pub async fn signalled(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// The address, which can be listened on at this moment, with a free port where it leaves that open: for those who have to know it
/// before the server listens.
///
/// # Errors
///
/// When it cannot be listened on.
pub fn settled(listen: SocketAddr) -> Result<SocketAddr, CliError> {
    let free = TcpListener::bind(listen).and_then(|listener| listener.local_addr());
    free.map_err(|error| CliError::Listen(listen, error))
}

/// How to serve.
pub struct Serving {
    /// Where.
    pub listen: SocketAddr,
    /// On how many threads.
    pub http_threads: usize,
    /// Which web origins may call.
    pub cors_origins: Vec<String>,
    /// Whether the periodic jobs run here too.
    pub with_worker: bool,
    /// How long `/readyz` says no before connections are refused, for load balancers to notice.
    pub drain: Duration,
}

/// Serves until a signal comes. `announce` is called with the address once the server accepts.
///
/// # Errors
///
/// When the address cannot be bound, or the server fails.
pub async fn serve(
    app: App,
    serving: Serving,
    stop: &mut Stop,
    announce: impl FnOnce(SocketAddr),
) -> Result<(), CliError> {
    let listen = serving.listen;
    let server::Started { server, address, entrance } =
        server::start(app.clone(), listen, serving.http_threads, serving.cors_origins)
            .map_err(|error| CliError::Listen(listen, error))?;
    let handle = server.handle();
    let mut running = tokio::spawn(server);
    let jobs_end = CancellationToken::new();
    let jobs = tokio::spawn(worker::serve_jobs(app.clone(), jobs_end.clone()));
    let worker = serving.with_worker.then(|| tokio::spawn(worker::run(app.clone(), jobs_end.clone())));
    announce(address);

    tokio::select! {
        () = stop.signalled() => {}
        // Without a signal the server does not end by itself.
        ended = &mut running => {
            let error = ended.map_or_else(io::Error::other, |ended| ended.err().unwrap_or_else(|| io::Error::other("ended")));
            return Err(CliError::Io("the server has ended", error));
        }
    }
    tracing::info!(in_flight = app.in_flight(), "stopping");
    tokio::select! {
        () = drain(&app, &handle, &entrance, serving.drain) => {}
        // Whoever asks a second time does not want to wait.
        () = stop.signalled() => {}
    }
    jobs_end.cancel();
    let longest = longest(&app);
    let _ = timeout(longest, jobs).await;
    if let Some(worker) = worker {
        let _ = timeout(longest, worker).await;
    }
    running.abort();
    app.db.close();
    tracing::info!("stopped");
    Ok(())
}

async fn drain(app: &App, handle: &ServerHandle, entrance: &Entrance, notice: Duration) {
    app.drain();
    sleep(notice).await;
    telemetry::connections_are_refused();
    match entrance.close().await {
        // The server must not take up a socket that is closed.
        Ok(()) => handle.pause().await,
        Err(error) => tracing::debug!(%error, "connections are taken until the server stops"),
    }
    // What has come is still read and answered, which ends its connection.
    sleep(READ_TIME).await;
    let end = Instant::now() + longest(app);
    while app.in_flight() > 0 && Instant::now() < end {
        sleep(DRAIN_POLL).await;
    }
    // Connections that are open end with the answer in hand, idle ones at once.
    let stopping = tokio::spawn(handle.stop(true));
    let _ = timeout(longest(app), app.work_done()).await;
    // Ends at once when no connection is open; idle ones are not waited for.
    let _ = timeout(FLUSH_TIME, stopping).await;
}

/// How long whatever has begun may take.
fn longest(app: &App) -> Duration {
    app.payments.gateway_timeout + DRAIN_TIME
}

/// From now on this process gets SIGTERM when the one that started it ends.
///
/// # Errors
///
/// When the system refuses.
pub fn end_with_parent() -> Result<(), CliError> {
    let set = set_parent_process_death_signal(Some(Death::TERM));
    set.map_err(|error| CliError::Io("cannot follow the parent process", error.into()))
}

/// Prints a line on standard output at once, for whoever waits for it.
pub fn say(line: &str) {
    let mut out = io::stdout().lock();
    // Nobody reads: nothing to be done.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}
