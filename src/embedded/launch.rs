//! How PostgreSQL's programs are run so that they accept it: never as root.
//!
//! As root they run in a user namespace that shows them an ordinary user's number, so that every file stays
//! root's. Where namespaces are not allowed (in most containers), they run as the owner of the directory they work
//! in, or as the user 65534 (`nobody`), to whom the data directory is then given.

use std::os::unix::fs::{MetadataExt, lchown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

use rustix::process::geteuid;

use super::{Binaries, EmbeddedError, io_error, run};

/// The number of the user and group without rights.
pub(super) const NOBODY: u32 = 65534;

/// As whom PostgreSQL runs.
#[derive(Clone, Copy)]
enum Identity {
    /// As this process, which is not root.
    Own,
    /// As this process, in a user namespace that hides that it is root.
    Namespace,
    /// As another user and group, without further groups.
    User(u32, u32),
}

/// Builds the command lines.
pub(super) struct Launcher {
    identity: Identity,
    /// Whether `setpriv` can tie a process to the thread that starts it.
    tie: bool,
}

impl Launcher {
    /// Finds an identity as which the binaries run and `data_dir` can be reached. `data_dir` need not exist; its
    /// parent must.
    pub fn choose(binaries: &Binaries, data_dir: &Path) -> Result<Launcher, EmbeddedError> {
        let mut setpriv = Command::new("setpriv");
        setpriv.args(["--pdeathsig", "INT", "true"]);
        let tie = run::succeeds(setpriv);
        if !geteuid().is_root() {
            return Ok(Launcher { identity: Identity::Own, tie });
        }
        let parent = data_dir.parent().unwrap_or(data_dir);
        let mut reasons = Vec::new();
        for identity in candidates(data_dir, parent) {
            let launcher = Launcher { identity, tie };
            match launcher.obstacle(binaries, parent) {
                None => return Ok(launcher),
                Some(reason) => reasons.push(format!("{}: {reason}", launcher.describe())),
            }
        }
        Err(EmbeddedError::Root { reason: reasons.join("; ") })
    }

    /// The command that runs a program as the chosen identity, and, where possible, sends it the `end` signal (such
    /// as `INT`) when the *thread* that spawned it ends, which is the kernel's rule.
    pub fn command(&self, program: &Path, end: &str) -> Command {
        let mut words = Vec::new();
        if matches!(self.identity, Identity::Namespace) {
            // Numbers, since a minimal image has no names for them.
            let user = format!("--map-user={NOBODY}");
            let group = format!("--map-group={NOBODY}");
            words.extend(["unshare".to_owned(), "--user".to_owned(), user, group]);
        }
        if self.tie {
            // Innermost: a change of identity would lift the tie.
            words.extend(["setpriv".to_owned(), "--pdeathsig".to_owned(), end.to_owned()]);
        }
        let mut words = words.into_iter();
        let mut command = match words.next() {
            Some(first) => {
                let mut command = Command::new(first);
                command.args(words).arg(program);
                command
            }
            None => Command::new(program),
        };
        if let Identity::User(user, group) = self.identity {
            // This also drops all further groups.
            command.uid(user).gid(group);
        }
        // Variables such as PGDATA, PGPORT or PGOPTIONS are meant for the person's own PostgreSQL.
        for (name, _) in env::vars_os().filter(|(name, _)| name.as_encoded_bytes().starts_with(b"PG")) {
            command.env_remove(name);
        }
        // A working directory that the identity may not enter makes PostgreSQL complain.
        command.env("LC_ALL", "C").current_dir("/");
        command
    }

    /// Whether the identity may enter a directory.
    pub fn can_enter(&self, dir: &Path) -> bool {
        let mut command = self.command(Path::new("test"), "KILL");
        command.arg("-x").arg(dir);
        run::succeeds(command)
    }

    /// Gives one file or directory to the identity.
    pub fn hand_over(&self, path: &Path) -> Result<(), EmbeddedError> {
        let Some((user, group)) = self.owner() else {
            return Ok(());
        };
        lchown(path, Some(user), Some(group)).map_err(io_error("change the owner of", path))
    }

    /// Gives a whole tree to the identity, when it is not its own yet.
    pub fn hand_over_tree(&self, top: &Path) -> Result<(), EmbeddedError> {
        let metadata = fs::symlink_metadata(top).map_err(io_error("read", top))?;
        if self.owner().is_none_or(|(user, _)| user == metadata.uid()) {
            return Ok(());
        }
        let mut pending = vec![top.to_path_buf()];
        let mut found = Vec::new();
        // Bounded by the number of directories: links are not followed.
        while let Some(dir) = pending.pop() {
            for entry in fs::read_dir(&dir).map_err(io_error("read", &dir))? {
                let entry = entry.map_err(io_error("read", &dir))?;
                let kind = entry.file_type().map_err(io_error("read", &entry.path()))?;
                if kind.is_dir() {
                    pending.push(entry.path());
                }
                found.push(entry.path());
            }
        }
        for path in &found {
            self.hand_over(path)?;
        }
        // Last, so that an interrupted change of owners is found unfinished and repeated.
        self.hand_over(top)
    }

    /// Whose the files must be; `None` when they can only be our own.
    fn owner(&self) -> Option<(u32, u32)> {
        match self.identity {
            Identity::Own => None,
            Identity::Namespace => Some((0, 0)),
            Identity::User(user, group) => Some((user, group)),
        }
    }

    /// What prevents the identity from being used, if anything.
    fn obstacle(&self, binaries: &Binaries, parent: &Path) -> Option<String> {
        if !run::succeeds(self.command(Path::new("true"), "KILL")) {
            return Some("the system does not allow it".to_owned());
        }
        let mut version = self.command(&binaries.program("postgres"), "KILL");
        version.arg("--version");
        if !run::succeeds(version) {
            return Some(format!("it cannot run the programs in {}", binaries.bin_dir.display()));
        }
        (!self.can_enter(parent)).then(|| format!("it cannot enter {}", parent.display()))
    }

    fn describe(&self) -> String {
        match self.identity {
            Identity::Own => "as this user".to_owned(),
            Identity::Namespace => "in a user namespace (unshare)".to_owned(),
            Identity::User(user, _) => format!("as user {user}"),
        }
    }
}

/// Whether this process may make a user namespace.
pub(super) fn namespace_allowed() -> bool {
    let launcher = Launcher { identity: Identity::Namespace, tie: false };
    run::succeeds(launcher.command(Path::new("true"), "KILL"))
}

/// Root's choices, the best first. A data directory of an ordinary user stays that user's; one that had to be given
/// to `nobody` comes back to root once namespaces are allowed.
fn candidates(data_dir: &Path, parent: &Path) -> Vec<Identity> {
    let ordinary = |path: &Path| {
        let metadata = fs::metadata(path).ok()?;
        let is_ordinary = ![0, NOBODY].contains(&metadata.uid());
        is_ordinary.then(|| Identity::User(metadata.uid(), metadata.gid()))
    };
    if let Some(identity) = ordinary(data_dir) {
        return vec![identity];
    }
    let mut identities = vec![Identity::Namespace];
    identities.extend(ordinary(parent));
    identities.push(Identity::User(NOBODY, NOBODY));
    identities
}
