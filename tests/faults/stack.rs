//! Everything that runs: PostgreSQL, the simulated gateway, two servers and a worker, and the proxies between them.

use crate::Failure;
use crate::api::{Api, Org};
use crate::arguments::Arguments;
use crate::database::Database;
use crate::fault::Target;
use crate::judge::steps::STEPS;
use crate::proxy::{Proxy, Upstream};
use crate::supervisor::{History, Program, Supervised, free_address};
use serde_json::Value;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

/// How long somebody may work on an operation before others take it over. What depends on it is in the table.
pub const LEASE: Duration = Duration::from_secs(3);
/// Times short enough for a run of minutes, and what stored secrets are encrypted with.
const SETTINGS: [(&str, &str); 4] = [
    ("ICHIDO_GATEWAY_TIMEOUT", "1s"),
    ("ICHIDO_LEASE", "3s"),
    ("ICHIDO_ASK_AFTER", "1s,1s,2s,4s"),
    ("ICHIDO_SECRET_KEY", "4d1f0c0a7be2934d8e61a5f2b3c7d9e0112233445566778899aabbccddeeff00"),
];
/// The variable from which the gateway's secret is read, and the secret; the simulated gateway accepts any.
const GATEWAY_SECRET: (&str, &str) = ("FAULTS_GATEWAY_SECRET", "sk_test_faults");
const SECRETS: [(&str, &str); 1] = [GATEWAY_SECRET];
const SCOPES: [&str; 3] = ["orders:read", "orders:write", "reconcile"];
/// How the names of the directories with the data begin.
const RUN_PREFIX: &str = "run-";

/// All of it. The order of the members is the order in which they end.
pub struct Stack {
    /// Server A, which runs the worker too, and server B, which does not.
    pub servers: [Supervised; 2],
    /// The worker.
    pub worker: Supervised,
    /// The simulated gateway; `None` without payments.
    pub gateway: Option<Gateway>,
    /// PostgreSQL.
    pub database: Database,
    /// What clients call.
    pub api: Arc<Api>,
    admin: Admin,
    _directory: RunDirectory,
}

/// The simulated gateway and the line to it.
pub struct Gateway {
    /// What the program reaches it through.
    pub link: Proxy,
    /// Where the judge reaches it.
    pub address: SocketAddr,
    /// Where it writes what really happens.
    pub journal: PathBuf,
    world: Supervised,
}

impl Stack {
    /// Starts everything on an empty database.
    pub async fn start(arguments: &Arguments, logs: &Path) -> Result<Self, Failure> {
        let directory = RunDirectory::create(logs)?;
        let database = Database::start(&directory.0).await?;
        let admin = Admin { program: arguments.program.clone(), url: database.url() };
        admin.run(&["migrate"], &[]).await?;
        let gateway =
            if arguments.paid > 0 { Some(Gateway::start(arguments, logs, &directory.0).await?) } else { None };
        let mut orgs = Vec::new();
        for name in ["north", "south"] {
            orgs.push(admin.make_org(name, gateway.as_ref()).await?);
        }
        let addresses = [free_address()?, free_address()?];
        let program = |name, words: &[&str]| Program {
            name,
            path: arguments.program.clone(),
            arguments: words.iter().map(|word| (*word).to_owned()).collect(),
            environment: environment(&admin.url),
            logs: logs.to_owned(),
        };
        let [a, b] = addresses.map(|address| address.to_string());
        let servers = [
            Supervised::start_listening(program("server-a", &["serve", "--drain", "0s", "--listen", &a])).await?,
            Supervised::start_listening(program(
                "server-b",
                &["serve", "--drain", "0s", "--no-worker", "--listen", &b],
            ))
            .await?,
        ];
        let worker = Supervised::start(program("worker", &["worker"]))?;
        let api = Arc::new(Api::new(addresses, orgs)?);
        Ok(Self { servers, worker, gateway, database, api, admin, _directory: directory })
    }

    /// One of the processes.
    pub fn process(&self, target: Target) -> &Supervised {
        match target {
            Target::ServerA => &self.servers[0],
            Target::ServerB => &self.servers[1],
            Target::Worker => &self.worker,
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
        let gateway = self.gateway.iter().map(|gateway| &gateway.world);
        self.servers.iter().chain([&self.worker]).chain(gateway)
    }
}

impl Gateway {
    async fn start(arguments: &Arguments, logs: &Path, data: &Path) -> Result<Self, Failure> {
        let address = free_address()?;
        let journal = data.join("gateway.jsonl");
        let words = ["sim", "--listen", &address.to_string(), "--journal", &journal.to_string_lossy()];
        let world = Supervised::start_listening(Program {
            name: "gateway",
            path: arguments.program.clone(),
            arguments: words.map(str::to_owned).to_vec(),
            environment: vec![("ICHIDO_LOG".to_owned(), "json".to_owned())],
            logs: logs.to_owned(),
        })
        .await?;
        let link = Proxy::start(Upstream::Tcp(address)).await?;
        Ok(Self { link, address, journal, world })
    }
}

/// The command line of the program.
struct Admin {
    program: PathBuf,
    url: String,
}

impl Admin {
    async fn make_org(&self, name: &str, gateway: Option<&Gateway>) -> Result<Org, Failure> {
        let made = self.run(&["org", "create", "--name", name, "--mode", "test"], &SECRETS).await?;
        let id = made.get("org_id").and_then(Value::as_i64).ok_or("no org_id")?;
        let org = id.to_string();
        let mut words = vec!["key", "create", "--org", &org];
        words.extend(SCOPES.iter().flat_map(|scope| ["--scope", scope]));
        let key = self.run(&words, &SECRETS).await?;
        let token = key.get("token").and_then(Value::as_str).ok_or("no token")?.to_owned();
        if let Some(gateway) = gateway {
            let base = format!("http://{}/stripe", gateway.link.address);
            let words = ["gateway", "set", "--org", &org, "--provider", "stripe", "--api-base", &base];
            self.run(&[&words[..], &["--secret-env", GATEWAY_SECRET.0]].concat(), &SECRETS).await?;
            for kind in STEPS {
                let url = format!("http://{}/partners/{kind}", gateway.link.address);
                let words = ["step", "set", "--org", &org, "--kind", kind, "--url", &url, "--status-url", &url];
                self.run(&[&words[..], &["--honours-keys", "true", "--owner", "operations"]].concat(), &SECRETS)
                    .await?;
            }
        }
        Ok(Org { id, token })
    }

    /// Runs a command; gives the JSON object that it prints.
    async fn run(&self, words: &[&str], variables: &[(&str, &str)]) -> Result<Value, Failure> {
        let mut command = Command::new(&self.program);
        command.args(words).arg("--json").envs(environment(&self.url)).envs(variables.iter().copied());
        let output = tokio::task::spawn_blocking(move || command.output()).await??;
        if !output.status.success() {
            let (said, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            return Err(format!("`ichido {}` failed: {said}{error}", words.join(" ")).into());
        }
        Ok(serde_json::from_slice(&output.stdout)?)
    }
}

fn environment(url: &str) -> Vec<(String, String)> {
    let given = [("DATABASE_URL", url), ("ICHIDO_LOG", "json")];
    given.iter().chain(&SETTINGS).map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// A directory for the data of one run; removed on drop, but for the logs in it.
struct RunDirectory(PathBuf);

/// What is worth keeping, under which name.
const KEPT: [(&str, &str); 2] = [("postgres/postgres.log", "postgres.log"), ("gateway.jsonl", "gateway.jsonl")];

impl RunDirectory {
    /// Makes it, and removes the logs of the last run and the data of those that were killed.
    fn create(logs: &Path) -> Result<Self, Failure> {
        for entry in fs::read_dir(logs)?.flatten() {
            let name = entry.file_name();
            if entry.file_type()?.is_file() && !name.to_string_lossy().ends_with(".json") {
                fs::remove_file(entry.path())?;
            }
            let owner = name.to_str().and_then(|name| name.strip_prefix(RUN_PREFIX));
            if owner.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
                // What cannot be removed takes space, but hinders nothing.
                let _ = fs::remove_dir_all(entry.path());
            }
        }
        let path = logs.join(format!("{RUN_PREFIX}{}", std::process::id()));
        fs::create_dir_all(&path)?;
        Ok(Self(path))
    }
}

impl Drop for RunDirectory {
    fn drop(&mut self) {
        if let Some(logs) = self.0.parent() {
            for (from, to) in KEPT {
                // Without payments there is no gateway.
                let _ = fs::copy(self.0.join(from), logs.join(to));
            }
        }
        // The next run tries again.
        let _ = fs::remove_dir_all(&self.0);
    }
}
