//! The gateway against `ichido sim`, which behaves as Stripe documents.

use super::{by_reference, charge, stripe_within};
use ichido::domain::ids::OrderId;
use ichido::gateway::outcome::reason;
use ichido::gateway::{
    CancelOutcome, ChargeRequest, FindRefundRequest, FindRequest, Gateway, Lookup, Outcome, RefundRequest,
    RetrieveRequest,
};
use secrecy::SecretString;
use serde_json::Value;
use std::process::Stdio;
use std::time::Duration;
use time::OffsetDateTime;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use uuid::Uuid;

/// A simulated world of its own; ended with the test.
struct Sim {
    base: String,
    _child: Child,
}

impl Sim {
    async fn start() -> Self {
        // The client that looks at effects builds its TLS from the process's provider.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut child = Command::new(env!("CARGO_BIN_EXE_ichido"))
            .args(["sim", "--listen", "127.0.0.1:0"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let base = loop {
            let line = lines.next_line().await.unwrap().expect("the world starts");
            if let Some(base) = line.strip_prefix("listening on ") {
                break base.to_owned();
            }
        };
        Self { base, _child: child }
    }

    fn gateway(&self) -> Box<dyn Gateway> {
        stripe_within(&format!("{}/stripe", self.base), Duration::from_secs(3))
    }

    /// How many payments of an order, and of what amount, really happened: `[(amount, count)]`.
    async fn charges(&self, order: OrderId) -> Vec<(i64, i64)> {
        let url = format!("{}/effects?order_id={order}", self.base);
        let effects: Value = reqwest::Client::new().get(url).send().await.unwrap().json().await.unwrap();
        let charges = effects["effects"].as_array().unwrap().iter().filter(|effect| effect["kind"] == "charge");
        charges.map(|effect| (effect["amount"].as_i64().unwrap(), effect["count"].as_i64().unwrap())).collect()
    }
}

/// A charge of a new order, with one of the world's payment methods.
fn with_method(method: &str) -> ChargeRequest {
    let order_id = OrderId(Uuid::now_v7());
    let key = format!("ichido-{order_id}-1");
    ChargeRequest { key, order_id, method: SecretString::from(method), ..charge() }
}

#[expect(clippy::disallowed_methods, reason = "the world's clock is the machine's")]
fn find_of(request: &ChargeRequest, later: Duration) -> FindRequest {
    let now = OffsetDateTime::now_utc();
    FindRequest {
        org_id: request.org_id,
        order_id: request.order_id,
        attempt: request.attempt,
        amount: request.amount,
        currency: request.currency.clone(),
        first_sent_at: now,
        last_sent_at: now,
        now: now + later,
    }
}

fn reference(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Succeeded { reference, .. } => reference.clone(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn money_moves_once_whatever_happens_to_the_first_answer() {
    let sim = Sim::start().await;
    let gateway = sim.gateway();
    let faults = [
        ("pm_sim_lost_answer", reason::CONNECTION_LOST),
        ("pm_sim_lost_request", reason::CONNECTION_LOST),
        ("pm_sim_error_500_then_ok", reason::SERVER_ERROR),
        ("pm_sim_conflict_409", reason::KEY_IN_USE),
        ("pm_sim_slow_6000", reason::TIMEOUT),
    ];
    for (method, expected) in faults {
        let first = with_method(method);
        let outcome = gateway.charge(first.clone()).await;
        assert!(matches!(outcome, Outcome::Unknown { reason, .. } if reason == expected), "{method} {outcome:?}");
        let again = ChargeRequest { sent_before: true, ..first.clone() };
        let mut outcome = gateway.charge(again.clone()).await;
        while matches!(outcome, Outcome::Unknown { reason: reason::KEY_IN_USE | reason::TIMEOUT, .. }) {
            tokio::time::sleep(Duration::from_millis(300)).await;
            outcome = gateway.charge(again.clone()).await;
        }
        let paid = reference(&outcome);
        assert_eq!(sim.charges(first.order_id).await, [(2_400, 1)], "{method}");
        let found = gateway.find(find_of(&first, Duration::ZERO)).await;
        assert_eq!(found, Lookup::Found(outcome), "{method}");
        let retrieved = gateway.retrieve(RetrieveRequest { reference: paid, ..by_reference() }).await;
        assert_eq!(retrieved, found);
    }
}

#[tokio::test]
async fn what_was_never_carried_out_is_absent_after_a_while() {
    let sim = Sim::start().await;
    let gateway = sim.gateway();
    let request = with_method("pm_sim_lost_request");
    assert_eq!(gateway.charge(request.clone()).await, Outcome::unknown(reason::CONNECTION_LOST));
    let soon = gateway.find(find_of(&request, Duration::ZERO)).await;
    assert!(matches!(soon, Lookup::Unknown { reason: reason::TOO_SOON, .. }), "{soon:?}");
    assert_eq!(gateway.find(find_of(&request, Duration::from_mins(10))).await, Lookup::NotFound);
    assert!(sim.charges(request.order_id).await.is_empty());
}

#[tokio::test]
async fn definite_answers_are_definite() {
    let sim = Sim::start().await;
    let gateway = sim.gateway();
    let declined = with_method("pm_card_chargeDeclined");
    let outcome = gateway.charge(declined.clone()).await;
    assert!(matches!(&outcome, Outcome::Declined { reference: Some(_), .. }), "{outcome:?}");
    let found = gateway.find(find_of(&declined, Duration::ZERO)).await;
    assert!(matches!(&found, Lookup::Found(Outcome::Declined { .. })), "{found:?}");
    let nobodys = gateway.charge(with_method("pm_nobody_has_this")).await;
    assert!(matches!(nobodys, Outcome::Refused { .. }), "{nobodys:?}");

    let paid = with_method("pm_card_visa");
    let paid_reference = reference(&gateway.charge(paid.clone()).await);
    let other_amount = ChargeRequest { amount: 1, ..paid.clone() };
    assert_eq!(gateway.charge(other_amount).await, Outcome::unknown(reason::KEY_REUSED));
    let by_id = RetrieveRequest { reference: paid_reference.clone(), ..by_reference() };
    let cancelled = gateway.cancel(by_id.clone(), "cancel-1".to_owned()).await;
    assert!(matches!(&cancelled, CancelOutcome::Stands(Outcome::Succeeded { .. })), "{cancelled:?}");
    let other = gateway.retrieve(RetrieveRequest { amount: 2_401, ..by_id }).await;
    assert!(matches!(&other, Lookup::Found(Outcome::Conflict { reason: reason::AMOUNT_DIFFERS, .. })), "{other:?}");

    let krona = ChargeRequest { amount: 5_000, currency: "ISK".to_owned(), ..with_method("pm_card_visa") };
    reference(&gateway.charge(krona.clone()).await);
    assert_eq!(sim.charges(krona.order_id).await.len(), 1);
}

#[tokio::test]
async fn refunds_are_made_and_found() {
    let sim = Sim::start().await;
    let gateway = sim.gateway();
    let paid = with_method("pm_card_visa");
    let request = RefundRequest {
        key: format!("{}-refund-1", paid.key),
        org_id: paid.org_id,
        order_id: paid.order_id,
        reference: reference(&gateway.charge(paid.clone()).await),
        amount: 1_000,
        currency: "JPY".to_owned(),
        sent_before: false,
    };
    let refunded = gateway.refund(request.clone()).await;
    reference(&refunded);
    assert_eq!(gateway.refund(RefundRequest { sent_before: true, ..request.clone() }).await, refunded);
    let find = find_of(&paid, Duration::from_mins(10));
    let by_key = |key: &str| FindRefundRequest {
        key: key.to_owned(),
        reference: request.reference.clone(),
        amount: 1_000,
        currency: "JPY".to_owned(),
        last_sent_at: find.last_sent_at,
        now: find.now,
    };
    assert_eq!(gateway.find_refund(by_key(&request.key)).await, Lookup::Found(refunded));
    assert_eq!(gateway.find_refund(by_key("another")).await, Lookup::NotFound);
}
