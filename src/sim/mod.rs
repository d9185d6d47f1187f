//! The simulated world: a stand-in for Stripe and for business partners, over real HTTP, that counts the effects which
//! really happened. It is the judge of tests and rehearsals, so it believes nobody: it uses nothing of the layers that it
//! judges, and with a journal each effect is on disk before anybody hears of it.
//!
//! docs/simulated-world.md describes what it speaks. Called by `ichido sim`, `ichido dev`, rehearsals and tests.

mod control;
mod effects;
mod faults;
mod hash;
mod journal;
mod keys;
mod line;
mod partners;
mod perform;
pub mod signature;
mod stripe;
mod table;
mod webhooks;
mod world;

use crate::sim::webhooks::Webhooks;
use crate::sim::world::World;
use actix_web::body::MessageBody;
use actix_web::dev::{Server, ServiceRequest, ServiceResponse};
use actix_web::http::header::{HeaderName, HeaderValue};
use actix_web::middleware::{Next, from_fn};
use actix_web::{App, Error, HttpMessage, HttpRequest, HttpResponse, HttpServer, web};
use secrecy::SecretString;
use serde_json::json;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use time::OffsetDateTime;
use tokio::runtime::Handle;
use uuid::Uuid;

/// How the world is made. The default is an empty world that tells nobody and forgets everything.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// A file that keeps every effect over a restart; made when it is not there.
    pub journal: Option<PathBuf>,
    /// Where Stripe's notifications go; needs a secret.
    pub webhook_url: Option<String>,
    /// What they are signed with (`whsec_…`, or any other text).
    pub webhook_secret: Option<SecretString>,
}

/// What handlers work with.
#[derive(Clone)]
struct Sim {
    world: Arc<World>,
    webhooks: Option<Arc<Webhooks>>,
    /// Work outlives the connection that asked for it, and the server's threads.
    runtime: Handle,
}

impl Sim {
    /// Sends these notifications, if there is somebody to send them to.
    fn notify(&self, events: Vec<String>) {
        if let Some(webhooks) = &self.webhooks {
            for event in events {
                webhooks.send_in_background(&self.runtime, event);
            }
        }
    }
}

/// On every answer: whoever rehearses can make sure that nothing real is behind an address.
const SIMULATED: HeaderName = HeaderName::from_static("ichido-simulated-world");
const REQUEST_ID: HeaderName = HeaderName::from_static("request-id");
/// Effects are few; the world shares the machine with what it judges.
const WORKERS: usize = 2;
const SHUTDOWN_SECONDS: u64 = 1;
const MAX_BODY: usize = 1024 * 1024;

/// Reads the journal, binds and starts. The server runs when awaited, and ends through its handle only: signals are the
/// caller's business. Has to be called inside a Tokio runtime, in which the world's work then runs.
///
/// # Errors
///
/// When the address cannot be bound, the journal cannot be read, is damaged or belongs to a running world, or the
/// settings for notifications are not valid.
pub fn start(listen: SocketAddr, options: Options) -> io::Result<(Server, SocketAddr)> {
    let sim = Sim {
        world: Arc::new(World::open(options.journal.as_deref())?),
        webhooks: Webhooks::new(options.webhook_url.as_deref(), options.webhook_secret)?.map(Arc::new),
        runtime: Handle::try_current().map_err(io::Error::other)?,
    };
    let factory = move || App::new().app_data(web::Data::new(sim.clone())).configure(configure).wrap(from_fn(mark));
    let server = HttpServer::new(factory)
        .workers(WORKERS)
        .on_connect(line::remember)
        .shutdown_timeout(SHUTDOWN_SECONDS)
        .disable_signals()
        .bind(listen)?;
    let address = server.addrs().first().copied().unwrap_or(listen);
    Ok((server.run(), address))
}

/// The routing table.
fn configure(config: &mut web::ServiceConfig) {
    config
        .app_data(web::PayloadConfig::new(MAX_BODY))
        .route("/", web::get().to(about))
        .route("/effects", web::get().to(effects::list))
        .route("/control/webhooks", web::post().to(control::webhooks))
        .route("/control/settle", web::post().to(control::settle))
        .route("/partners/{kind}", web::post().to(partners::perform))
        .route("/partners/{kind}", web::get().to(partners::ask))
        // Stripe's client for Node cannot be given a path before /v1.
        .service(web::scope("/stripe/v1").configure(stripe::configure))
        .service(web::scope("/v1").configure(stripe::configure));
}

async fn about() -> HttpResponse {
    HttpResponse::Ok().json(json!({ "object": "simulated_world", "version": env!("CARGO_PKG_VERSION") }))
}

/// The name of one request, as it stands in `Request-Id`.
#[derive(Clone)]
struct RequestId(String);

impl RequestId {
    fn of(request: &HttpRequest) -> String {
        request.extensions().get::<Self>().map(|id| id.0.clone()).unwrap_or_default()
    }
}

async fn mark<B: MessageBody>(request: ServiceRequest, next: Next<B>) -> Result<ServiceResponse<B>, Error> {
    let id = new_id("req");
    request.extensions_mut().insert(RequestId(id.clone()));
    let mut response = next.call(request).await?;
    let headers = response.headers_mut();
    headers.insert(SIMULATED, HeaderValue::from_static("true"));
    if let Ok(id) = HeaderValue::from_str(&id) {
        headers.insert(REQUEST_ID, id);
    }
    Ok(response)
}

/// A new id in Stripe's form.
fn new_id(prefix: &str) -> String {
    format!("{prefix}_{}", Uuid::now_v7().simple())
}

/// Seconds since 1970, as Stripe's objects carry them.
#[expect(clippy::disallowed_methods, reason = "a world of its own has a clock of its own")]
fn now() -> i64 {
    OffsetDateTime::now_utc().unix_timestamp()
}
