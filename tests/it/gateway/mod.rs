//! The payment gateway against a server that behaves as badly as it is told.

mod find;
mod refusals;
mod requests;
mod simulated;
mod transport;

use crate::support::scripted_http::{ScriptedHttp, Step};
use ichido::domain::ids::{OrderId, OrgId};
use ichido::domain::org::Mode;
use ichido::gateway::outgoing::Outgoing;
use ichido::gateway::stripe::Stripe;
use ichido::gateway::{ChargeRequest, Gateway, Outcome, RetrieveRequest};
use secrecy::SecretString;
use serde_json::{Value, json};
use std::time::Duration;

const SECRET: &str = "sk_test_canary";
const METHOD: &str = "pm_canary";
const ORDER: &str = "01890000-0000-7000-8000-000000000001";
/// Long enough for a busy machine; tests of the timeout itself use [`SHORT`].
const TIMEOUT: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(500);

/// The gateway of a test organisation, behind the trait as the program uses it.
fn stripe(base: &str) -> Box<dyn Gateway> {
    stripe_within(base, TIMEOUT)
}

fn stripe_within(base: &str, timeout: Duration) -> Box<dyn Gateway> {
    let outgoing = Outgoing::new(Stripe::reach(Mode::Test), timeout).unwrap();
    Box::new(Stripe::new(outgoing, base, &SecretString::from(SECRET), Mode::Test).unwrap())
}

fn charge() -> ChargeRequest {
    ChargeRequest {
        key: "ichido-7-1".to_owned(),
        org_id: OrgId(7),
        order_id: OrderId::parse(ORDER).unwrap(),
        attempt: 1,
        amount: 2_400,
        currency: "JPY".to_owned(),
        method: SecretString::from(METHOD),
        sent_before: false,
    }
}

fn by_reference() -> RetrieveRequest {
    RetrieveRequest { reference: "pi_1".to_owned(), amount: 2_400, currency: "JPY".to_owned() }
}

fn intent(id: &str, status: &str, attempt: &str) -> Value {
    json!({"id": id, "object": "payment_intent", "status": status, "amount_received": 2400, "currency": "jpy",
           "livemode": false, "last_payment_error": null,
           "metadata": {"ichido_order_id": ORDER, "ichido_org_id": "7", "ichido_attempt": attempt}})
}

fn succeeded(reference: &str) -> Outcome {
    Outcome::Succeeded { reference: reference.to_owned(), amount: 2_400, currency: "JPY".to_owned() }
}

/// Charges once against a server with one step.
async fn charge_against(step: Step) -> (Outcome, ScriptedHttp) {
    let server = ScriptedHttp::start([step]).await;
    let outcome = stripe(&server.base).charge(charge()).await;
    (outcome, server)
}

/// Nothing that an outcome shows may hold what was sent.
fn assert_no_canary(shown: &str, base: &str) {
    for secret in ["canary", base.trim_start_matches("http://")] {
        assert!(!shown.contains(secret), "{shown}");
    }
}
