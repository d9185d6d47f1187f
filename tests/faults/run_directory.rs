//! Where a run keeps its data.

use crate::Failure;
use std::fs;
use std::path::{Path, PathBuf};

/// How the names of the directories with the data begin.
const RUN_PREFIX: &str = "run-";

/// A directory for the data of one run; removed on drop, but for the logs in it.
pub struct RunDirectory(pub PathBuf);

/// What is worth keeping, under which name.
const KEPT: [(&str, &str); 3] = [
    ("postgres/postgres.log", "postgres.log"),
    ("gateway-north.jsonl", "gateway-north.jsonl"),
    ("gateway-south.jsonl", "gateway-south.jsonl"),
];

impl RunDirectory {
    /// Makes it, and removes the logs of the last run and the data of those that were killed.
    pub fn create(logs: &Path) -> Result<Self, Failure> {
        for entry in fs::read_dir(logs)?.flatten() {
            let name = entry.file_name();
            if entry.file_type()?.is_file() && !name.to_string_lossy().ends_with(".json") {
                fs::remove_file(entry.path())?;
            }
            let owner = name.to_str().and_then(|name| name.strip_prefix(RUN_PREFIX));
            if owner.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
                // What cannot be removed takes space, but hinders nothing.
                let _ = fs::remove_dir_all(entry.path());
            }
        }
        let path = logs.join(format!("{RUN_PREFIX}{}", std::process::id()));
        fs::create_dir_all(&path)?;
        Ok(Self(path))
    }
}

impl Drop for RunDirectory {
    fn drop(&mut self) {
        if let Some(logs) = self.0.parent() {
            for (from, to) in KEPT {
                // Without payments there is no gateway.
                let _ = fs::copy(self.0.join(from), logs.join(to));
            }
        }
        // The next run tries again.
        let _ = fs::remove_dir_all(&self.0);
    }
}
