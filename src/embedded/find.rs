//! Finding PostgreSQL's programs.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use std::{env, fs};

use super::{EmbeddedError, data, fetch, run};

/// The oldest major version that Ichido runs on.
pub const OLDEST_MAJOR_VERSION: u32 = 15;

/// Where Debian and its descendants install each major version.
const SYSTEM_DIR: &str = "/usr/lib/postgresql";

/// A directory with PostgreSQL's programs, which holds at least `initdb` and `postgres`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binaries {
    /// The directory, absolute and free of symbolic links.
    pub bin_dir: PathBuf,
    /// The major version that its `postgres --version` told, such as 18.
    pub major_version: u32,
}

impl Binaries {
    /// Finds PostgreSQL 15 or newer: the directory `PG_BIN`, else the newest in `/usr/lib/postgresql`, else the
    /// first in `PATH`, else one fetched by [`fetch`](super::fetch()), which tells `progress` before it downloads.
    ///
    /// # Errors
    ///
    /// [`EmbeddedError::PgBin`] or [`EmbeddedError::TooOld`] when `PG_BIN` is set to something unusable (it is
    /// never passed over), [`EmbeddedError::NotFound`] when there is nothing and nothing could be fetched.
    pub fn find(progress: &dyn Fn(&str)) -> Result<Binaries, EmbeddedError> {
        if let Some(named) = from_pg_bin()? {
            return Ok(named);
        }
        if let Some(local) = installed().into_iter().next() {
            return Ok(local);
        }
        fetch(progress).map_err(|error| EmbeddedError::NotFound { fetch: Box::new(error) })
    }

    /// Finds binaries for a data directory: those of the major version that made it, or, when the directory is
    /// empty or missing, what [`Binaries::find`] finds.
    ///
    /// # Errors
    ///
    /// As [`Binaries::find`]; [`EmbeddedError::VersionMismatch`] when there are none of the version needed.
    pub fn find_for(data_dir: &Path, progress: &dyn Fn(&str)) -> Result<Binaries, EmbeddedError> {
        let Some(needed) = data::major_version(data_dir)? else {
            return Binaries::find(progress);
        };
        let named = from_pg_bin()?;
        let candidates: Vec<Binaries> = named.iter().cloned().chain(installed()).collect();
        if let Some(fitting) = candidates.iter().find(|binaries| binaries.major_version == needed) {
            if let Some(named) = named.filter(|named| named.major_version != needed) {
                progress(&format!(
                    "PG_BIN is PostgreSQL {}, but {} was made by {needed}: using {}",
                    named.major_version,
                    data_dir.display(),
                    fitting.bin_dir.display()
                ));
            }
            return Ok(fitting.clone());
        }
        if needed == fetch::MAJOR_VERSION {
            return fetch(progress)
                .map_err(|error| mismatch(data_dir, needed, format!("was not found here ({error})")));
        }
        Err(mismatch(data_dir, needed, "was not found here".to_owned()))
    }

    /// Checks a directory: both programs are there and `postgres --version` tells a version.
    pub(super) fn inspect(dir: &Path) -> Result<Binaries, String> {
        let bin_dir = fs::canonicalize(dir).map_err(|error| format!("it cannot be opened ({error})"))?;
        for program in ["initdb", "postgres"] {
            if !bin_dir.join(program).is_file() {
                return Err(format!("it holds no {program}"));
            }
        }
        let mut command = Command::new(bin_dir.join("postgres"));
        command.arg("--version");
        let finished = run::run(command, Duration::from_secs(20))
            .map_err(|error| format!("its postgres cannot be run ({error})"))?;
        let major_version = parse_version(&finished.output)
            .filter(|_| finished.status.success())
            .ok_or_else(|| format!("its postgres told no version: {}", run::last_lines(&finished.output, 3)))?;
        Ok(Binaries { bin_dir, major_version })
    }

    /// The path of a program.
    pub(super) fn program(&self, name: &str) -> PathBuf {
        self.bin_dir.join(name)
    }
}

/// The error for binaries of another major version than the data directory's.
pub(super) fn mismatch(data_dir: &Path, needed: u32, reason: String) -> EmbeddedError {
    EmbeddedError::VersionMismatch { data_dir: data_dir.to_path_buf(), needed, reason }
}

/// What `PG_BIN` names; an empty value counts as unset.
fn from_pg_bin() -> Result<Option<Binaries>, EmbeddedError> {
    let Some(path) = env::var_os("PG_BIN").filter(|value| !value.is_empty()).map(PathBuf::from) else {
        return Ok(None);
    };
    match Binaries::inspect(&path) {
        Ok(found) if found.major_version < OLDEST_MAJOR_VERSION => {
            Err(EmbeddedError::TooOld { path, version: found.major_version })
        }
        Ok(found) => Ok(Some(found)),
        Err(reason) => Err(EmbeddedError::PgBin { path, reason }),
    }
}

/// What is installed: the system's directories, newest first, then those in `PATH`, in its order.
fn installed() -> Vec<Binaries> {
    let mut versions: Vec<u32> = fs::read_dir(SYSTEM_DIR)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect();
    versions.sort_unstable_by(|left, right| right.cmp(left));
    let system = versions.into_iter().map(|version| Path::new(SYSTEM_DIR).join(version.to_string()).join("bin"));
    // A link such as /usr/local/bin/postgres stands beside no initdb, lib or share: its target's directory counts.
    let path = env::var_os("PATH").unwrap_or_default();
    let in_path = env::split_paths(&path)
        .filter(|dir| dir.is_absolute())
        .filter_map(|dir| fs::canonicalize(dir.join("postgres")).ok()?.parent().map(Path::to_path_buf));
    let mut seen = Vec::new();
    for dir in system.chain(in_path.collect::<Vec<_>>()) {
        if let Ok(found) = Binaries::inspect(&dir)
            && found.major_version >= OLDEST_MAJOR_VERSION
            && !seen.contains(&found)
        {
            seen.push(found);
        }
    }
    seen
}

/// The major version in a line such as `postgres (PostgreSQL) 18.6` or `postgres (PostgreSQL) 19beta1`.
fn parse_version(output: &str) -> Option<u32> {
    let (_, version) = output.split_once("(PostgreSQL)")?;
    let digits: String = version.trim_start().chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::parse_version;

    #[test]
    fn versions() {
        assert_eq!(parse_version("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n"), Some(15));
        assert_eq!(parse_version("postgres (PostgreSQL) 19beta1\n"), Some(19));
        assert_eq!(parse_version("postgres (PostgreSQL) 9.6.24\n"), Some(9));
        assert_eq!(parse_version("bash: postgres: not found\n"), None);
    }
}
