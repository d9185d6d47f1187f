//! What a payment needs before anything is claimed: a gateway that can be called, the method sealed, the keys it will go by.

use crate::app::App;
use crate::app::charge::lease::Lease;
use crate::app::charge::{CHARGE_TIME, FirstCharge};
use crate::app::command::Keyed;
use crate::app::error::AppError;
use crate::app::gateways::method_purpose;
use crate::db::charge_batch::NewCharge;
use crate::db::deadline::Deadline;
use crate::db::operations::OperationId;
use crate::domain::ids::{OrderId, OrgId};
use crate::domain::order::Order;
use crate::domain::sealed::{NONCE_LENGTH, Place, seal};
use crate::gateway::Gateway;
use secrecy::SecretString;
use std::sync::Arc;
use uuid::Uuid;

/// What is to be paid with, and where the request says so.
pub(super) struct Method<'a> {
    pub text: &'a str,
    pub pointer: &'static str,
}

/// A payment that can be begun.
pub(super) struct Payment {
    pub gateway: Arc<dyn Gateway>,
    pub provider: String,
    pub gateway_sha256: Vec<u8>,
    pub method: SecretString,
    pub method_sealed: Vec<u8>,
    pub operation_key: String,
    pub lease: Lease,
}

impl Payment {
    /// Prepares one. Nothing is written.
    ///
    /// # Errors
    ///
    /// [`AppError::PaymentNotConfigured`] without a gateway; [`AppError::Unavailable`] when its secret or the payment method
    /// cannot be sealed or opened by this process.
    pub async fn prepare(app: &App, org_id: OrgId, method: Method<'_>, deadline: Deadline) -> Result<Self, AppError> {
        let Method { text, pointer } = method;
        let found = app.gateways.of(app, org_id, deadline).await?;
        let found = found.ok_or(AppError::PaymentNotConfigured { pointer })?;
        let key = app.payments.sealing_key.as_deref().ok_or(AppError::Unavailable)?;
        let method = SecretString::from(text.to_owned());
        let nonce: [u8; NONCE_LENGTH] = rand::random();
        // Not the order's id: a key names one attempt, and is never used for another.
        let operation_key = format!("ichido-{}", Uuid::now_v7());
        let place = Place { org_id, purpose: &method_purpose(&operation_key) };
        let method_sealed = seal(key, place, &method, nonce).map_err(|_| AppError::Internal)?;
        Ok(Self {
            gateway: found.gateway,
            provider: found.provider,
            gateway_sha256: found.sha256,
            method,
            method_sealed,
            operation_key,
            lease: Lease::begin(),
        })
    }

    /// What the one statement of an order with a payment writes.
    pub fn claim(&self, app: &App, keyed: &Keyed, order: Order) -> NewCharge {
        NewCharge {
            key: keyed.command.key.clone(),
            fingerprint: keyed.fingerprint,
            kept_for_seconds: keyed.command.org.keys_kept_for_seconds,
            order,
            canonical_request: Arc::clone(&keyed.canonical),
            provider: self.provider.clone(),
            gateway_sha256: self.gateway_sha256.clone(),
            method_sealed: self.method_sealed.clone(),
            operation_key: self.operation_key.clone(),
            lease: (self.lease.token, app.payments.lease),
            time: CHARGE_TIME,
        }
    }

    /// The charge, once claim, attempt and lease are committed.
    pub fn into_charge(self, keyed: &Keyed, place: (OrderId, i32), amount: i64, currency: String) -> FirstCharge {
        FirstCharge {
            id: OperationId::charge(keyed.command.org.org_id, place.0, place.1),
            lease: self.lease,
            gateway: self.gateway,
            operation_key: self.operation_key,
            amount,
            currency,
            method: self.method,
            request_id: keyed.command.request_id,
        }
    }
}
