//! What the run is told.

use crate::family::Family;
use clap::Parser;
use std::path::PathBuf;

/// Orders, pays and cancels under faults, and judges what came of it.
#[derive(Debug, Clone, Parser)]
pub struct Arguments {
    /// Replays the choices of a run: which faults, which orders; a new one by default
    #[arg(long)]
    pub seed: Option<u32>,
    /// Only kills: 40 % of servers, 30 % of the worker, 10 % of a backend, 15 % of the postmaster, 5 % of a gateway
    #[arg(long, group = "run")]
    pub kills: bool,
    /// Only broken lines: clients, database, gateway and notifications, each in every way in 28 faults
    #[arg(long, group = "run")]
    pub lines: bool,
    /// Only servers are killed, each kill with the time to be settled before the next; then its time is judged, too
    #[arg(long, group = "run")]
    pub single_kills: bool,
    /// Notifications under kills instead: so many shuffles
    #[arg(long, group = "run", value_name = "SHUFFLES", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub notifications: Option<u32>,
    /// A rolling deployment under load instead: so many times both servers, one after the other, are ended with SIGTERM
    #[arg(long, group = "run", value_name = "ROUNDS", num_args = 0..=1, default_missing_value = "3",
        value_parser = clap::value_parser!(u32).range(1..=200))]
    pub rolling: Option<u32>,
    /// Storms on one key instead: so many keys, each with 2 to 64 requests at once to both servers
    #[arg(long, group = "run", value_name = "KEYS", num_args = 0..=1, default_missing_value = "200",
        value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub storm: Option<u32>,
    /// How many faults; 200 by default, of kills 60, of lines 120
    #[arg(long)]
    faults: Option<u32>,
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
    /// What kind of run it is, as reports call it.
    pub fn run(&self) -> &'static str {
        let named = [
            (self.notifications.is_some(), "notifications"),
            (self.rolling.is_some(), "rolling"),
            (self.storm.is_some(), "storm"),
            (self.kills, "kills"),
            (self.lines, "lines"),
            (self.single_kills, "single kills"),
        ];
        named.into_iter().find_map(|(is, name)| is.then_some(name)).unwrap_or("faults")
    }

    /// Which faults are drawn.
    pub fn family(&self) -> Family {
        match (self.kills, self.lines, self.single_kills) {
            (true, ..) => Family::Kills,
            (_, true, _) => Family::Lines,
            (_, _, true) => Family::SingleKills,
            _ => Family::Mix,
        }
    }

    /// How many faults are drawn, or of how many the run consists.
    pub fn faults(&self) -> u32 {
        let by_default = match self.family() {
            Family::Kills => 60,
            Family::Lines => 120,
            Family::Mix | Family::SingleKills => 200,
        };
        match (self.rolling, self.storm) {
            (Some(rounds), _) => 2 * rounds,
            (_, Some(_)) => 0,
            _ => self.faults.unwrap_or(by_default),
        }
    }

    /// Whether clients call the servers themselves, with nothing in between.
    pub fn calls_directly(&self) -> bool {
        self.rolling.is_some() || self.storm.is_some()
    }

    /// How long servers say that they end before they do: as long as they do it by themselves, where that is looked at.
    pub fn drain(&self) -> &'static [&'static str] {
        if self.rolling.is_some() { &[] } else { &["--drain", "0s"] }
    }

    /// Share of orders that are cancelled, in percent.
    pub fn cancels(&self) -> u32 {
        self.cancels.unwrap_or(if self.paid == 0 { 0 } else { 10 })
    }
}
