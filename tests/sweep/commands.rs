//! What an operator types: with the failpoint armed, and then again without until it is done.

use crate::case::Case;
use serde_json::Value;
use std::process::{Command, Output};

/// Tries without the failpoint.
const TRIES: usize = 3;

impl Case {
    /// Runs an admin command with the failpoint armed, and then again without until it is done; gives what that printed with
    /// `--json`.
    pub async fn command(&self, words: &[&str]) -> Value {
        self.command_with(words, &[]).await
    }

    /// The same with further variables.
    pub async fn command_with(&self, words: &[&str], variables: &[(&str, &str)]) -> Value {
        self.run(words, variables, true).await;
        let mut said = String::new();
        for _ in 0..TRIES {
            let output = self.run(words, variables, false).await;
            if output.status.success() {
                return serde_json::from_slice(&output.stdout).unwrap_or_default();
            }
            said = String::from_utf8_lossy(&output.stderr).into_owned();
        }
        panic!("`ichido {}` does not end well: {said}", words.join(" "));
    }

    async fn run(&self, words: &[&str], variables: &[(&str, &str)], armed: bool) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ichido"));
        let of_it = self.environment.iter().filter(|(name, _)| armed || name != "FAILPOINTS");
        command.args(words).envs(of_it.map(|(name, value)| (name, value))).envs(variables.iter().copied());
        tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap()
    }
}
