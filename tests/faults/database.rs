//! A private PostgreSQL with production durability, whose backends and main process are ended on purpose. The program
//! reaches it through a proxy, so that its address outlives it.

use crate::Failure;
use crate::proxy::{Proxy, Upstream};
use ichido::embedded::{Binaries, Options, Server};
use rustix::process::{Pid, Signal, kill_process};
use std::path::Path;
use std::sync::Arc;
use tokio::sync::Mutex;
use tokio_postgres::{Client, NoTls};

const NAME: &str = "faults";
/// The socket's name, which follows from the port that the embedded server is started with.
const SOCKET: &str = ".s.PGSQL.5432";

/// It, and the proxy before it.
pub struct Database {
    /// The proxy.
    pub link: Proxy,
    binaries: Arc<Binaries>,
    options: Options,
    /// Empty while it is started again.
    server: Mutex<Option<Server>>,
}

impl Database {
    /// Makes an empty database in a directory that does not exist yet.
    pub async fn start(directory: &Path) -> Result<Self, Failure> {
        let binaries = Arc::new(Binaries::find(&|line: &str| eprintln!("{line}"))?);
        // Killed processes leave their backends behind for a moment.
        let settings = [("max_connections", "300"), ("log_min_duration_statement", "2000")];
        let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        let options = Options { data_dir: directory.join("postgres"), durable: true, settings };
        let server = start(Arc::clone(&binaries), options.clone()).await?;
        connect(&server.url("postgres")).await?.batch_execute(&format!("CREATE DATABASE {NAME}")).await?;
        let link = Proxy::start(socket_of(&server)).await?;
        Ok(Self { link, binaries, options, server: Mutex::new(Some(server)) })
    }

    /// The database by way of the proxy.
    pub fn url(&self) -> String {
        format!("postgresql://ichido@{}/{NAME}?sslmode=disable", self.link.address)
    }

    /// A connection that no fault of the link reaches.
    pub async fn connect(&self) -> Result<Client, Failure> {
        let url = self.server.lock().await.as_ref().map(|server| server.url(NAME));
        connect(&url.ok_or("PostgreSQL is not running")?).await
    }

    /// Ends one session of the program; whether there was one. An odd `pick` prefers those at work.
    pub async fn end_a_backend(&self, pick: usize) -> Result<bool, Failure> {
        let client = self.connect().await?;
        let text = "SELECT pid, state = 'active' FROM pg_stat_activity
                    WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
                    ORDER BY pid";
        let rows = client.query(text, &[]).await?;
        let at_work: Vec<_> = rows.iter().filter(|row| row.get::<_, Option<bool>>(1) == Some(true)).collect();
        let all: Vec<_> = rows.iter().collect();
        let choice = if pick % 2 == 1 && !at_work.is_empty() { at_work } else { all };
        let Some(row) = choice.get(pick / 2 % choice.len().max(1)) else { return Ok(false) };
        let pid: i32 = row.get(0);
        Ok(client.query_one("SELECT pg_terminate_backend($1)", &[&pid]).await?.get(0))
    }

    /// kill -9 of the main process, and a start that recovers.
    pub async fn kill_and_restart(&self) -> Result<(), Failure> {
        let mut server = self.server.lock().await;
        let mut old = server.take().ok_or("PostgreSQL is not running")?;
        let pid = i32::try_from(old.postmaster_pid()).ok().and_then(Pid::from_raw);
        kill_process(pid.ok_or("PostgreSQL has no process number")?, Signal::KILL)?;
        // The old one has to be gone, its lock on the directory with it, before the new one is started.
        tokio::task::spawn_blocking(move || old.stop()).await?;
        let next = start(Arc::clone(&self.binaries), self.options.clone()).await?;
        self.link.lead_to(socket_of(&next));
        *server = Some(next);
        Ok(())
    }
}

async fn start(binaries: Arc<Binaries>, options: Options) -> Result<Server, Failure> {
    let started = tokio::task::spawn_blocking(move || Server::start(&binaries, &options, &|_: &str| {}));
    Ok(started.await??)
}

fn socket_of(server: &Server) -> Upstream {
    Upstream::Unix(server.socket_dir().join(SOCKET))
}

async fn connect(url: &str) -> Result<Client, Failure> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(async move {
        // Its end is seen by whoever uses the client.
        let _ = connection.await;
    });
    Ok(client)
}
