//! The private directory for PostgreSQL's unix socket.

use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use super::launch::Launcher;
use super::{EmbeddedError, io_error, leftovers};

/// How the directories' names begin.
pub(super) const PREFIX: &str = "ichido-pg-";

/// The socket's name in its directory, which follows from the port number that the server is started with.
const SOCKET: &str = ".s.PGSQL.5432";

/// The longest path of a unix socket in bytes: 107 on Linux, 103 on macOS.
const PATH_LIMIT: usize = 103;

/// Tries to find a free name; each try takes a new one.
const ATTEMPTS: u32 = 100;

/// A directory that only we (and the identity PostgreSQL runs as) may enter; removed on drop.
pub(super) struct SocketDir {
    path: PathBuf,
}

impl SocketDir {
    /// Makes a new one in the system's temporary directory, or in `/tmp` where that one does not serve.
    pub fn create(launcher: &Launcher) -> Result<SocketDir, EmbeddedError> {
        let base = [env::temp_dir(), PathBuf::from("/tmp")]
            .into_iter()
            .find(|base| serves(base) && launcher.can_enter(base))
            .unwrap_or_else(|| PathBuf::from("/tmp"));
        leftovers::remove_stale_dirs(&base, PREFIX, is_served);
        let mut failure = None;
        for _ in 0..ATTEMPTS {
            let path = base.join(leftovers::unique_name(PREFIX));
            match fs::DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => {
                    let made = SocketDir { path };
                    launcher.hand_over(&made.path)?;
                    return Ok(made);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => failure = Some(error),
                Err(error) => return Err(io_error("make the socket directory", &path)(error)),
            }
        }
        let error = failure.unwrap_or_else(|| io::ErrorKind::AlreadyExists.into());
        Err(io_error("make a socket directory in", &base)(error))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for SocketDir {
    fn drop(&mut self) {
        // What stays behind is removed by a later start.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Whether sockets in this directory have paths that are short enough and plain enough: PostgreSQL's setting is a
/// list in which commas, quotes and spaces have a meaning.
fn serves(base: &Path) -> bool {
    let longest = format!("/{PREFIX}{}-{}/{SOCKET}", u32::MAX, u32::MAX);
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._+-".contains(&byte);
    base.is_absolute()
        && base.is_dir()
        && base.to_str().is_some_and(|text| text.bytes().all(plain) && text.len() + longest.len() <= PATH_LIMIT)
}

/// Whether somebody answers: another container may share the directory, and its process numbers mean nothing here.
fn is_served(dir: &Path) -> bool {
    UnixStream::connect(dir.join(SOCKET)).is_ok()
}
