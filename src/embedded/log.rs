//! PostgreSQL's log file in the data directory.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::launch::Launcher;
use super::{EmbeddedError, io_error, lock, run};

/// The log file's name in the data directory.
const NAME: &str = "postgres.log";

/// The size in bytes from which the log is put aside at a start, as `postgres.log.1`.
const SIZE_LIMIT: u64 = 8 * 1024 * 1024;

/// The log, opened for one start.
pub(super) struct Log {
    path: PathBuf,
    file: File,
    /// Where this start's part of it begins, in bytes.
    offset: u64,
}

impl Log {
    /// Opens the log for appending, and puts one that has grown large aside.
    pub fn open(data_dir: &Path, launcher: &Launcher) -> Result<Log, EmbeddedError> {
        let path = data_dir.join(NAME);
        if fs::metadata(&path).is_ok_and(|metadata| metadata.len() > SIZE_LIMIT) {
            // A log that cannot be put aside just goes on growing.
            let _ = fs::rename(&path, data_dir.join("postgres.log.1"));
        }
        let mut options = OpenOptions::new();
        options.append(true).create(true).mode(0o600).custom_flags(lock::NO_LINK);
        let file = options.open(&path).map_err(io_error("open the log", &path))?;
        launcher.hand_over(&path)?;
        let offset = file.metadata().map_err(io_error("read", &path))?.len();
        Ok(Log { path, file, offset })
    }

    /// Two handles to write with.
    pub fn writers(&self) -> Result<(File, File), EmbeddedError> {
        let clone = || self.file.try_clone().map_err(io_error("open the log", &self.path));
        Ok((clone()?, clone()?))
    }

    /// The last ten lines of this start.
    pub fn tail(&self) -> String {
        let mut bytes = Vec::new();
        let read = File::open(&self.path).and_then(|mut log| {
            log.seek(SeekFrom::Start(self.offset))?;
            log.take(SIZE_LIMIT).read_to_end(&mut bytes)
        });
        match read {
            Ok(0) => "(nothing)".to_owned(),
            Ok(_) => run::last_lines(&String::from_utf8_lossy(&bytes), 10),
            Err(error) => format!("(unreadable: {error})"),
        }
    }

    /// Closes the log.
    pub fn into_path(self) -> PathBuf {
        self.path
    }
}
