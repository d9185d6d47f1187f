//! `POST /v1/payment_intents/{id}/cancel`.

use crate::sim::perform::Work;
use crate::sim::stripe::call::Verb;
use crate::sim::stripe::confirm_intent::find;
use crate::sim::stripe::error::ApiError;
use crate::sim::stripe::expand::Expand;
use crate::sim::stripe::intent::{Intent, Status};
use crate::sim::stripe::params::Params;
use crate::sim::webhooks::{Origin, event};
use crate::sim::world::{Change, State};

const REASONS: [&str; 4] = ["duplicate", "fraudulent", "requested_by_customer", "abandoned"];

/// The call.
pub struct CancelIntent {
    intent: Intent,
    reason: Option<String>,
    expand_charge: bool,
}

impl Verb for CancelIntent {
    fn read(params: &Params, id: &str, state: &State) -> Result<Self, ApiError> {
        params.only(&["cancellation_reason", "expand"])?;
        let reason = params.one_of("cancellation_reason", &REASONS)?;
        let expand_charge = Expand::read(params, "", &["latest_charge"])?.has("latest_charge");
        Ok(Self { intent: find(state, id)?.clone(), reason, expand_charge })
    }

    fn run(self, state: &State, origin: &Origin) -> Work {
        // It may have changed since it was read.
        let mut intent = state.intents.get(&self.intent.id).unwrap_or(&self.intent).clone();
        if matches!(intent.status, Status::Succeeded | Status::Canceled) {
            let possible = "canceled: requires_payment_method, requires_capture, requires_confirmation, \
                            requires_action, processing";
            let error = intent.unexpected("cancel", possible);
            return Work { status: error.http_status(), body: error.body(), ..Work::default() };
        }
        intent.status = Status::Canceled;
        intent.canceled_at = Some(origin.now);
        intent.cancellation_reason = self.reason;
        let events = vec![event(None, "payment_intent.canceled", &intent.render(None), origin)];
        let body = intent.render_in(state, self.expand_charge).to_string();
        Work { change: Change { intent: Some(intent), ..Change::default() }, status: 200, body, events }
    }
}
