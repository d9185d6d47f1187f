//! Where scenarios are played: a private PostgreSQL, a simulated world in this process, and a server process that can be killed.

use crate::app::App;
use crate::app::create_key::create_key;
use crate::app::gateways::PaymentSettings;
use crate::app::inbox::endpoints::{NewSecret, create_endpoint};
use crate::app::set_gateway::set_gateway;
use crate::app::steps::set_policy::set_step_policy;
use crate::cli::partners::simulated;
use crate::cli::{CliError, run};
use crate::clock::Clock;
use crate::config::{self, PaymentTimes};
use crate::db::deadline::Deadline;
use crate::db::migrate::migrate;
use crate::db::orgs::NewOrg;
use crate::db::step_policies::StepPolicy;
use crate::domain::api_key::ApiKey;
use crate::domain::ids::OrgId;
use crate::domain::org::{Mode, OnMismatch, ReplayStatus};
use crate::domain::scope::Scope;
use crate::domain::sealed::SealingKey;
use crate::domain::step::StepKind;
use crate::embedded::{Binaries, Options, Server};
use crate::{sim, startup};
use actix_web::dev::ServerHandle;
use reqwest::{Client, Response, Url};
use secrecy::SecretString;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep};
use uuid::Uuid;

/// What the private database's secrets are sealed with; the database is gone after the rehearsal.
const SECRET_KEY: &str = "52656865617273616c";

/// What the simulated gateway signs its notifications with.
const WEBHOOK_SECRET: &str = "whsec_rehearsal";

/// Everything that a scene needs.
pub struct Stage {
    /// For HTTP calls.
    pub client: Client,
    /// The server's address.
    pub base: String,
    /// The simulated world's address.
    pub world: String,
    /// A key of the test organisation.
    pub token: String,
    /// How long a scene waits for something to settle.
    pub patience: Duration,
    /// `None` on a service of somebody else's.
    private: Option<Private>,
}

/// What a private stage consists of.
struct Private {
    server: Option<Child>,
    listen: SocketAddr,
    database_url: String,
    secret_key: String,
    world: ServerHandle,
    postgres: Option<Server>,
    data: PathBuf,
}

/// On a private stage times are short.
const PATIENCE: Duration = Duration::from_secs(40);
/// A service asks again after a minute and after five, unless it is told otherwise.
const PATIENCE_ELSEWHERE: Duration = Duration::from_mins(8);

impl Stage {
    /// Sets everything up and starts the server.
    pub async fn set() -> Result<Self, CliError> {
        let data = std::env::temp_dir().join(format!("ichido-rehearsal-{}", Uuid::now_v7()));
        let directory = data.clone();
        let started = tokio::task::spawn_blocking(move || start_postgres(&directory)).await;
        let postgres = started.map_err(|error| CliError::Io("PostgreSQL was not started", error.into()))??;
        let database_url = postgres.url("postgres");
        let url = SecretString::from(database_url.clone());
        migrate(&url).await?;
        let secret_key = hexadecimal(SECRET_KEY);
        let key = SealingKey::parse(&SecretString::from(secret_key.clone())).map(Arc::new);
        let payments = PaymentSettings { sealing_key: key, ..config::payments(&PaymentTimes::default())? };
        let app = startup::app(&url, 2, Clock::System, payments)?;
        let deadline = Deadline::after(Duration::from_secs(20));
        let org_id = app.db.create_org(&test_org(), deadline).await?;
        let scopes = [Scope::OrdersRead, Scope::OrdersWrite, Scope::Reconcile];
        let token = create_key(&app, org_id, &scopes, None, deadline).await?.token();
        let listen = run::settled(SocketAddr::from(([127, 0, 0, 1], 0)))?;
        // The gateway tells of everything that happens there, while the scenes are played.
        let secret = || SecretString::from(WEBHOOK_SECRET);
        let new = NewSecret { name: "rehearsal".to_owned(), secret: secret() };
        let endpoint_id = create_endpoint(&app, org_id, &new, deadline).await?;
        let options = sim::Options {
            webhook_url: Some(format!("http://{listen}/v1/webhooks/{endpoint_id}")),
            webhook_secret: Some(secret()),
            ..sim::Options::default()
        };
        let started = sim::start(SocketAddr::from(([127, 0, 0, 1], 0)), options);
        let (server, address) = started.map_err(|error| CliError::Io("the simulated world cannot start", error))?;
        let world_handle = server.handle();
        tokio::spawn(server);
        furnish(&app, org_id, address, deadline).await?;
        app.db.close();
        let private = Private {
            server: None,
            listen,
            database_url,
            secret_key,
            world: world_handle,
            postgres: Some(postgres),
            data,
        };
        let mut stage = Self {
            client: http()?,
            base: format!("http://{listen}"),
            world: format!("http://{address}"),
            token,
            patience: PATIENCE,
            private: Some(private),
        };
        stage.start_server().await?;
        Ok(stage)
    }

    /// A service that runs, with a key of a test organisation there, and the simulated world that is its gateway and partners.
    pub async fn visit(url: &Url, token: &str, world: &Url) -> Result<Self, CliError> {
        let key = ApiKey::parse(token.trim()).ok_or(CliError::Rehearsal("the token is not an API key"))?;
        if key.mode() == Mode::Live {
            return Err(CliError::Rehearsal("the key is of a live organisation: nothing is rehearsed there"));
        }
        let plain = |url: &Url| url.as_str().trim_end_matches('/').to_owned();
        let stage = Self {
            client: http()?,
            base: plain(url),
            world: plain(world),
            token: token.trim().to_owned(),
            patience: PATIENCE_ELSEWHERE,
            private: None,
        };
        let get = |url: String| stage.client.get(url).bearer_auth(&stage.token).timeout(Duration::from_secs(10)).send();
        let is_there = |answer: Result<Response, _>| answer.is_ok_and(|answer| answer.status() == 200);
        if !is_there(get(format!("{}/v1/orders?limit=1", stage.base)).await) {
            return Err(CliError::Rehearsal("the service does not answer, or does not take the key"));
        }
        if !is_there(get(format!("{}/effects?order_id=none", stage.world)).await) {
            return Err(CliError::Rehearsal("there is no simulated world at that address"));
        }
        Ok(stage)
    }

    /// Whether the server may be killed here.
    pub fn is_private(&self) -> bool {
        self.private.is_some()
    }

    /// Starts the server process, and waits until it is ready.
    pub async fn start_server(&mut self) -> Result<(), CliError> {
        let Some(private) = &mut self.private else {
            return Err(CliError::Rehearsal("a server of somebody else's is not started here"));
        };
        private.start_server()?;
        let end = Instant::now() + Duration::from_secs(20);
        while Instant::now() < end {
            if private.server.as_mut().is_some_and(|server| server.try_wait().is_ok_and(|ended| ended.is_some())) {
                return Err(CliError::Io("the server ended by itself", io::ErrorKind::Other.into()));
            }
            let ready = self.client.get(format!("{}/readyz", self.base)).timeout(Duration::from_secs(2)).send().await;
            if ready.is_ok_and(|answer| answer.status() == 200) {
                return Ok(());
            }
            sleep(Duration::from_millis(50)).await;
        }
        Err(CliError::Io("the server did not become ready", io::ErrorKind::TimedOut.into()))
    }

    /// Kills the server process in the middle of whatever it does.
    pub fn kill_server(&mut self) {
        if let Some(private) = &mut self.private {
            private.kill_server();
        }
    }

    /// Takes everything down that was set up; nothing of it stays.
    pub async fn strike(mut self) {
        let Some(private) = self.private.take() else { return };
        private.world.stop(false).await;
        // PostgreSQL ends in its own time.
        let _ = tokio::task::spawn_blocking(move || drop(private)).await;
    }
}

impl Private {
    fn start_server(&mut self) -> Result<(), CliError> {
        let program = std::env::current_exe().map_err(|error| CliError::Io("this program cannot be found", error))?;
        let mut command = Command::new(program);
        // Nothing of the caller's own settings: the stage is private.
        command
            .env_clear()
            .args(["serve", "--listen", &self.listen.to_string(), "--drain", "0s"])
            .arg("--exit-with-parent")
            .args(["--gateway-timeout", "1s", "--lease", "3s", "--ask-after", "500ms,500ms,1s,2s"])
            .env("DATABASE_URL", &self.database_url)
            .env("ICHIDO_SECRET_KEY", &self.secret_key)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        self.server = Some(command.spawn().map_err(|error| CliError::Io("the server cannot start", error))?);
        Ok(())
    }

    fn kill_server(&mut self) {
        if let Some(mut server) = self.server.take() {
            // SIGKILL: nothing is tidied up.
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        self.kill_server();
        if let Some(mut postgres) = self.postgres.take() {
            postgres.stop();
        }
        let _ = fs::remove_dir_all(&self.data);
    }
}

fn http() -> Result<Client, CliError> {
    let client = Client::builder().no_proxy().build();
    client.map_err(|error| CliError::Io("no HTTP client", io::Error::other(error)))
}

fn start_postgres(data: &PathBuf) -> Result<Server, CliError> {
    fs::create_dir_all(data).map_err(|error| CliError::Io("the data directory cannot be made", error))?;
    let binaries = Binaries::find(&progress)?;
    let options = Options { data_dir: data.join("postgresql"), durable: true, settings: Vec::new() };
    Ok(Server::start(&binaries, &options, &progress)?)
}

/// The world is the organisation's gateway, and the partner of every step.
async fn furnish(app: &App, org_id: OrgId, world: SocketAddr, deadline: Deadline) -> Result<(), CliError> {
    let secret = SecretString::from("sk_test_simulated");
    set_gateway(app, org_id, &format!("http://{world}/stripe"), &secret, deadline).await?;
    for kind in StepKind::ALL.iter().filter_map(|kind| StepKind::parse(kind)) {
        let partner = simulated(kind, world);
        // One of them would do the work again for the same key, and has to be asked.
        let honours_keys = kind != StepKind::AccountingEntry;
        let url = format!("{}?honours_keys={honours_keys}", partner.url);
        let policy = StepPolicy { url, honours_keys, ..partner };
        set_step_policy(app, org_id, policy, None, deadline).await?;
    }
    Ok(())
}

fn test_org() -> NewOrg {
    NewOrg {
        name: "rehearsal".to_owned(),
        mode: Mode::Test,
        on_mismatch: OnMismatch::Reject,
        replay_status: ReplayStatus::Ok,
        keys_kept_for_seconds: None,
        new_claims_per_second: None,
    }
}

/// Sixty-four digits that begin with the text's own.
fn hexadecimal(text: &str) -> String {
    let digits = text.chars().filter(char::is_ascii_hexdigit);
    digits.chain(std::iter::repeat('0')).take(64).collect()
}

/// Tells a waiting person what happens. On standard error, since standard output is for the table.
#[expect(clippy::print_stderr, reason = "progress for a person at a terminal")]
pub fn progress(line: &str) {
    eprintln!("ichido: {line}");
}
