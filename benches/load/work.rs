//! What is measured.

use std::collections::BTreeMap;

/// One kind of load. The order is that of one round, and of the table: what is compared runs one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Work {
    /// HTTP: every request has a key of its own.
    New,
    /// pgbench: the one statement that such a request costs PostgreSQL.
    PgbenchSingle,
    /// pgbench: what a naive service does for such a request: claim, order and answer in a transaction of three statements.
    PgbenchClassic,
    /// HTTP: every request repeats one that was answered before.
    Replay,
    /// pgbench: the read by key that such a request costs PostgreSQL.
    PgbenchRead,
    /// HTTP: new and repeated requests mixed at random, half of each.
    Half,
    /// HTTP: all connections send the same new key at the same time, then the next one.
    Storm,
    /// HTTP: new orders at a fixed pace, whether or not the answers keep up.
    Paced,
    /// HTTP: new orders with a payment, taken by a simulated gateway.
    Paid,
    /// pgbench: the two transactions that such an order costs PostgreSQL.
    PgbenchPaid,
    /// HTTP: new orders at another service, by its name.
    PeerNew(PeerName),
    /// HTTP: repeated requests to another service.
    PeerReplay(PeerName),
    /// HTTP: new orders on more connections than the service can work for at once.
    Crowd,
    /// HTTP: new orders for a long time, from a checkpoint on.
    Sustained,
    /// HTTP: the first page of an organisation's orders.
    ListFirst,
    /// HTTP: the first page of one customer's orders.
    ListCustomer,
    /// HTTP: a page from somewhere in the middle of an organisation's orders.
    ListDeep,
}

/// The name of a service that is measured for comparison, which is also that of its directory.
pub type PeerName = &'static str;

/// The works of one round that run with each number of connections.
pub const WORKS: [Work; 7] =
    [Work::New, Work::PgbenchSingle, Work::PgbenchClassic, Work::Replay, Work::PgbenchRead, Work::Half, Work::Storm];

/// The works with payments.
pub const PAID_WORKS: [Work; 2] = [Work::Paid, Work::PgbenchPaid];

/// The works that a loaded database is compared by.
pub const GROWTH_WORKS: [Work; 5] = [Work::New, Work::Replay, Work::ListFirst, Work::ListCustomer, Work::ListDeep];

/// How many connections (or pgbench clients) each of [`WORKS`] runs with.
pub const CONNECTIONS: [usize; 4] = [1, 32, 128, 512];

/// The same for what takes longer: payments and other services.
pub const FEWER_CONNECTIONS: [usize; 2] = [32, 128];

/// Requests a second of [`Work::Paced`].
pub const PACE: u32 = 1_000;

/// Connections that [`Work::Paced`] may use.
pub const PACED_CONNECTIONS: usize = 64;

/// Connections of [`Work::Crowd`], if that many files may be open.
pub const CROWD: usize = 10_000;

impl Work {
    /// The name in the table.
    pub fn name(self) -> String {
        match self {
            Self::New => "http new".to_owned(),
            Self::PgbenchSingle => "pgbench single statement".to_owned(),
            Self::PgbenchClassic => "pgbench classic transaction".to_owned(),
            Self::Replay => "http replay".to_owned(),
            Self::PgbenchRead => "pgbench read by key".to_owned(),
            Self::Half => "http half new".to_owned(),
            Self::Storm => "http same-key storm".to_owned(),
            Self::Paced => format!("http new, {PACE} a second"),
            Self::Paid => "http new with payment".to_owned(),
            Self::PgbenchPaid => "pgbench two transactions".to_owned(),
            Self::PeerNew(peer) => format!("{peer} new"),
            Self::PeerReplay(peer) => format!("{peer} replay"),
            Self::Crowd => "http new, all in flight".to_owned(),
            Self::Sustained => "http new, sustained".to_owned(),
            Self::ListFirst => "http list, first page".to_owned(),
            Self::ListCustomer => "http list, of a customer".to_owned(),
            Self::ListDeep => "http list, from the middle".to_owned(),
        }
    }

    /// The name in the JSON report.
    pub fn id(self) -> String {
        match self {
            Self::New => "http_new".to_owned(),
            Self::PgbenchSingle => "pgbench_single_statement".to_owned(),
            Self::PgbenchClassic => "pgbench_classic_transaction".to_owned(),
            Self::Replay => "http_replay".to_owned(),
            Self::PgbenchRead => "pgbench_read_by_key".to_owned(),
            Self::Half => "http_half".to_owned(),
            Self::Storm => "http_same_key_storm".to_owned(),
            Self::Paced => "http_paced".to_owned(),
            Self::Paid => "http_new_with_payment".to_owned(),
            Self::PgbenchPaid => "pgbench_two_transactions".to_owned(),
            Self::PeerNew(peer) => format!("{peer}_new"),
            Self::PeerReplay(peer) => format!("{peer}_replay"),
            Self::Crowd => "http_crowd".to_owned(),
            Self::Sustained => "http_new_sustained".to_owned(),
            Self::ListFirst => "http_list_first".to_owned(),
            Self::ListCustomer => "http_list_of_customer".to_owned(),
            Self::ListDeep => "http_list_from_middle".to_owned(),
        }
    }

    /// The word that chooses it on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::PgbenchSingle => "single",
            Self::PgbenchClassic => "classic",
            Self::Replay => "replay",
            Self::PgbenchRead => "read",
            Self::Half => "half",
            Self::Storm => "storm",
            Self::Paced => "paced",
            Self::Paid => "paid",
            Self::PgbenchPaid => "pgbench-paid",
            Self::PeerNew(_) | Self::PeerReplay(_) => "peers",
            Self::Crowd => "crowd",
            Self::Sustained => "sustained",
            Self::ListFirst | Self::ListCustomer | Self::ListDeep => "lists",
        }
    }

    /// Whether pgbench does it.
    pub fn is_pgbench(self) -> bool {
        matches!(self, Self::PgbenchSingle | Self::PgbenchClassic | Self::PgbenchRead | Self::PgbenchPaid)
    }

    /// Whether another service does it.
    pub fn is_peer(self) -> bool {
        matches!(self, Self::PeerNew(_) | Self::PeerReplay(_))
    }

    /// Whether it reads pages of orders.
    pub fn is_list(self) -> bool {
        matches!(self, Self::ListFirst | Self::ListCustomer | Self::ListDeep)
    }

    /// What a request of it may be answered with, and whether that answer counts as done.
    pub fn judge(self, status: u16, expected: u16) -> Verdict {
        match (self, status) {
            (Self::Storm, 200 | 201 | 409) => Verdict::Done,
            (Self::Crowd, 503) => Verdict::Shed,
            _ if status == expected => Verdict::Done,
            _ => Verdict::Wrong,
        }
    }
}

/// What an answer is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// As it should be.
    Done,
    /// The service says that it has too much to do, which it may if it also says when to come back.
    Shed,
    /// Anything else.
    Wrong,
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
    /// How many answers had which status; empty for pgbench.
    pub answers: BTreeMap<u16, u64>,
    /// CPU time of the service for each request; `None` where it has no part or cannot be known.
    pub server_cpu_us: Option<f64>,
    /// CPU time of all of PostgreSQL's processes for each request.
    pub postgres_cpu_us: Option<f64>,
    /// The part of the machine that other programs took meanwhile, from 0 to 1.
    pub others: Option<f64>,
    /// The service's memory.
    pub memory: Option<Memory>,
    /// Bytes of write-ahead log for each order that was made, or each request or transaction where none is told of.
    pub wal_bytes: Option<f64>,
    /// At a fixed pace: how late the load generator itself sent, in milliseconds: the median, and 99 of 100.
    pub sent_late_ms: Option<(f64, f64)>,
}

/// Resident memory of a process, in MiB.
#[derive(Debug, Clone, Copy, Default)]
pub struct Memory {
    /// The most that was seen during the run.
    pub resident: f64,
    /// The most since the process started, as the kernel says.
    pub peak: f64,
}

impl Memory {
    /// The greater of both figures.
    pub fn greatest(self, other: Self) -> Self {
        Self { resident: self.resident.max(other.resident), peak: self.peak.max(other.peak) }
    }
}
