//! `POST /v1/payment_intents/{id}/confirm`.

use crate::sim::faults::Fault;
use crate::sim::perform::Work;
use crate::sim::stripe::call::Verb;
use crate::sim::stripe::charging::{Payment, pay};
use crate::sim::stripe::create_intent::payable;
use crate::sim::stripe::error::ApiError;
use crate::sim::stripe::expand::Expand;
use crate::sim::stripe::intent::{Intent, Status};
use crate::sim::stripe::params::Params;
use crate::sim::stripe::payment_methods::{self, Card};
use crate::sim::webhooks::Origin;
use crate::sim::world::State;

const KNOWN: [&str; 9] = [
    "client_secret",
    "error_on_requires_action",
    "expand",
    "off_session",
    "payment_method",
    "payment_method_options",
    "receipt_email",
    "return_url",
    "use_stripe_sdk",
];

/// The call.
pub struct ConfirmIntent {
    intent: Intent,
    method: String,
    card: Card,
    fault: Fault,
    error_on_requires_action: bool,
    expand_charge: bool,
}

impl Verb for ConfirmIntent {
    fn read(params: &Params, id: &str, state: &State) -> Result<Self, ApiError> {
        params.only(&KNOWN)?;
        let mut intent = find(state, id)?.clone();
        if let Some(method) = params.text("payment_method") {
            intent.payment_method = Some(method.to_owned());
        }
        let error_on_requires_action = params.flag("error_on_requires_action")?;
        let expand_charge = Expand::read(params, "", &["latest_charge"])?.has("latest_charge");
        let method = intent.payment_method.clone().unwrap_or_default();
        let known = match intent.payment_method.as_deref() {
            Some(method) => payment_methods::find(method)?,
            None => (Card::Succeeds, Fault::None),
        };
        if can_be_confirmed(intent.status) {
            payable(&intent, params, error_on_requires_action)?;
        }
        let (card, fault) = known;
        Ok(Self { intent, method, card, fault, error_on_requires_action, expand_charge })
    }

    fn fault(&self) -> Fault {
        self.fault
    }

    fn run(self, state: &State, origin: &Origin) -> Work {
        // It may have changed since it was read.
        let intent = state.intents.get(&self.intent.id).unwrap_or(&self.intent);
        if !can_be_confirmed(intent.status) {
            let possible = "confirmed: requires_payment_method, requires_confirmation, requires_action";
            let error = intent.unexpected("confirm", possible);
            return Work { status: error.http_status(), body: error.body(), ..Work::default() };
        }
        let payment = Payment {
            method: &self.method,
            card: self.card,
            error_on_requires_action: self.error_on_requires_action,
            expand_charge: self.expand_charge,
        };
        pay(intent.clone(), &payment, origin)
    }
}

fn can_be_confirmed(status: Status) -> bool {
    matches!(status, Status::RequiresPaymentMethod | Status::RequiresConfirmation | Status::RequiresAction)
}

/// The intent that the path names.
///
/// # Errors
///
/// 404 `resource_missing`.
pub fn find<'a>(state: &'a State, id: &str) -> Result<&'a Intent, ApiError> {
    state.intents.get(id).ok_or_else(|| ApiError::missing("payment_intent", id, "intent").status(404))
}
