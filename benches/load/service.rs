//! The service as its users run it, on a database of its own, and one run of load on it.

use std::time::Duration;

use tokio_postgres::Client;

use crate::Failure;
use crate::http_run::{self, Load, Target};
use crate::keys::Keys;
use crate::meter::{Marks, Outcome};
use crate::paced;
use crate::pgbench::{Pgbench, Place};
use crate::plan::Run;
use crate::requests::{Requests, known_key};
use crate::setup::{self, Running, World};
use crate::stand::Stand;
use crate::work::{Sample, Work};

/// How long the service is warmed up, with as many connections as it will get, so that the first run finds its
/// database connections open like all others.
const WARM_UP: Duration = Duration::from_secs(1);
const WARM_UP_CONNECTIONS: usize = 128;

/// Files that this process has open besides its connections.
const OTHER_FILES: u64 = 200;

/// The service, running. The order of the members is the order in which they end.
pub struct Service {
    /// Its process.
    pub server: Running,
    /// A connection to its database.
    pub client: Client,
    /// Its database.
    pub url: String,
    /// Where orders go.
    pub target: Target,
    /// Whose orders they are.
    pub org_id: i64,
    database: String,
    /// Where orders with payments go, of an organisation that has a gateway.
    paid: Target,
    paid_org_id: i64,
}

impl Service {
    /// Makes the database and starts the service.
    pub async fn start(stand: &Stand, database: &str) -> Result<Self, Failure> {
        let url = stand.create_database(database).await?;
        setup::admin(&url, &["migrate"])?;
        let (org_id, token) = setup::organisation(&url, "bench")?;
        let (paid_org_id, paid_token) = setup::organisation(&url, "bench with payments")?;
        // Its periodic jobs are another process's, and measured on their own.
        let arguments = ["serve", "--no-worker", "--listen", "127.0.0.1:0"];
        let name = format!("server-{database}");
        let mut server = Running::start(stand.directory.path(), &name, &url, &arguments)?;
        let address = server.address().await?;
        let target = Target { address: address.clone(), token };
        let paid = Target { address, token: paid_token };
        let client = setup::connect(&url).await?;
        Ok(Self { server, client, url, target, org_id, database: database.to_owned(), paid, paid_org_id })
    }

    /// Makes the orders that are replayed, and lets the service run for a moment that nobody looks at.
    pub async fn warm_up(&self, stand: &Stand) -> Result<(), Failure> {
        http_run::create_known(&self.target, WARM_UP_CONNECTIONS).await?;
        self.warm(stand).await
    }

    /// Only the second.
    pub async fn warm(&self, stand: &Stand) -> Result<(), Failure> {
        let run = Run { work: Work::New, connections: WARM_UP_CONNECTIONS, duration: WARM_UP };
        self.run(stand, &run, Keys::RANDOM).await.map(|_| ())
    }

    /// Makes some orders with payments, and lets PostgreSQL count its tables, as it does by itself within a minute: plans made
    /// for tables that nobody has counted read too much, over HTTP and in pgbench alike.
    pub async fn warm_payments(&self, stand: &Stand) -> Result<(), Failure> {
        let run = Run { work: Work::Paid, connections: WARM_UP_CONNECTIONS, duration: WARM_UP };
        self.run(stand, &run, Keys::RANDOM).await?;
        Ok(self.client.batch_execute("ANALYZE").await?)
    }

    /// What pgbench needs; `None` when it is not installed. Needs [`Self::warm_up`].
    pub async fn pgbench(&self, stand: &Stand) -> Result<Option<Pgbench>, Failure> {
        let Some(program) = Pgbench::program(&stand.binaries.bin_dir) else {
            eprintln!("no pgbench in {}: its works are skipped", stand.binaries.bin_dir.display());
            return Ok(None);
        };
        self.pay_one(stand).await?;
        let place = Place {
            socket_directory: stand.postgres.socket_dir(),
            work_directory: stand.directory.path(),
            database: &self.database,
            org_id: self.org_id,
            paid_org_id: self.paid_org_id,
        };
        Pgbench::prepare(program, &place, &self.client).await.map(Some)
    }

    /// Runs HTTP load.
    pub async fn run(&self, stand: &Stand, run: &Run, keys: Keys) -> Result<Sample, Failure> {
        let number = stand.next_run();
        let &Run { work, connections, duration } = run;
        let load = Load { work, keys, connections, duration, run: number };
        if work == Work::Paced {
            self.recycle_log().await?;
            // A moment at the pace, so that not every page is changed for the first time since the checkpoint.
            send(&self.target, load).await?;
        }
        if work != Work::Paid {
            return stand.meter(vec![self.server.pid]).watch(send(&self.target, load)).await;
        }
        let World(world) = World::start(stand.directory.path(), &self.url, self.paid_org_id).await?;
        let sample = stand.meter(vec![self.server.pid]).watch(send(&self.paid, load)).await;
        world.end().await;
        sample
    }

    /// Leaves segments of the write-ahead log to be used again, as in a database that has been running for a while. In a new one
    /// each segment has to be made and zeroed first, which takes everybody some 30 ms: the slowest hundredth at a low pace would
    /// be nothing else.
    async fn recycle_log(&self) -> Result<(), Failure> {
        const SEGMENTS: usize = 8;
        for _ in 0..SEGMENTS {
            let next = "SELECT pg_logical_emit_message(false, 'bench', 'next'); SELECT pg_switch_wal()";
            self.client.batch_execute(next).await?;
        }
        Ok(self.client.batch_execute("CHECKPOINT").await?)
    }

    /// An order with a payment, of which pgbench takes its values.
    async fn pay_one(&self, stand: &Stand) -> Result<(), Failure> {
        let World(world) = World::start(stand.directory.path(), &self.url, self.paid_org_id).await?;
        let mut requests = Requests::new(&self.paid.address, &self.paid.token, Work::Paid, Keys::RANDOM);
        requests.known(0);
        let status = http_run::send_one(&self.paid, requests.bytes()).await?;
        world.end().await;
        if status == 201 { Ok(()) } else { Err(format!("{} was answered with {status}", known_key(0)).into()) }
    }

    /// How many keys and how many orders there are; every key has made exactly one order.
    pub async fn count_rows(&self) -> Result<(i64, i64), Failure> {
        let count = "SELECT (SELECT count(*) FROM idempotency_keys), (SELECT count(*) FROM orders)";
        let row = self.client.query_one(count, &[]).await?;
        Ok((row.try_get(0)?, row.try_get(1)?))
    }
}

/// Sends a load to any service that takes such orders.
pub async fn send(target: &Target, load: Load) -> Result<Outcome, Failure> {
    let (tally, elapsed) = match load.work {
        Work::Paced => paced::run(target, load).await?,
        _ => http_run::run(target, load).await?,
    };
    let (requests, orders) = (tally.requests(), tally.orders());
    Ok(Outcome { sample: tally.sample(elapsed), requests, orders })
}

/// Runs pgbench.
pub async fn run_pgbench(stand: &Stand, pgbench: &Pgbench, run: &Run) -> Result<Sample, Failure> {
    let marks = Marks::default();
    let outcome = pgbench.run(run, stand.next_run(), &marks);
    stand.meter(Vec::new()).watch_marked(outcome, &marks).await
}

/// Lets this process, and those that it starts, open as many files as the system allows; gives how many connections that
/// are.
pub fn raise_open_files() -> usize {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // A refusal leaves the limit that there is, which is read again below.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    usize::try_from(files.saturating_sub(OTHER_FILES)).unwrap_or(usize::MAX)
}
