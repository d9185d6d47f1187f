//! The faults, and how often each is chosen.

use crate::choice::{Choice, choose};
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
}

/// A line between two processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line {
    /// From the program to the gateway.
    Gateway,
    /// From the program to PostgreSQL.
    Database,
}

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
    /// So many of the next requests on a line are struck.
    Strike(Line, Strike, usize),
    /// Every connection of a line is reset.
    Reset(Line),
    /// Nothing passes for a time.
    Stall(Line, Duration),
    /// Everything passes late (the first) for a time (the second).
    Delay(Line, Duration, Duration),
}

/// Of 120 faults, eight kill the postmaster: one in fifteen.
const FAULTS: [Choice<Fault>; 20] = [
    (14, |_| Fault::Kill(Target::ServerA)),
    (14, |_| Fault::Kill(Target::ServerB)),
    (12, |_| Fault::Kill(Target::Worker)),
    (5, |random| Fault::Pause(Target::ServerA, millis(random, 500, 5_000))),
    (5, |random| Fault::Pause(Target::ServerB, millis(random, 500, 5_000))),
    (2, |random| Fault::Pause(Target::Worker, millis(random, 500, 5_000))),
    (14, |random| Fault::EndBackend(random.random_range(0..10_000))),
    (8, |_| Fault::KillPostmaster),
    (8, |random| Fault::Strike(Line::Gateway, Strike::CutAfter, random.random_range(1..=3))),
    (6, |random| Fault::Strike(Line::Gateway, Strike::CutBefore, random.random_range(1..=3))),
    (4, |random| Fault::Strike(Line::Gateway, Strike::HalfOpen, random.random_range(1..=2))),
    (5, |_| Fault::Reset(Line::Gateway)),
    (6, |random| Fault::Stall(Line::Gateway, millis(random, 500, 3_000))),
    (4, |random| Fault::Delay(Line::Gateway, millis(random, 50, 700), millis(random, 500, 3_000))),
    (3, |random| Fault::Strike(Line::Database, Strike::CutAfter, random.random_range(1..=3))),
    (2, |random| Fault::Strike(Line::Database, Strike::CutBefore, random.random_range(1..=3))),
    (2, |_| Fault::Strike(Line::Database, Strike::HalfOpen, 1)),
    (2, |_| Fault::Reset(Line::Database)),
    (2, |random| Fault::Stall(Line::Database, millis(random, 500, 3_000))),
    (2, |random| Fault::Delay(Line::Database, millis(random, 5, 50), millis(random, 500, 3_000))),
];

impl Fault {
    /// The next one. Without a gateway, its faults strike the database's line.
    pub fn choose(random: &mut StdRng, with_gateway: bool) -> Self {
        let fault = choose(&FAULTS, random).unwrap_or(Self::KillPostmaster);
        if with_gateway { fault } else { fault.without_gateway() }
    }

    /// The kill of one of the servers.
    pub fn kill_a_server(random: &mut StdRng) -> Self {
        Self::Kill(if random.random_bool(0.5) { Target::ServerA } else { Target::ServerB })
    }

    fn without_gateway(self) -> Self {
        match self {
            Self::Strike(_, strike, times) => Self::Strike(Line::Database, strike, times),
            Self::Reset(_) => Self::Reset(Line::Database),
            Self::Stall(_, time) => Self::Stall(Line::Database, time),
            Self::Delay(_, each, time) => Self::Delay(Line::Database, each, time),
            Self::Kill(_) | Self::Pause(..) | Self::EndBackend(_) | Self::KillPostmaster => self,
        }
    }

    /// Its kind, as the table counts it.
    pub fn kind(&self) -> String {
        match self {
            Self::Kill(target) => format!("kill {}", target.name()),
            Self::Pause(target, _) => format!("stop {}", target.name()),
            Self::EndBackend(_) => "end a backend".to_owned(),
            Self::KillPostmaster => "kill postmaster".to_owned(),
            Self::Strike(line, Strike::CutAfter, _) => format!("{}: cut after the request", line.name()),
            Self::Strike(line, Strike::CutBefore, _) => format!("{}: cut before the request", line.name()),
            Self::Strike(line, Strike::HalfOpen, _) => format!("{}: half-open", line.name()),
            Self::Reset(line) => format!("{}: reset", line.name()),
            Self::Stall(line, _) => format!("{}: stall", line.name()),
            Self::Delay(line, ..) => format!("{}: delay", line.name()),
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
        }
    }

    /// Which of the two servers it is.
    pub fn server(self) -> Option<usize> {
        match self {
            Self::ServerA => Some(0),
            Self::ServerB => Some(1),
            Self::Worker => None,
        }
    }
}

impl Line {
    fn name(self) -> &'static str {
        match self {
            Self::Gateway => "gateway line",
            Self::Database => "database line",
        }
    }
}

fn millis(random: &mut StdRng, from: u64, to: u64) -> Duration {
    Duration::from_millis(random.random_range(from..=to))
}
