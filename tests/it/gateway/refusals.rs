//! What never leaves this machine.

use super::{SECRET, by_reference, charge, stripe};
use crate::support::scripted_http::{ScriptedHttp, Step};
use ichido::domain::org::Mode;
use ichido::gateway::outcome::reason;
use ichido::gateway::outgoing::{Outgoing, SetupError};
use ichido::gateway::stripe::Stripe;
use ichido::gateway::{CancelOutcome, ChargeRequest, Gateway, Lookup, Outcome, RetrieveRequest};
use secrecy::SecretString;
use std::time::Duration;

fn setup(mode: Mode, base: &str, secret: &str) -> Result<Stripe, SetupError> {
    let outgoing = Outgoing::new(Stripe::reach(mode), Duration::from_secs(2)).unwrap();
    Stripe::new(outgoing, base, &SecretString::from(secret), mode)
}

#[tokio::test]
async fn a_live_organisation_calls_no_private_address_by_name_either() {
    let server = ScriptedHttp::start([Step::CloseAfterRequest]).await;
    let port = server.base.rsplit(':').next().unwrap();
    for host in ["localhost", "localhost.", "LOCALHOST"] {
        let gateway = setup(Mode::Live, &format!("https://{host}:{port}"), SECRET).unwrap();
        let outcome = gateway.charge(charge()).await;
        assert_eq!(outcome, Outcome::NotSent { reason: reason::NOT_CONNECTED, retry_after: None }, "{host}");
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn settings_that_cannot_be_used_are_refused_without_showing_them() {
    let cases = [
        (Mode::Live, "http://api.stripe.com", SECRET, SetupError::NotHttps),
        (Mode::Live, "https://127.0.0.1", SECRET, SetupError::NotPublic),
        (Mode::Live, "https://[::ffff:10.0.0.1]", SECRET, SetupError::NotPublic),
        (Mode::Test, "https://api.stripe.com/v1", SECRET, SetupError::Version),
        (Mode::Test, "https://api.stripe.com/v1/", SECRET, SetupError::Version),
        (Mode::Test, "https://canary@api.stripe.com", SECRET, SetupError::Url),
        (Mode::Test, "https://api.stripe.com", "", SetupError::Secret),
        (Mode::Test, "https://api.stripe.com", "sk canary\n", SetupError::Secret),
    ];
    for (mode, base, secret, expected) in cases {
        let error = setup(mode, base, secret).unwrap_err();
        assert_eq!(error, expected, "{base}");
        assert!(!format!("{error} {error:?}").contains("canary"));
    }
    let shown = format!("{:?}", setup(Mode::Test, "https://canary.example", SECRET).unwrap());
    assert_eq!(shown, "Stripe { live: false, .. }");
    assert!(!format!("{:?}", charge()).contains("canary"));
}

#[tokio::test]
async fn requests_that_cannot_be_said_are_refused_here() {
    let server = ScriptedHttp::start([]).await;
    let gateway = stripe(&server.base);
    let refused = [
        (ChargeRequest { amount: 5_124, currency: "KWD".to_owned(), ..charge() }, "amount_not_representable"),
        (ChargeRequest { amount: -1, ..charge() }, "amount_not_representable"),
        (ChargeRequest { currency: "XAU".to_owned(), ..charge() }, "currency_not_supported"),
        (ChargeRequest { key: String::new(), ..charge() }, "key_invalid"),
        (ChargeRequest { key: "k\r\nX: y".to_owned(), ..charge() }, "key_invalid"),
        (ChargeRequest { key: "k".repeat(256), ..charge() }, "key_invalid"),
    ];
    for (request, code) in refused {
        assert_eq!(gateway.charge(request).await, Outcome::refused(code));
    }
    for reference in ["", "../balance", "pi_1/capture", "pi_1?x=y", "pi 1", &"p".repeat(256)] {
        let request = RetrieveRequest { reference: reference.to_owned(), ..by_reference() };
        assert_eq!(gateway.retrieve(request.clone()).await, Lookup::unknown(reason::REFERENCE));
        let outcome = gateway.cancel(request, "key".to_owned()).await;
        assert_eq!(outcome, CancelOutcome::Refused { code: reason::REFERENCE.to_owned() });
    }
    assert_eq!(server.connections(), 0);
}
