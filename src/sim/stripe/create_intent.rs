//! `POST /v1/payment_intents`, with or without `confirm`.

use crate::sim::faults::Fault;
use crate::sim::new_id;
use crate::sim::perform::Work;
use crate::sim::stripe::call::Verb;
use crate::sim::stripe::charging::{Payment, pay};
use crate::sim::stripe::error::ApiError;
use crate::sim::stripe::expand::Expand;
use crate::sim::stripe::intent::{Intent, Status};
use crate::sim::stripe::params::Params;
use crate::sim::stripe::payment_methods::{self, Card};
use crate::sim::webhooks::Origin;
use crate::sim::world::{Change, State};
use iso_currency::Currency;

/// Parameters that are understood, and those that change nothing here.
const KNOWN: [&str; 23] = [
    "amount",
    "automatic_payment_methods",
    "capture_method",
    "confirm",
    "confirmation_method",
    "currency",
    "customer",
    "description",
    "error_on_requires_action",
    "expand",
    "metadata",
    "off_session",
    "payment_method",
    "payment_method_options",
    "payment_method_types",
    "receipt_email",
    "return_url",
    "setup_future_usage",
    "shipping",
    "statement_descriptor",
    "statement_descriptor_suffix",
    "transfer_group",
    "use_stripe_sdk",
];
const MAX_AMOUNT: i64 = 99_999_999;

/// The call.
pub struct CreateIntent {
    intent: Intent,
    card: Card,
    fault: Fault,
    confirm: bool,
    error_on_requires_action: bool,
    expand_charge: bool,
}

impl Verb for CreateIntent {
    fn read(params: &Params, _id: &str, _state: &State) -> Result<Self, ApiError> {
        params.only(&KNOWN)?;
        let (card, fault) = match params.text("payment_method") {
            Some(method) => payment_methods::find(method)?,
            None => (Card::Succeeds, Fault::None),
        };
        let confirm = params.flag("confirm")?;
        let error_on_requires_action = params.flag("error_on_requires_action")?;
        let intent = read_intent(params)?;
        if error_on_requires_action && !confirm {
            let message = "You may only specify `error_on_requires_action` when `confirm` is true.";
            return Err(ApiError::parameter("error_on_requires_action", message));
        }
        if confirm {
            payable(&intent, params, error_on_requires_action)?;
        }
        let expand_charge = Expand::read(params, "", &["latest_charge"])?.has("latest_charge");
        Ok(Self { intent, card, fault, confirm, error_on_requires_action, expand_charge })
    }

    fn fault(&self) -> Fault {
        // A fault is one of paying.
        if self.confirm { self.fault } else { Fault::None }
    }

    fn run(self, _state: &State, origin: &Origin) -> Work {
        let id = new_id("pi");
        let client_secret = format!("{id}_{}", new_id("secret"));
        let intent = Intent { id, client_secret, created: origin.now, ..self.intent };
        if self.confirm {
            let method = intent.payment_method.clone().unwrap_or_default();
            let payment = Payment {
                method: &method,
                card: self.card,
                error_on_requires_action: self.error_on_requires_action,
                expand_charge: self.expand_charge,
            };
            return pay(intent, &payment, origin);
        }
        let body = intent.render(None).to_string();
        Work { change: Change { intent: Some(intent), ..Change::default() }, status: 200, body, events: Vec::new() }
    }
}

/// The intent, still without id and time.
fn read_intent(params: &Params) -> Result<Intent, ApiError> {
    params.required("amount")?;
    let amount = params.integer("amount", 1, MAX_AMOUNT)?.unwrap_or_default();
    let currency = params.required("currency")?;
    if Currency::from_code(&currency.to_ascii_uppercase()).is_none() {
        return Err(ApiError::parameter("currency", format!("Invalid currency: {currency}.")));
    }
    if params.one_of("capture_method", &["automatic", "automatic_async", "manual"])?.as_deref() == Some("manual") {
        let message = "The simulated world takes money at once: `capture_method` cannot be `manual`.";
        return Err(ApiError::parameter("capture_method", message));
    }
    let types: Vec<_> = params.list("payment_method_types").into_iter().map(str::to_owned).collect();
    if !types.is_empty() && params.flag("automatic_payment_methods[enabled]")? {
        let message = "You may only specify one of these parameters: automatic_payment_methods, payment_method_types.";
        return Err(ApiError::invalid(message));
    }
    let redirects = params.one_of("automatic_payment_methods[allow_redirects]", &["always", "never"])?;
    let payment_method = params.text("payment_method").map(str::to_owned);
    let status = if payment_method.is_some() { Status::RequiresConfirmation } else { Status::RequiresPaymentMethod };
    Ok(Intent {
        id: String::new(),
        amount,
        amount_received: 0,
        currency: currency.to_ascii_lowercase(),
        status,
        payment_method,
        may_redirect: types.is_empty() && redirects.as_deref() != Some("never"),
        payment_method_types: types,
        latest_charge: None,
        last_payment_error: None,
        metadata: params.metadata()?,
        created: 0,
        client_secret: String::new(),
        description: params.text("description").map(str::to_owned),
        customer: params.text("customer").map(str::to_owned),
        receipt_email: params.text("receipt_email").map(str::to_owned),
        canceled_at: None,
        cancellation_reason: None,
        paying_key: None,
    })
}

/// Whether an intent can be confirmed with these parameters.
///
/// # Errors
///
/// When there is no payment method, or none can be asked for without a page to come back to.
pub fn payable(intent: &Intent, params: &Params, error_on_requires_action: bool) -> Result<(), ApiError> {
    if intent.payment_method.is_none() {
        let message = "You cannot confirm this PaymentIntent because it's missing a payment method. You can either \
                       update the PaymentIntent with a payment method and then confirm it again, or confirm it again \
                       directly with a payment method or ConfirmationToken.";
        return Err(ApiError::invalid(message).code("payment_intent_unexpected_state"));
    }
    if intent.may_redirect && params.text("return_url").is_none() && !error_on_requires_action {
        let message = "This PaymentIntent is configured to accept payment methods enabled in your Dashboard. Because \
                       some of these payment methods might redirect your customer off of your page, you must provide a \
                       `return_url`. If you don't want to accept redirect-based payment methods, set \
                       `automatic_payment_methods[enabled]` to `true` and `automatic_payment_methods[allow_redirects]` \
                       to `never` when creating Setup Intents and Payment Intents.";
        return Err(ApiError::invalid(message));
    }
    Ok(())
}
