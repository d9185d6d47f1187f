//! The provider: sends each delivery to either server until it is accepted.

use crate::Failure;
use crate::notifications::story::{Delivery, SECRET};
use crate::stack::Stack;
use rand::Rng;
use reqwest::Client;
use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::time::sleep;

/// How long a delivery is tried; killed servers are back within a second.
const PERSISTENCE: Duration = Duration::from_mins(1);
const BETWEEN: Duration = Duration::from_millis(100);

/// It, and what it saw.
pub struct Provider {
    client: Client,
    servers: [SocketAddr; 2],
    path: String,
    delivered: AtomicU64,
    refused: AtomicU64,
    wrong: Mutex<Vec<String>>,
}

impl Provider {
    /// With an endpoint of the first organisation.
    pub async fn set_up(stack: &Stack) -> Result<Self, Failure> {
        let org = stack.api.org(0).id.to_string();
        let words =
            ["webhook-endpoint", "create", "--org", &org, "--provider", "stripe", "--secret-env", "WEBHOOK_SECRET"];
        let made = stack.admin(&words, &[("WEBHOOK_SECRET", SECRET)]).await?;
        let path = made["path"].as_str().ok_or("no path of the endpoint")?.to_owned();
        let client = Client::builder().no_proxy().timeout(Duration::from_secs(4)).build()?;
        Ok(Self {
            client,
            servers: stack.api.servers(),
            path,
            delivered: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            wrong: Mutex::default(),
        })
    }

    /// Deliveries that were accepted.
    pub fn delivered(&self) -> u64 {
        self.delivered.load(Ordering::SeqCst)
    }

    /// Badly signed ones, all of them refused.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::SeqCst)
    }

    /// Answers that should not have been.
    pub fn take_wrong(&self) -> Vec<String> {
        self.wrong.lock().map(|mut wrong| std::mem::take(&mut *wrong)).unwrap_or_default()
    }

    /// Sends it until it is accepted; a badly signed one first until it is refused.
    pub async fn insist(&self, delivery: &Delivery) {
        if delivery.badly_signed && self.until(delivery, "whsec_of_somebody_else", 400).await {
            self.refused.fetch_add(1, Ordering::SeqCst);
        }
        if self.until(delivery, SECRET, 200).await {
            self.delivered.fetch_add(1, Ordering::SeqCst);
        }
    }

    async fn until(&self, delivery: &Delivery, secret: &str, wanted: u16) -> bool {
        let started = Instant::now();
        while started.elapsed() < PERSISTENCE {
            match self.send(delivery, secret).await {
                Some(status) if status == wanted => return true,
                // Not connected, cut off, or the database had no time: the provider comes again.
                None | Some(503) => sleep(BETWEEN).await,
                Some(status) => {
                    self.note(format!("{status} instead of {wanted} to {}", delivery.body));
                    return false;
                }
            }
        }
        self.note(format!("never {wanted}: {}", delivery.body));
        false
    }

    /// Sends it once; gives the status.
    pub async fn send(&self, delivery: &Delivery, secret: &str) -> Option<u16> {
        let server = self.servers[rand::rng().random_range(0..2)];
        let request = self.client.post(format!("http://{server}{}", self.path));
        let request = request.header("Stripe-Signature", delivery.signature(secret));
        let request = request.header("Content-Type", "application/json").body(delivery.body.clone());
        Some(request.send().await.ok()?.status().as_u16())
    }

    fn note(&self, what: String) {
        if let Ok(mut wrong) = self.wrong.lock() {
            wrong.push(what);
        }
    }
}
