//! What the run is told.

use clap::Parser;
use std::path::PathBuf;

/// Orders, pays and cancels under faults, and judges what came of it.
#[derive(Debug, Clone, Parser)]
pub struct Arguments {
    /// Replays the choices of a run: which faults, which orders; a new one by default
    #[arg(long)]
    pub seed: Option<u32>,
    /// Only servers are killed, each kill with the time to be settled before the next; then its time is judged, too
    #[arg(long)]
    pub single_kills: bool,
    /// Notifications under kills instead: so many shuffles
    #[arg(long, value_name = "SHUFFLES", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub notifications: Option<u32>,
    /// How many faults
    #[arg(long, default_value_t = 200)]
    pub faults: u32,
    /// How many clients at once
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub clients: u32,
    /// Share of orders with a payment, in percent; with 0 the gateway is left out altogether
    #[arg(long, default_value_t = 25, value_parser = clap::value_parser!(u32).range(..=100))]
    pub paid: u32,
    /// Share of orders that are cancelled after their answer, in percent; 10 by default, without payments 0
    #[arg(long, value_parser = clap::value_parser!(u32).range(..=100))]
    pub cancels: Option<u32>,
    /// Open reconciliation cases that are tolerated: asking can run out while the gateway cannot be reached
    #[arg(long, default_value_t = 3)]
    pub max_cases: usize,
    /// The program under test, best a release build; by default the one that was built with this run
    #[arg(long, default_value = env!("CARGO_BIN_EXE_ichido"))]
    pub program: PathBuf,
    /// Where to write the figures as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

impl Arguments {
    /// Share of orders that are cancelled, in percent.
    pub fn cancels(&self) -> u32 {
        self.cancels.unwrap_or(if self.paid == 0 { 0 } else { 10 })
    }
}
