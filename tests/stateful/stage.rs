//! What all cases share: one database and two servers on it; and for each case organisations of its own.

use crate::operation::{ORGS, SERVERS};
use crate::support::app::{TestApp, TestOrg, new_org};
use crate::support::payments::{GATEWAY_SECRET, World, settings, use_gateway};
use crate::support::postgres;
use ichido::app::gateways::PaymentSettings;
use ichido::app::inbox::endpoints::{NewSecret, create_endpoint};
use ichido::db::deadline::Deadline;
use ichido::db::orgs::NewOrg;
use ichido::domain::operation::{CHARGE_POLICY, OperationPolicy};
use ichido::domain::org::{OnMismatch, ReplayStatus};
use reqwest::{Client, Method, RequestBuilder};
use secrecy::SecretString;
use serde_json::Value;
use std::array;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use tokio::runtime::{Builder, Runtime};
use uuid::Uuid;

/// What notifications are signed with.
pub const SECRET: &str = "whsec_stateful";
const DAY_SECONDS: i64 = 86_400;

/// In which the servers run, from one case to the next.
pub static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap());

/// The stage.
pub static STAGE: LazyLock<Stage> = LazyLock::new(|| RUNTIME.block_on(Stage::set()));

/// What is there from the first case to the last.
pub struct Stage {
    pub sql: tokio_postgres::Client,
    url: SecretString,
    servers: Mutex<[Arc<TestApp>; SERVERS]>,
    client: Client,
}

/// One organisation of a case.
#[derive(Debug)]
pub struct Tenant {
    pub org: TestOrg,
    /// Where its notifications go.
    pub endpoint: Uuid,
}

/// Nothing is due before the model says so.
fn unhurried() -> PaymentSettings {
    let ask_after = [time::Duration::hours(1); 4];
    PaymentSettings { policy: OperationPolicy { ask_after, ..CHARGE_POLICY }, ..settings() }
}

impl Stage {
    async fn set() -> Self {
        let url = postgres::database().await;
        let sql = postgres::connect(&url).await;
        let mut servers = Vec::new();
        for _ in 0..SERVERS {
            servers.push(Arc::new(TestApp::start_with(url.clone(), unhurried()).await));
        }
        let servers = Mutex::new(servers.try_into().unwrap_or_else(|_| panic!("not {SERVERS} servers")));
        Self { sql, url, servers, client: Client::new() }
    }

    /// A server, as it is now.
    pub fn server(&self, number: usize) -> Arc<TestApp> {
        let servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&servers[number])
    }

    /// Ends a server and starts another one on the same database.
    pub async fn restart(&self, number: usize) {
        let fresh = Arc::new(TestApp::start_with(self.url.clone(), unhurried()).await);
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)[number] = fresh;
    }

    /// The organisations of a case, whose gateway is this world, as [`crate::operation::ORGS`] describes them.
    pub async fn tenants(&self, world: &World) -> [Tenant; ORGS] {
        let strict = NewOrg { keys_kept_for_seconds: Some(DAY_SECONDS), ..new_org() };
        let lenient =
            NewOrg { on_mismatch: OnMismatch::ReturnOriginal, replay_status: ReplayStatus::Original, ..new_org() };
        let mut tenants = array::from_fn(|_| None);
        for (tenant, org) in tenants.iter_mut().zip([strict, lenient]) {
            *tenant = Some(self.tenant(org, world).await);
        }
        tenants.map(Option::unwrap)
    }

    async fn tenant(&self, org: NewOrg, world: &World) -> Tenant {
        let app = self.server(0);
        let org = app.org(org).await;
        use_gateway(&app.app, &org, &world.stripe()).await;
        let secret = NewSecret { name: "STATEFUL".to_owned(), secret: SecretString::from(SECRET) };
        let endpoint = create_endpoint(&app.app, org.id, &secret, Deadline::of_request()).await.unwrap();
        Tenant { org, endpoint }
    }

    /// A call to the gateway, as its customer or its staff would make it.
    pub async fn gateway(&self, world: &World, method: Method, path: &str, form: &[(&str, &str)]) -> Value {
        let request = self.client.request(method, format!("{}/v1/{path}", world.stripe()));
        let request = request.bearer_auth(GATEWAY_SECRET);
        answer(if form.is_empty() { request } else { request.form(form) }).await
    }
}

async fn answer(request: RequestBuilder) -> Value {
    let response = request.send().await.unwrap();
    let status = response.status();
    let body: Value = response.json().await.unwrap();
    assert!(status.is_success(), "the gateway answered {status} {body}");
    body
}
