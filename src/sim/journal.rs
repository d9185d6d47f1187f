//! The journal: one JSON object a line, on disk before anybody hears of it.
//!
//! Lines are queued under the world's lock, so their order is the order of what happened. One thread writes what is
//! queued and syncs once for all of it; answers wait for that ([`Journal::synced`]).

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;
use thiserror::Error;
use tokio::sync::watch;

/// The disk refused. Nothing more is told from then on.
#[derive(Debug, Error)]
#[error("the journal cannot be written")]
pub struct JournalLost;

/// A journal, which may be none: then nothing is written and nothing waited for.
#[derive(Default)]
pub struct Journal {
    disk: Option<Disk>,
}

struct Disk {
    lines: Sender<String>,
    appended: AtomicU64,
    synced: watch::Receiver<u64>,
}

/// A world that has just been stopped may need a moment to let go of its file.
const LOCK_TRIES: u32 = 100;
const LOCK_PAUSE: Duration = Duration::from_millis(20);

impl Journal {
    /// Opens the file, or makes it, and returns the lines that are in it. A last line without its end was being written
    /// when the process died; nobody was told of it, and it is cut off.
    ///
    /// # Errors
    ///
    /// When the file cannot be used, or another world uses it.
    pub fn open(path: &Path) -> io::Result<(Self, Vec<String>)> {
        let mut file = OpenOptions::new().create(true).read(true).append(true).open(path)?;
        lock(&file)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        if whole < bytes.len() {
            file.set_len(whole as u64)?;
            bytes.truncate(whole);
        }
        let text = String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        file.sync_all()?;
        // A new file is there after a crash only once its directory is on disk.
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        File::open(parent.unwrap_or(Path::new(".")))?.sync_all()?;
        let lines = text.lines().map(str::to_owned).collect();
        let (queue, queued) = channel();
        let (tell, synced) = watch::channel(0);
        thread::Builder::new().name("sim-journal".to_owned()).spawn(move || write(file, &queued, &tell))?;
        let disk = Disk { lines: queue, appended: AtomicU64::new(0), synced };
        Ok((Self { disk: Some(disk) }, lines))
    }

    /// Whether there is a file.
    pub fn is_kept(&self) -> bool {
        self.disk.is_some()
    }

    /// Queues a line. The caller holds the world's lock.
    pub fn append(&self, line: String) {
        if let Some(disk) = &self.disk {
            disk.appended.fetch_add(1, Ordering::SeqCst);
            // The thread has ended: `synced` will say so.
            let _ = disk.lines.send(line);
        }
    }

    /// Returns once everything that was queued until now is on disk.
    ///
    /// # Errors
    ///
    /// [`JournalLost`].
    pub async fn synced(&self) -> Result<(), JournalLost> {
        let Some(disk) = &self.disk else {
            return Ok(());
        };
        let target = disk.appended.load(Ordering::SeqCst);
        let mut synced = disk.synced.clone();
        synced.wait_for(|count| *count >= target).await.map(|_| ()).map_err(|_| JournalLost)
    }
}

fn lock(file: &File) -> io::Result<()> {
    for _ in 0..LOCK_TRIES {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) => thread::sleep(LOCK_PAUSE),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Err(io::Error::new(io::ErrorKind::ResourceBusy, "the journal belongs to another simulated world that runs"))
}

/// Until the world is gone or the disk refuses.
fn write(mut file: File, queued: &Receiver<String>, tell: &watch::Sender<u64>) {
    let mut count = 0;
    while let Ok(first) = queued.recv() {
        let mut batch = String::new();
        for line in std::iter::once(first).chain(queued.try_iter()) {
            batch.push_str(&line);
            batch.push('\n');
            count += 1;
        }
        if let Err(error) = file.write_all(batch.as_bytes()).and_then(|()| file.sync_data()) {
            tracing::error!(%error, "the simulated world's journal cannot be written");
            return;
        }
        tell.send_replace(count);
    }
}
