//! The faults, what they strike, and what they are called.

use crate::proxy::Strike;
use rand::Rng;
use rand::rngs::StdRng;
use std::time::Duration;

/// A process of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// The server that runs the worker too.
    ServerA,
    /// The server that does not.
    ServerB,
    /// The worker.
    Worker,
    /// One of the simulated gateways.
    Gateway(usize),
}

/// A line between two processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Line {
    /// From clients to the servers.
    Client,
    /// From the program to PostgreSQL.
    Database,
    /// From the program to the gateways.
    Gateway,
    /// From the gateways to the servers.
    Notification,
}

/// All lines.
pub const LINES: [Line; 4] = [Line::Client, Line::Database, Line::Gateway, Line::Notification];

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// kill -9.
    Kill(Target),
    /// SIGSTOP, and SIGCONT after a time.
    Pause(Target, Duration),
    /// `pg_terminate_backend`; the number picks one.
    EndBackend(usize),
    /// kill -9 of PostgreSQL's main process.
    KillPostmaster,
    /// SIGTERM, which a process is to end in order after.
    Drain(Target),
    /// So many of the next requests on a line are struck.
    Strike(Line, Strike, usize),
    /// Every connection of a line is reset.
    Reset(Line),
    /// Nothing passes for a time.
    Stall(Line, Duration),
    /// Everything passes late (the first) for a time (the second).
    Delay(Line, Duration, Duration),
    /// Everything passes in pieces of a few bytes for a time.
    Split(Line, Duration),
}

impl Fault {
    /// What comes instead of it where there is no gateway.
    pub fn without_gateway(self) -> Self {
        match self {
            Self::Kill(Target::Gateway(_)) => Self::Kill(Target::Worker),
            Self::Strike(line, strike, times) => Self::Strike(line.without_gateway(), strike, times),
            Self::Reset(line) => Self::Reset(line.without_gateway()),
            Self::Stall(line, time) => Self::Stall(line.without_gateway(), time),
            Self::Delay(line, each, time) => Self::Delay(line.without_gateway(), each, time),
            Self::Split(line, time) => Self::Split(line.without_gateway(), time),
            Self::Kill(_) | Self::Pause(..) | Self::EndBackend(_) | Self::KillPostmaster | Self::Drain(_) => self,
        }
    }

    /// Its kind, as the table counts it.
    pub fn kind(&self) -> String {
        match self {
            Self::Kill(target) => format!("kill {}", target.name()),
            Self::Pause(target, _) => format!("stop {}", target.name()),
            Self::EndBackend(_) => "end a backend".to_owned(),
            Self::KillPostmaster => "kill postmaster".to_owned(),
            Self::Drain(target) => format!("SIGTERM to {}", target.name()),
            Self::Strike(line, Strike::CutAfter, _) => format!("{}: cut after the request", line.name()),
            Self::Strike(line, Strike::CutBefore, _) => format!("{}: cut before the request", line.name()),
            Self::Strike(line, Strike::HalfOpen, _) => format!("{}: half-open", line.name()),
            Self::Reset(line) => format!("{}: reset", line.name()),
            Self::Stall(line, _) => format!("{}: stall", line.name()),
            Self::Delay(line, ..) => format!("{}: slow", line.name()),
            Self::Split(line, _) => format!("{}: split", line.name()),
        }
    }
}

impl Target {
    /// What it is called in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::ServerA => "server A",
            Self::ServerB => "server B",
            Self::Worker => "worker",
            Self::Gateway(_) => "gateway",
        }
    }

    /// Which of the two servers it is.
    pub fn server(self) -> Option<usize> {
        match self {
            Self::ServerA => Some(0),
            Self::ServerB => Some(1),
            Self::Worker | Self::Gateway(_) => None,
        }
    }
}

impl Line {
    /// What it is called in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Client => "client line",
            Self::Database => "database line",
            Self::Gateway => "gateway line",
            Self::Notification => "notification line",
        }
    }

    fn without_gateway(self) -> Self {
        match self {
            Self::Client | Self::Notification => Self::Client,
            Self::Database | Self::Gateway => Self::Database,
        }
    }
}

/// A time between two numbers of milliseconds.
pub fn millis(random: &mut StdRng, from: u64, to: u64) -> Duration {
    Duration::from_millis(random.random_range(from..=to))
}
