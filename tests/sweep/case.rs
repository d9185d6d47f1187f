//! One case: a database, a simulated world, a server and a worker of its own, and a client that retries.

use crate::Failure;
use crate::plan::Strike;
use crate::program::{Program, free_address};
use crate::supervisor::Supervised;
use crate::support::app::{TestOrg, make_org, new_org};
use crate::support::payments::{self, World, use_gateway};
use crate::support::postgres;
use ichido::app::App;
use ichido::app::inbox::endpoints::{NewSecret, create_endpoint};
use ichido::app::steps::set_policy::set_step_policy;
use ichido::clock::Clock;
use ichido::db::deadline::Deadline;
use ichido::db::step_policies::StepPolicy;
use ichido::domain::step::StepKind;
use ichido::startup;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use tokio::time::sleep;

/// What notifications are signed with.
pub const SECRET: &str = "whsec_sweep";
/// What a confirmed order starts.
pub const STEPS: [StepKind; 4] =
    [StepKind::StockReservation, StepKind::ShipmentRequest, StepKind::ConfirmationMail, StepKind::AccountingEntry];
/// How long a client goes on with one key, and how long anything may take to come right.
pub const PERSISTENCE: Duration = Duration::from_mins(1);
const BETWEEN: Duration = Duration::from_millis(100);
const PATIENCE: Duration = Duration::from_secs(5);

/// All that belongs to one case.
pub struct Case {
    /// The database.
    pub url: SecretString,
    /// The organisation.
    pub org: TestOrg,
    /// The other side.
    pub world: World,
    /// The server and the worker.
    pub processes: [Supervised; 2],
    /// What clients were told.
    pub told: Mutex<Vec<Told>>,
    /// What has to have come of each order.
    pub expected: Mutex<Vec<Expected>>,
    /// The use cases, for settings.
    pub app: App,
    webhooks: String,
    address: SocketAddr,
    client: reqwest::Client,
    /// Of each process.
    pub environment: Vec<(String, String)>,
}

/// A command and its first definite answer.
#[derive(Debug, Clone)]
pub struct Told {
    /// Where it went.
    pub path: String,
    /// Its key.
    pub key: String,
    /// What was sent.
    pub body: Value,
    /// The answer's status.
    pub status: u16,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

impl Told {
    /// The order that it is about.
    pub fn order_id(&self) -> String {
        let json: Value = serde_json::from_slice(&self.bytes).unwrap();
        let member = if self.status < 400 { "id" } else { "order_id" };
        json[member].as_str().unwrap_or_else(|| panic!("no order in {json}")).to_owned()
    }
}

/// What has to have come of an order.
#[derive(Debug, Clone)]
pub struct Expected {
    /// Which.
    pub order_id: String,
    /// Where it stands.
    pub status: &'static str,
    /// How often it was charged.
    pub charges: u64,
    /// How many refunds there were.
    pub refunds: u64,
    /// Whether each step was done.
    pub steps: bool,
}

/// What came of a case.
pub struct Outcome {
    /// How often the failpoint was reached, and struck.
    pub reached: usize,
    pub struck: usize,
    wrong: Vec<String>,
}

impl Outcome {
    /// With what the processes wrote down of their failpoint.
    pub fn of(name: &str, log: &Path, wrong: Vec<String>) -> Self {
        let log = fs::read_to_string(log).unwrap_or_default();
        let lines: Vec<Vec<_>> = log.lines().map(|line| line.split(' ').collect()).collect();
        let here = || lines.iter().filter(|line| line.get(1) == Some(&name));
        Self { reached: here().count(), struck: here().filter(|line| line.get(2) != Some(&"-")).count(), wrong }
    }

    /// Whether the failpoint struck, and nothing was wrong afterwards.
    pub fn passed(&self) -> bool {
        self.struck > 0 && self.wrong.is_empty()
    }

    /// In words.
    pub fn told(&self) -> String {
        match (self.struck, self.wrong.as_slice()) {
            (0, []) => "NEVER STRUCK".to_owned(),
            (_, []) => "ok".to_owned(),
            (_, wrong) => format!("WRONG: {}", wrong.join("; ").replace('\n', " ")),
        }
    }
}

impl Case {
    /// Starts everything; the failpoint is armed in server and worker.
    pub async fn start(strike: &Strike, logs: &Path) -> Result<Self, Failure> {
        fs::create_dir_all(logs)?;
        let (url, world) = (postgres::database().await, World::start());
        let app = startup::app(&url, 2, Clock::System, payments::settings())?;
        let org = make_org(&app, new_org()).await;
        use_gateway(&app, &org, &world.stripe()).await;
        for kind in STEPS {
            set_step_policy(&app, org.id, policy(&world, kind), None, Deadline::of_request()).await?;
        }
        let secret = NewSecret { name: "SWEEP".to_owned(), secret: SecretString::from(SECRET) };
        let endpoint = create_endpoint(&app, org.id, &secret, Deadline::of_request()).await?;
        let environment = environment(&url, strike, &logs.join("failpoints"));
        let address = free_address()?;
        let program = |name, words: &[&str]| Program {
            name,
            path: PathBuf::from(env!("CARGO_BIN_EXE_ichido")),
            arguments: words.iter().map(|word| (*word).to_owned()).collect(),
            environment: environment.clone(),
            logs: logs.to_owned(),
        };
        let listen = address.to_string();
        let words = ["serve", "--drain", "0s", "--no-worker", "--listen", &listen];
        let server = Supervised::start_listening(program("server", &words)).await?;
        let processes = [server, Supervised::start(program("worker", &["worker"]))?];
        let client = reqwest::Client::builder().no_proxy().timeout(PATIENCE).build()?;
        let webhooks = format!("/v1/webhooks/{endpoint}");
        let (told, expected) = Default::default();
        Ok(Self { url, org, world, processes, told, expected, app, webhooks, address, client, environment })
    }

    /// Sends a command until its answer is definite, and notes it.
    pub async fn insist(&self, path: &str, key: &str, body: &Value) -> Told {
        let began = Instant::now();
        let mut last = String::new();
        while began.elapsed() < PERSISTENCE {
            if let Some((status, bytes)) = self.send(path, key, body).await {
                if matches!(status, 200 | 201 | 402) {
                    let told = Told { path: path.to_owned(), key: key.to_owned(), body: body.clone(), status, bytes };
                    self.told.lock().unwrap().push(told.clone());
                    return told;
                }
                last = format!("{status} {}", String::from_utf8_lossy(&bytes));
                assert!(matches!(status, 202 | 409 | 503), "{key} was answered {last}");
            }
            sleep(BETWEEN).await;
        }
        panic!("{key} has no definite answer; the last one was {last}");
    }

    /// Sends a command once.
    pub async fn send(&self, path: &str, key: &str, body: &Value) -> Option<(u16, Vec<u8>)> {
        let request = self.client.post(format!("http://{}{path}", self.address)).bearer_auth(&self.org.token);
        let response = request.header("Idempotency-Key", key).json(body).send().await.ok()?;
        Some((response.status().as_u16(), response.bytes().await.ok()?.to_vec()))
    }

    /// Places an order, and expects this of it.
    pub async fn order(&self, key: &str, body: &Value) -> Told {
        self.insist("/v1/orders", key, body).await
    }

    /// Notes what has to have come of an order.
    pub fn expect(&self, order_id: &str, status: &'static str, (charges, refunds): (u64, u64), steps: bool) {
        let order_id = order_id.to_owned();
        self.expected.lock().unwrap().push(Expected { order_id, status, charges, refunds, steps });
    }

    /// Delivers a notification until it is accepted.
    pub async fn notify(&self, body: &str) {
        let began = Instant::now();
        while began.elapsed() < PERSISTENCE {
            match self.deliver(&self.webhooks, body).await {
                Ok(200) => return,
                Err(_) | Ok(503) => sleep(BETWEEN).await,
                Ok(status) => panic!("a notification was answered {status}"),
            }
        }
        panic!("a notification was never accepted");
    }

    /// Delivers a notification to an endpoint once, well signed.
    pub async fn deliver(&self, path: &str, body: &str) -> Result<u16, reqwest::Error> {
        let at = Clock::System.now().unix_timestamp();
        let signature = ichido::sim::signature::stripe_signature(SECRET.as_bytes(), at, body.as_bytes());
        let request = self.client.post(format!("http://{}{path}", self.address)).body(body.to_owned());
        let request = request.header("Stripe-Signature", signature).header("Content-Type", "application/json");
        request.send().await.map(|response| response.status().as_u16())
    }

    /// Reads with a token; gives the status.
    pub async fn get(&self, token: &str, path: &str) -> u16 {
        let request = self.client.get(format!("http://{}{path}", self.address)).bearer_auth(token);
        request.send().await.unwrap().status().as_u16()
    }

    /// Waits until an order stands somewhere.
    pub async fn until(&self, order_id: &str, status: &str) {
        let (sql, began) = (postgres::connect(&self.url).await, Instant::now());
        let text = "SELECT status FROM orders WHERE order_id = $1::text::uuid";
        while sql.query_one(text, &[&order_id]).await.unwrap().get::<_, &str>(0) != status {
            assert!(began.elapsed() < PERSISTENCE, "{order_id} is never {status}");
            sleep(BETWEEN).await;
        }
    }

    /// Gives the connections back.
    pub fn end(self) {
        self.app.db.close();
    }
}

/// A partner of the simulated world who honours keys and can be asked.
pub fn policy(world: &World, kind: StepKind) -> StepPolicy {
    let url = format!("{}/partners/{}", world.base, kind.as_str());
    StepPolicy {
        kind,
        url: url.clone(),
        honours_keys: true,
        status_url: Some(url),
        secret_sealed: None,
        owner: "operations".to_owned(),
        corrector: "operations".to_owned(),
        max_attempts: 20,
        time: Duration::from_hours(2),
    }
}

fn environment(url: &SecretString, strike: &Strike, log: &Path) -> Vec<(String, String)> {
    let log = log.to_string_lossy();
    // Where the sweep itself is put to the test.
    let planted = std::env::var("ICHIDO_PLANTED").unwrap_or_default();
    [
        ("ICHIDO_PLANTED", planted.as_str()),
        ("DATABASE_URL", url.expose_secret()),
        ("ICHIDO_ALLOW_UNSAFE_DURABILITY", "true"),
        ("ICHIDO_DATABASE_POOL", "6"),
        ("ICHIDO_LOG", "json"),
        ("ICHIDO_GATEWAY_TIMEOUT", "1s"),
        ("ICHIDO_LEASE", "3s"),
        ("ICHIDO_ASK_AFTER", "1s,1s,2s,4s"),
        ("ICHIDO_SECRET_KEY", payments::SECRET_KEY),
        ("FAILPOINTS", &strike.spec()),
        ("FAILPOINTS_LOG", &log),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .to_vec()
}
