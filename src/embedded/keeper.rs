//! A thread that starts a child and then only lives.
//!
//! The kernel's parent-death signal follows the *thread* that started the child, not its process: a server started
//! on a worker or test thread would be stopped as soon as that thread ended. So a thread of its own starts it and
//! lives until the server has ended, or until the whole process dies, which is the case the signal is for.

use std::io;
use std::process::{Child, Command};
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};

/// The thread; it ends when this is dropped, and the child's parent-death signal is sent if the child still runs.
pub(super) struct Keeper {
    release: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Keeper {
    /// Starts the command on a new thread that lives as long as the keeper.
    pub fn spawn(mut command: Command) -> io::Result<(Child, Keeper)> {
        let (report, child) = mpsc::channel();
        let (release, released) = mpsc::channel::<()>();
        let thread = thread::Builder::new().name("ichido-postgres".to_owned()).spawn(move || {
            let spawned = command.spawn();
            // It holds the log file open.
            drop(command);
            let _ = report.send(spawned);
            // Ends with an error when the sender is dropped, which is the only thing that ever happens to it.
            let _ = released.recv();
        })?;
        let keeper = Keeper { release: Some(release), thread: Some(thread) };
        let child = child.recv().map_err(|_| io::Error::other("the thread that starts PostgreSQL ended early"))??;
        Ok((child, keeper))
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.release.take());
        if let Some(thread) = self.thread.take() {
            // A panic there has nothing to say to whoever drops this.
            let _ = thread.join();
        }
    }
}
