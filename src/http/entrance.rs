//! Where connections come in, and how that ends before the server does.
//!
//! When the HTTP library stops, it drops connections that it has taken and not read from yet, and the system resets those
//! that nobody has taken: their requests would get no answer though nobody refused them. So connections are refused first,
//! while the library still serves all that have come, and it is stopped later. Called by [`crate::http::server`] and
//! `ichido serve`.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{Shutdown, listen, shutdown};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;
use tokio::time::sleep;

/// Connections that may wait until they are taken, for the system to cut down to its own limit.
const BACKLOG: i32 = 2_048;
/// How long a moment is waited for in which no connection waits.
const TRIES: u32 = 200;
const PAUSE: Duration = Duration::from_millis(1);

/// The socket that listens, beside the server that takes connections from it.
#[derive(Debug)]
pub struct Entrance(TcpListener);

impl Entrance {
    /// Binds; gives the listener for the server, too.
    ///
    /// # Errors
    ///
    /// When the address cannot be bound.
    pub fn open(address: SocketAddr) -> io::Result<(Self, TcpListener)> {
        let listener = TcpListener::bind(address)?;
        listen(&listener, BACKLOG)?;
        Ok((Self(listener.try_clone()?), listener))
    }

    /// From here on connections are refused, and those that have come are served. One that comes in the very moment may be
    /// reset: no system call takes the last one and closes at once.
    ///
    /// # Errors
    ///
    /// When the system cannot do that to a socket that listens: then they are taken until the server stops.
    pub async fn close(&self) -> io::Result<()> {
        for _ in 0..TRIES {
            if !self.somebody_waits() {
                break;
            }
            sleep(PAUSE).await;
        }
        Ok(shutdown(&self.0, Shutdown::Read)?)
    }

    /// Whether a connection waits to be taken.
    fn somebody_waits(&self) -> bool {
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut [PollFd::new(&self.0, PollFlags::IN)], Some(&at_once)).is_ok_and(|ready| ready > 0)
    }
}
