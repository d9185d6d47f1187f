//! What a provider tells of one payment.

use ichido::clock::Clock;
use ichido::sim::signature::stripe_signature;
use rand::Rng;
use rand::rngs::StdRng;
use serde_json::{Value, json};
use uuid::Uuid;

/// What deliveries are signed with.
pub const SECRET: &str = "whsec_fault_run";
/// What an order costs, and what is given back of it.
pub const AMOUNT: i64 = 2_400;
pub const BACK: i64 = 400;

/// One delivery.
#[derive(Debug, Clone)]
pub struct Delivery {
    /// The exact bytes.
    pub body: String,
    /// Whether it is sent with a wrong signature first.
    pub badly_signed: bool,
}

impl Delivery {
    /// The header, signed now.
    pub fn signature(&self, secret: &str) -> String {
        stripe_signature(secret.as_bytes(), now(), self.body.as_bytes())
    }
}

/// Seconds since 1970.
pub fn now() -> i64 {
    Clock::System.now().unix_timestamp()
}

/// Five notifications of one payment, each one to five times: it was on its way, failed, was paid, and a part goes back, which is
/// told in two ways. One in fifty is badly signed.
pub fn deliveries(order_id: &str, random: &mut StdRng) -> Vec<Delivery> {
    let name = Uuid::now_v7().simple().to_string();
    let (payment, at) = (format!("pi_{name}"), now() - 60);
    let intent = json!({ "id": payment, "object": "payment_intent", "amount": AMOUNT, "amount_received": AMOUNT,
        "currency": "jpy", "metadata": { "ichido_order_id": order_id } });
    let refund = json!({ "id": format!("re_{name}"), "object": "refund", "payment_intent": payment, "amount": BACK,
        "currency": "jpy", "status": "succeeded", "created": at, "metadata": {} });
    let charge = json!({ "id": format!("ch_{name}"), "object": "charge", "payment_intent": payment, "amount": AMOUNT,
        "amount_captured": AMOUNT, "amount_refunded": BACK, "captured": true, "currency": "jpy", "metadata": {} });
    let told = [
        ("payment_intent.processing", &intent, at),
        ("payment_intent.payment_failed", &intent, at + 1),
        ("payment_intent.succeeded", &intent, at + 2),
        ("refund.created", &refund, at + 3),
        ("charge.refunded", &charge, at + 4),
    ];
    let mut all = Vec::new();
    for (kind, object, at) in told {
        let body = notification(kind, object, at).to_string();
        for _ in 0..random.random_range(1..=5) {
            all.push(Delivery { body: body.clone(), badly_signed: random.random_range(0..50) == 0 });
        }
    }
    all
}

/// One notification.
pub fn notification(kind: &str, object: &Value, at: i64) -> Value {
    json!({ "id": format!("evt_{}", Uuid::now_v7().simple()), "object": "event", "type": kind, "created": at,
        "livemode": false, "data": { "object": object } })
}
