//! Everything that runs: PostgreSQL, the simulated gateways, two servers and a worker, and the proxies between them.

use crate::Failure;
use crate::admin::{Admin, environment};
use crate::api::Api;
use crate::arguments::Arguments;
use crate::database::Database;
use crate::fault::{Line, Target};
use crate::gateway::{Gateway, Place};
use crate::program::{Program, free_address};
use crate::proxy::{Proxy, Upstream};
use crate::run_directory::RunDirectory;
use crate::supervisor::{History, Supervised};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// How long somebody may work on an operation before others take it over. What depends on it is in the table.
pub const LEASE: Duration = Duration::from_secs(3);
/// The organisations, and their gateways.
const ORGS: [(&str, &str); 2] = [("north", "gateway-north"), ("south", "gateway-south")];

/// All of it. The order of the members is the order in which they end.
pub struct Stack {
    /// Server A, which runs the worker too, and server B, which does not.
    pub servers: [Supervised; 2],
    /// The worker.
    pub worker: Supervised,
    /// The simulated gateways, one for each organisation; none without payments.
    pub gateways: Vec<Gateway>,
    /// PostgreSQL.
    pub database: Database,
    /// What clients call.
    pub api: Arc<Api>,
    /// What clients call through, one for each server.
    entrances: [Proxy; 2],
    admin: Admin,
    _directory: RunDirectory,
}

impl Stack {
    /// Starts everything on an empty database.
    pub async fn start(arguments: &Arguments, logs: &Path) -> Result<Self, Failure> {
        let directory = RunDirectory::create(logs)?;
        let database = Database::start(&directory.0).await?;
        let admin = Admin { program: arguments.program.clone(), url: database.url() };
        admin.run(&["migrate"], &[]).await?;
        let addresses = [free_address()?, free_address()?];
        let (mut orgs, mut gateways) = (Vec::new(), Vec::new());
        for ((name, gateway), server) in ORGS.into_iter().zip(addresses) {
            let org = admin.make_org(name).await?;
            if arguments.paid > 0 {
                let endpoint = admin.make_endpoint(&org).await?;
                let place =
                    Place { program: &arguments.program, logs, data: &directory.0, server, endpoint: &endpoint };
                let gateway = Gateway::start(gateway, place).await?;
                admin.use_gateway(&org, &gateway).await?;
                gateways.push(gateway);
            }
            orgs.push(org);
        }
        let program = |name, words: &[&str]| Program {
            name,
            path: arguments.program.clone(),
            arguments: words.iter().map(|word| (*word).to_owned()).collect(),
            environment: environment(&admin.url),
            logs: logs.to_owned(),
        };
        let [a, b] = addresses.map(|address| address.to_string());
        let a = [&["serve", "--listen", &a][..], arguments.drain()].concat();
        let b = [&["serve", "--no-worker", "--listen", &b][..], arguments.drain()].concat();
        let servers = [
            Supervised::start_listening(program("server-a", &a)).await?,
            Supervised::start_listening(program("server-b", &b)).await?,
        ];
        let worker = Supervised::start(program("worker", &["worker"]))?;
        let [a, b] = addresses.map(Upstream::Tcp);
        let entrances = [Proxy::start(a).await?, Proxy::start(b).await?];
        let through = if arguments.calls_directly() { addresses } else { entrances.each_ref().map(|it| it.address) };
        let api = Arc::new(Api::new(addresses, through, orgs)?);
        Ok(Self { servers, worker, gateways, database, api, entrances, admin, _directory: directory })
    }

    /// One of the processes; the worker for a gateway where there is none.
    pub fn process(&self, target: Target) -> &Supervised {
        match target {
            Target::ServerA => &self.servers[0],
            Target::ServerB => &self.servers[1],
            Target::Worker => &self.worker,
            Target::Gateway(number) => self.gateways.get(number).map_or(&self.worker, |gateway| &gateway.world),
        }
    }

    /// The proxies on a line: one for each server, or for each gateway.
    pub fn proxies(&self, line: Line) -> Vec<&Proxy> {
        match line {
            Line::Client => self.entrances.iter().collect(),
            Line::Database => vec![&self.database.link],
            Line::Gateway => self.gateways.iter().map(|gateway| &gateway.link).collect(),
            Line::Notification => self.gateways.iter().map(|gateway| &gateway.notifications).collect(),
        }
    }

    /// Runs an admin command, with variables of its own; gives the JSON object that it prints.
    pub async fn admin(&self, words: &[&str], variables: &[(&str, &str)]) -> Result<Value, Failure> {
        self.admin.run(words, variables).await
    }

    /// Ends that nobody ordered, of any process.
    pub fn ended_by_themselves(&self) -> Vec<String> {
        self.processes().flat_map(|process| process.history().ended()).collect()
    }

    /// How often processes were started again, and how often one refused to start for a reason.
    pub fn restarts(&self) -> (u32, u32) {
        let histories = || self.processes().map(Supervised::history);
        (histories().map(History::restarts).sum(), histories().map(History::refused).sum())
    }

    fn processes(&self) -> impl Iterator<Item = &Supervised> {
        let gateways = self.gateways.iter().map(|gateway| &gateway.world);
        self.servers.iter().chain([&self.worker]).chain(gateways)
    }
}
