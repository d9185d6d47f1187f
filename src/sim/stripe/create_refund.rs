//! `POST /v1/refunds`, of a whole payment or a part of it.

use crate::sim::effects::Effect;
use crate::sim::faults::Behaviour;
use crate::sim::faults::Fault;
use crate::sim::new_id;
use crate::sim::perform::Work;
use crate::sim::stripe::call::Verb;
use crate::sim::stripe::charge::Charge;
use crate::sim::stripe::error::ApiError;
use crate::sim::stripe::expand::Expand;
use crate::sim::stripe::params::Params;
use crate::sim::stripe::refund::Refund;
use crate::sim::webhooks::{Origin, event};
use crate::sim::world::{Change, State};
use std::collections::BTreeMap;

const KNOWN: [&str; 6] = ["amount", "charge", "expand", "metadata", "payment_intent", "reason"];
const REASONS: [&str; 3] = ["duplicate", "fraudulent", "requested_by_customer"];

/// The call.
pub struct CreateRefund {
    charge: Charge,
    amount: Option<i64>,
    reason: Option<String>,
    metadata: BTreeMap<String, String>,
    behaviour: Behaviour,
}

impl Verb for CreateRefund {
    fn read(params: &Params, _id: &str, state: &State) -> Result<Self, ApiError> {
        params.only(&KNOWN)?;
        let charge = find_charge(params, state)?.clone();
        let amount = params.integer("amount", 1, i64::MAX)?;
        let reason = params.one_of("reason", &REASONS)?;
        let metadata = params.metadata()?;
        Expand::read(params, "", &[])?;
        // The refund's own word goes before the payment's.
        let word = metadata.get("sim_refund").or_else(|| charge.metadata.get("sim_refund"));
        let behaviour = word.map_or(Some(Behaviour::GOOD), |word| Behaviour::parse(word));
        let behaviour = behaviour.ok_or_else(|| ApiError::parameter("metadata", "The sim_ word is not known."))?;
        Ok(Self { charge, amount, reason, metadata, behaviour })
    }

    fn fault(&self) -> Fault {
        self.behaviour.fault
    }

    fn run(self, state: &State, origin: &Origin) -> Work {
        // There may have been another refund since it was read.
        let mut charge = state.charges.get(&self.charge.id).unwrap_or(&self.charge).clone();
        let rest = charge.amount - charge.amount_refunded;
        let amount = self.amount.unwrap_or(rest);
        if let Some(error) = refusal(&charge, amount, rest) {
            return Work { status: error.http_status(), body: error.body(), ..Work::default() };
        }
        let failed = self.behaviour.declined;
        let refund = Refund {
            id: new_id("re"),
            payment_intent: charge.payment_intent.clone(),
            charge: charge.id.clone(),
            amount,
            currency: charge.currency.clone(),
            failed,
            reason: self.reason,
            metadata: self.metadata,
            created: origin.now,
        };
        let body = refund.render().to_string();
        let mut events = vec![event(None, "refund.created", &refund.render(), origin)];
        if failed {
            events.push(event(None, "refund.failed", &refund.render(), origin));
            return Work { change: Change { refund: Some(refund), ..Change::default() }, status: 200, body, events };
        }
        charge.amount_refunded += amount;
        events.push(event(None, "charge.refunded", &charge.render(), origin));
        let effect = Some(effect_of(&refund, &charge, origin));
        Work {
            change: Change { effect, refund: Some(refund), charge: Some(charge), ..Change::default() },
            status: 200,
            body,
            events,
        }
    }
}

fn effect_of(refund: &Refund, charge: &Charge, origin: &Origin) -> Effect {
    let order_id = refund.metadata.get("ichido_order_id").or_else(|| charge.metadata.get("ichido_order_id"));
    Effect {
        kind: "refund".to_owned(),
        key: origin.key.clone().unwrap_or_else(|| refund.id.clone()),
        order_id: order_id.cloned(),
        amount: Some(refund.amount),
        currency: Some(refund.currency.clone()),
    }
}

/// The charge to refund, by its own id or by its intent's.
fn find_charge<'a>(params: &Params, state: &'a State) -> Result<&'a Charge, ApiError> {
    let charge = match (params.text("payment_intent"), params.text("charge")) {
        (Some(id), _) => {
            let intent = state.intents.get(id);
            let intent = intent.ok_or_else(|| ApiError::missing("payment_intent", id, "payment_intent").status(404))?;
            intent.latest_charge.as_deref().and_then(|id| state.charges.get(id)).filter(|charge| charge.is_paid())
        }
        (None, Some(id)) => {
            let charge = state.charges.get(id);
            Some(charge.ok_or_else(|| ApiError::missing("charge", id, "charge").status(404))?)
                .filter(|charge| charge.is_paid())
        }
        (None, None) => {
            let message = "One of the following params should be provided for this request: payment_intent or charge.";
            return Err(ApiError::invalid(message).code("parameter_missing"));
        }
    };
    charge.ok_or_else(|| {
        let message = "This PaymentIntent does not have a successful charge to refund.";
        ApiError::parameter("payment_intent", message).code("payment_intent_unexpected_state")
    })
}

fn refusal(charge: &Charge, amount: i64, rest: i64) -> Option<ApiError> {
    if rest == 0 {
        let message = format!("Charge {} has already been refunded.", charge.id);
        return Some(ApiError::invalid(message).code("charge_already_refunded"));
    }
    (amount > rest).then(|| {
        let message = format!("Refund amount ({amount}) is greater than unrefunded amount on charge ({rest})");
        ApiError::parameter("amount", message)
    })
}
