//! What admin commands print: text for people, or with `--json` exactly one object.

use crate::cli::CliError;
use clap::Args;
use serde_json::{Value, json};

/// The flag that every admin command has.
#[derive(Debug, Args)]
pub struct Output {
    /// Print exactly one JSON object on standard output
    #[arg(long)]
    pub json: bool,
}

/// Arguments of a command that shows something of one organisation.
#[derive(Debug, Args)]
pub struct OfOrg {
    /// The organisation
    #[arg(long)]
    pub org: i64,
    #[command(flatten)]
    pub output: Output,
}

impl Output {
    /// Prints the result.
    #[expect(clippy::print_stdout, reason = "this is what the command is for")]
    pub fn print(&self, object: &Value, text: impl FnOnce() -> String) {
        if self.json {
            println!("{object}");
        } else {
            println!("{}", text());
        }
    }
}

/// Prints why a command failed: to people on standard error, to programs as the one object.
#[expect(clippy::print_stdout, clippy::print_stderr, reason = "this is what the command is for")]
pub fn failure(error: &CliError, as_json: bool) {
    // A failed check, and a sweep that was cut short, have printed their object already.
    if as_json && !matches!(error, CliError::ChecksFailed(_) | CliError::SweepIncomplete(_)) {
        println!("{}", json!({ "error": error.to_string() }));
    }
    eprintln!("ichido: {error}");
}
