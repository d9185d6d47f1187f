//! What is measured.

/// One kind of load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// HTTP: every request has a key of its own.
    New,
    /// pgbench: the one statement that such a request costs PostgreSQL.
    PgbenchClaim,
    /// HTTP: every request repeats one that was answered before.
    Replay,
    /// pgbench: the read by key that such a request costs PostgreSQL.
    PgbenchRead,
    /// HTTP: new and repeated requests mixed at random, half of each.
    Half,
}

/// All works in the order of one round: what is compared runs one after the other.
pub const WORKS: [Work; 5] = [Work::New, Work::PgbenchClaim, Work::Replay, Work::PgbenchRead, Work::Half];

/// How many connections (or pgbench clients) each work runs with.
pub const CONNECTIONS: [usize; 2] = [32, 128];

impl Work {
    /// The name in the table.
    pub fn name(self) -> &'static str {
        match self {
            Self::New => "http new",
            Self::Replay => "http replay",
            Self::Half => "http half new",
            Self::PgbenchClaim => "pgbench single statement",
            Self::PgbenchRead => "pgbench read by key",
        }
    }

    /// The name in the JSON report.
    pub fn id(self) -> &'static str {
        match self {
            Self::New => "http_new",
            Self::Replay => "http_replay",
            Self::Half => "http_half",
            Self::PgbenchClaim => "pgbench_single_statement",
            Self::PgbenchRead => "pgbench_read_by_key",
        }
    }
}

/// What one run gave.
#[derive(Debug, Clone, Default)]
pub struct Sample {
    /// Requests (or transactions) in a second.
    pub per_second: f64,
    /// Median time of one.
    pub p50_ms: f64,
    /// 99 of 100 took no longer.
    pub p99_ms: f64,
    /// How many did not end as they should.
    pub errors: u64,
    /// The first few of the errors.
    pub notes: Vec<String>,
    /// CPU time of the service for each request; `None` where it has no part or cannot be known.
    pub server_cpu_us: Option<f64>,
    /// CPU time of all of PostgreSQL's processes for each request.
    pub postgres_cpu_us: Option<f64>,
    /// The part of the machine that other programs took meanwhile, from 0 to 1.
    pub others: Option<f64>,
    /// The service's memory.
    pub memory: Option<Memory>,
}

/// Resident memory of a process, in MiB.
#[derive(Debug, Clone, Copy, Default)]
pub struct Memory {
    /// The most that was seen during the run.
    pub resident: f64,
    /// The most since the process started, as the kernel says.
    pub peak: f64,
}
