//! The gateways of the organisations, ready to be called.

use crate::app::App;
use crate::app::error::AppError;
use crate::db::deadline::Deadline;
use crate::db::gateways::GatewayRow;
use crate::domain::ids::OrgId;
use crate::domain::operation::OperationPolicy;
use crate::domain::org::Mode;
use crate::domain::sealed::{Place, SealingKey, open};
use crate::gateway::Gateway;
use crate::gateway::outgoing::{Outgoing, SetupError};
use crate::gateway::stripe::Stripe;
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What a sealed gateway secret is for.
pub const GATEWAY_PURPOSE: &str = "gateway:stripe";
/// What a sealed payment method is for: one attempt, named by its key at the gateway.
#[must_use]
pub fn method_purpose(operation_key: &str) -> String {
    format!("payment_method:{operation_key}")
}

/// How payments are carried out by this process.
#[derive(Clone)]
pub struct PaymentSettings {
    /// How long a charge belongs to whoever took it. Longer than a call to the gateway can take.
    pub lease: Duration,
    /// The longest call to a gateway.
    pub gateway_timeout: Duration,
    /// What secrets are sealed with; without one no payment is taken.
    pub sealing_key: Option<Arc<SealingKey>>,
    /// When what failed is tried and what is unknown is asked.
    pub policy: OperationPolicy,
}

/// Clients that were made before. How an organisation reaches its gateway is read anew for each payment, so that a
/// change holds at once; a client is made anew only after a change.
#[derive(Default)]
pub struct Gateways {
    clients: Mutex<HashMap<OrgId, Client>>,
    /// One HTTP client for test organisations and one for live ones.
    outgoing: Mutex<HashMap<&'static str, Outgoing>>,
}

#[derive(Clone)]
struct Client {
    api_base: String,
    secret_sealed: Vec<u8>,
    sha256: Vec<u8>,
    gateway: Arc<dyn Gateway>,
}

/// An organisation's gateway.
pub struct FoundGateway {
    /// Its name.
    pub provider: String,
    /// Hash of its address and secret: two that differ may be two accounts, which know nothing of each other.
    pub sha256: Vec<u8>,
    /// To be called.
    pub gateway: Arc<dyn Gateway>,
}

impl Gateways {
    /// The organisation's gateway; `None` when it has none.
    ///
    /// # Errors
    ///
    /// [`AppError::Unavailable`] when the database is not there, or this process has not the key that its secret is
    /// sealed with.
    pub async fn of(&self, app: &App, org_id: OrgId, deadline: Deadline) -> Result<Option<FoundGateway>, AppError> {
        let Some(row) = app.db.find_gateway(org_id, deadline).await? else {
            return Ok(None);
        };
        let Client { sha256, gateway, .. } = match self.known(org_id, &row) {
            Some(known) => known,
            None => self.remember(org_id, make(app, org_id, &row)?),
        };
        Ok(Some(FoundGateway { provider: row.provider, sha256, gateway }))
    }

    /// The HTTP client for organisations of a mode.
    pub(in crate::app) fn outgoing(&self, mode: Mode, timeout: Duration) -> Result<Outgoing, SetupError> {
        let mut clients = self.outgoing.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = clients.get(mode.as_str()) {
            return Ok(known.clone());
        }
        let outgoing = Outgoing::new(Stripe::reach(mode), timeout)?;
        clients.insert(mode.as_str(), outgoing.clone());
        Ok(outgoing)
    }

    fn remember(&self, org_id: OrgId, client: Client) -> Client {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner).insert(org_id, client.clone());
        client
    }

    fn known(&self, org_id: OrgId, row: &GatewayRow) -> Option<Client> {
        let clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        let client = clients.get(&org_id)?;
        let same = client.api_base == row.api_base && client.secret_sealed == row.secret_sealed;
        same.then(|| client.clone())
    }
}

fn make(app: &App, org_id: OrgId, row: &GatewayRow) -> Result<Client, AppError> {
    let Some(key) = &app.payments.sealing_key else {
        tracing::error!(org_id = org_id.0, "a gateway is configured, and ICHIDO_SECRET_KEY is not set");
        return Err(AppError::Unavailable);
    };
    let place = Place { org_id, purpose: GATEWAY_PURPOSE };
    let secret = open(key, place, &row.secret_sealed).map_err(|_| {
        tracing::error!(org_id = org_id.0, "the gateway's secret was sealed with another ICHIDO_SECRET_KEY");
        AppError::Unavailable
    })?;
    let stripe = app
        .gateways
        .outgoing(row.mode, app.payments.gateway_timeout)
        .and_then(|outgoing| Stripe::new(outgoing, &row.api_base, &secret, row.mode));
    match stripe {
        Ok(stripe) => Ok(Client {
            api_base: row.api_base.clone(),
            secret_sealed: row.secret_sealed.clone(),
            sha256: sha256_of(&row.api_base, &secret),
            gateway: Arc::new(stripe),
        }),
        Err(error) => {
            tracing::error!(org_id = org_id.0, %error, "the gateway's settings cannot be used");
            Err(AppError::Unavailable)
        }
    }
}

fn sha256_of(api_base: &str, secret: &SecretString) -> Vec<u8> {
    // The secret has 100 bits and more, so its hash tells nothing of it.
    let mut hash = Sha256::new();
    hash.update(api_base.as_bytes());
    hash.update([0]);
    hash.update(secret.expose_secret().as_bytes());
    hash.finalize().to_vec()
}
