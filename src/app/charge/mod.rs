//! Takes an order's money: record the intent, call with no transaction open, record the outcome.
//!
//! Whoever calls the gateway holds the charge's lease, which was committed before. Whatever dies in between leaves a row
//! with an expired lease, and [`recover`] goes on from there: it asks first.

pub mod finish;
pub mod lease;
mod opened;
pub mod recover;
pub mod send;
pub mod settle;

use crate::app::App;
use crate::app::charge::lease::Lease;
use crate::app::charge::send::{Call, TOO_LATE, send};
use crate::app::charge::settle::{Finding, Settled, settle_charge};
use crate::app::error::AppError;
use crate::db::first_charges::FirstPaid;
use crate::db::operations::OperationId;
use crate::domain::payment::ChargeFact;
use crate::gateway::Gateway;
use secrecy::SecretString;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;
use uuid::Uuid;

/// How long a charge is tried before a person looks at it. Stripe forgets keys after as long.
pub const CHARGE_TIME: Duration = Duration::from_hours(24);

/// A charge whose lease this process holds, to be sent for the first time.
pub struct FirstCharge {
    /// Which.
    pub id: OperationId,
    /// The lease.
    pub lease: Lease,
    /// Where to.
    pub gateway: Arc<dyn Gateway>,
    /// Its key there, committed before.
    pub operation_key: String,
    /// In the currency's minor unit.
    pub amount: i64,
    /// ISO 4217.
    pub currency: String,
    /// What it is paid with.
    pub method: SecretString,
    /// The request that asks.
    pub request_id: Uuid,
}

/// How long a client waits for what the gateway has told to be recorded. Whatever becomes of that, nothing is lost: the lease
/// ends, and whoever takes it asks the gateway again under the same key.
const RECORD_TIME: Duration = Duration::from_secs(6);

/// Sends a charge for the first time and records what came of it: an order's first success together with others, anything else
/// alone.
///
/// # Errors
///
/// As [`settle_charge`].
pub async fn carry_out(app: &App, charge: FirstCharge) -> Result<Settled, AppError> {
    failpoint!("charge/first/before_call");
    let heard = if charge.lease.outlasts_a_call(&app.payments) {
        let call = Call {
            id: charge.id.clone(),
            operation_key: charge.operation_key,
            amount: charge.amount,
            currency: charge.currency,
            method: charge.method,
            sent_before: false,
        };
        send(charge.gateway.as_ref(), call).await
    } else {
        TOO_LATE
    };
    failpoint!("charge/first/answered");
    let finding = Finding {
        id: charge.id,
        token: Some(charge.lease.token),
        heard,
        asked: false,
        actor: "request".to_owned(),
        request_id: charge.request_id,
    };
    let recorded = timeout(RECORD_TIME, record(app, &finding, charge.lease.token)).await;
    recorded.unwrap_or_else(|_| {
        tracing::warn!(order_id = %finding.id.order_id, "not recorded in time: the lease ends, and the gateway is asked");
        Err(AppError::OutcomeUnknown)
    })
}

/// May be dropped at any await: in here are only transactions, which are undone with their connection, and waits.
async fn record(app: &App, finding: &Finding, token: Uuid) -> Result<Settled, AppError> {
    let id = &finding.id;
    let mut turn = None;
    if let (ChargeFact::Succeeded { reference: Some(reference) }, Some(1)) = (&finding.heard.fact, id.attempt()) {
        let paid = FirstPaid { order_id: id.order_id, token, reference: reference.clone() };
        if let Some(reply) = app.finishing.finish(app, id.org_id, paid).await {
            return Ok(Settled { reply });
        }
        turn = Some(app.finishing.turn_alone(id.org_id).await);
        failpoint!("charge/alone/taken");
    }
    let settled = settle_charge(app, finding).await;
    drop(turn);
    settled
}
