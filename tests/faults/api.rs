//! The API as its clients see it: two addresses and a token.

use crate::Failure;
use crate::answer::{Answer, Call};
use reqwest::Client;
use reqwest::header::{LOCATION, RETRY_AFTER};
use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

/// How long a client waits. More than a server takes for any answer, less than a stopped one stays stopped at worst.
const PATIENCE: Duration = Duration::from_secs(4);
const CONNECT_PATIENCE: Duration = Duration::from_secs(1);

/// An organisation of the run.
#[derive(Debug, Clone)]
pub struct Org {
    /// Its id.
    pub id: i64,
    /// A token with every scope that the run needs.
    pub token: String,
}

/// Why there was no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoAnswer {
    /// Nobody listens: nothing was sent.
    Refused,
    /// Something else, in words.
    Lost(String),
}

impl NoAnswer {
    fn of(error: &reqwest::Error) -> Self {
        let mut words = Vec::new();
        let mut cause: Option<&dyn Error> = Some(error);
        while let Some(error) = cause {
            let system = error.downcast_ref::<io::Error>();
            if system.is_some_and(|error| error.kind() == io::ErrorKind::ConnectionRefused) {
                return Self::Refused;
            }
            words.push(error.to_string());
            cause = error.source();
        }
        Self::Lost(words.join(": "))
    }
}

/// How a client hangs up.
#[derive(Debug, Clone, Copy)]
pub struct HangUp {
    /// In the middle of the body, or after the whole request.
    pub half: bool,
    /// With RST rather than FIN.
    pub reset: bool,
    /// After so long.
    pub after: Duration,
}

/// What clients call.
pub struct Api {
    http: Client,
    servers: [SocketAddr; 2],
    through: [SocketAddr; 2],
    orgs: Vec<Org>,
}

impl Api {
    /// Of these two servers, which are called through these addresses, and of these organisations.
    pub fn new(servers: [SocketAddr; 2], through: [SocketAddr; 2], orgs: Vec<Org>) -> Result<Self, Failure> {
        // Fails only when a provider is installed already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = Client::builder().no_proxy().timeout(PATIENCE).connect_timeout(CONNECT_PATIENCE).build()?;
        Ok(Self { http, servers, through, orgs })
    }

    /// Where both listen.
    pub fn servers(&self) -> [SocketAddr; 2] {
        self.servers
    }

    /// One of the organisations.
    pub fn org(&self, number: usize) -> &Org {
        &self.orgs[number]
    }

    /// How many organisations there are.
    pub fn orgs(&self) -> usize {
        self.orgs.len()
    }

    /// The organisation that makes a call.
    pub fn org_id(&self, call: &Call) -> i64 {
        self.orgs[call.org].id
    }

    /// One try; `None` when no whole answer came.
    pub async fn send(&self, server: usize, call: &Call) -> Option<Answer> {
        self.try_to_send(server, call).await.ok()
    }

    /// One try, and why no whole answer came.
    pub async fn try_to_send(&self, server: usize, call: &Call) -> Result<Answer, NoAnswer> {
        let request = self
            .http
            .post(format!("http://{}{}", self.through[server], call.path))
            .bearer_auth(&self.orgs[call.org].token)
            .header("Idempotency-Key", &call.key)
            .header("Content-Type", "application/json")
            .body(call.body.clone());
        let response = request.send().await.map_err(|error| NoAnswer::of(&error))?;
        let status = response.status().as_u16();
        let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
        let location = location.and_then(|path| path.rsplit('/').next()).map(str::to_owned);
        let retry_after = response.headers().contains_key(RETRY_AFTER);
        let body = response.bytes().await.map_err(|error| NoAnswer::of(&error))?.to_vec();
        Ok(Answer { status, body, location, retry_after })
    }

    /// One try whose answer nobody waits for. Nothing is in between: the server is to see how its client goes.
    pub async fn hang_up(&self, server: usize, call: &Call, how: HangUp) {
        let head = format!(
            "POST {} HTTP/1.1\r\nHost: ichido\r\nAuthorization: Bearer {}\r\nIdempotency-Key: {}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            call.path,
            self.orgs[call.org].token,
            call.key,
            call.body.len()
        );
        let mut bytes = [head.as_bytes(), &call.body].concat();
        if how.half {
            bytes.truncate(bytes.len() - call.body.len() / 2);
        }
        // A server that is down or stopped is hung up on all the same.
        let _ = timeout(CONNECT_PATIENCE, async {
            let mut stream = TcpStream::connect(self.servers[server]).await?;
            stream.write_all(&bytes).await?;
            sleep(how.after).await;
            if how.reset { stream.set_zero_linger() } else { Ok(()) }
        })
        .await;
    }

    /// An answer of the simulated gateway.
    pub async fn get(&self, url: &str) -> Result<serde_json::Value, Failure> {
        let response = self.http.get(url).timeout(Duration::from_secs(20)).send().await?.error_for_status()?;
        Ok(serde_json::from_slice(&response.bytes().await?)?)
    }
}
