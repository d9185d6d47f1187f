//! `GET /v1/payment_intents/{id}`, `/v1/charges/{id}`, `/v1/refunds/{id}`.

use crate::sim::stripe::confirm_intent::find;
use crate::sim::stripe::error::ApiError;
use crate::sim::stripe::expand::Expand;
use crate::sim::stripe::params::Params;
use crate::sim::world::State;
use serde_json::Value;

/// A payment intent.
pub fn intent(params: &Params, id: &str, state: &State) -> Result<Value, ApiError> {
    params.only(&["client_secret", "expand"])?;
    let expand = Expand::read(params, "", &["latest_charge"])?;
    Ok(find(state, id)?.render_in(state, expand.has("latest_charge")))
}

/// A charge.
pub fn charge(params: &Params, id: &str, state: &State) -> Result<Value, ApiError> {
    params.only(&["expand"])?;
    Expand::read(params, "", &[])?;
    let charge = state.charges.get(id);
    charge.map(super::charge::Charge::render).ok_or_else(|| ApiError::missing("charge", id, "id").status(404))
}

/// A refund.
pub fn refund(params: &Params, id: &str, state: &State) -> Result<Value, ApiError> {
    params.only(&["expand"])?;
    Expand::read(params, "", &[])?;
    let refund = state.refunds.get(id);
    refund.map(super::refund::Refund::render).ok_or_else(|| ApiError::missing("refund", id, "id").status(404))
}
