//! A lock file that the kernel releases when its holder dies.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use super::{EmbeddedError, io_error, run};

/// Refuses a symbolic link in place of a file: root must not be led astray in a directory that is another user's.
pub(super) const NO_LINK: i32 = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();

/// An exclusive lock, held until it is dropped or the process ends in whatever way.
pub(super) struct FileLock {
    _file: File,
}

/// The lock, or the process that holds it (as far as the file tells).
pub(super) enum Acquired {
    Held(FileLock),
    By(Option<u32>),
}

impl FileLock {
    /// Takes the lock at `path`, waiting at most `limit` for another holder.
    ///
    /// The file stays behind when the lock is released: removing it would let two processes hold locks on two
    /// files of the same name.
    pub fn acquire(path: &Path, limit: Duration) -> Result<Acquired, EmbeddedError> {
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(NO_LINK)
            .open(path)
            .map_err(io_error("open the lock file", path))?;
        let mut failure = None;
        let locked = run::poll(limit, Duration::from_millis(50), || match file.try_lock() {
            Ok(()) => true,
            Err(TryLockError::WouldBlock) => false,
            Err(TryLockError::Error(error)) => {
                failure = Some(error);
                true
            }
        });
        if let Some(error) = failure {
            return Err(io_error("lock", path)(error));
        }
        if !locked {
            let mut text = String::new();
            // The number only makes the message better.
            let _ = file.read_to_string(&mut text);
            return Ok(Acquired::By(text.trim().parse().ok()));
        }
        file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id())).map_err(io_error("write", path))?;
        Ok(Acquired::Held(FileLock { _file: file }))
    }
}
