//! Can the judges bite? Before each run they are shown evidence without a fault, and then the same with one fault
//! planted after the other. Judges that miss one are not worth running.

use crate::answer::{Answer, Call, What};
use crate::clients::{Cancel, Record, Told};
use crate::judge::evidence::{Claim, Effect, Evidence};
use crate::judge::judge;
use crate::judge::steps::STEPS;
use crate::ledger::Kind;
use crate::orders::{Method, Order};
use serde_json::json;
use std::sync::Arc;

/// A planted fault: its name, what must be found, and how it is planted.
type Tooth = (&'static str, Kind, fn(&mut Evidence));

/// All of them. Key and order have the same number: 0 is plain, 1 paid, 2 declined, 3 paid and cancelled.
pub const TEETH: [Tooth; 25] = [
    ("charged twice under one key", Kind::DoubleCharge, |it| it.effects[0].count = 2),
    ("charged under two keys", Kind::DoubleCharge, |it| it.effects.push(effect("charge", 1))),
    ("charged though declined", Kind::WrongCharge, |it| it.effects.push(effect("charge", 2))),
    ("charged without being asked", Kind::WrongCharge, |it| it.effects.push(effect("charge", 0))),
    ("paid, and not charged", Kind::WrongCharge, |it| it.effects.retain(|effect| effect.key != "charge-1")),
    ("charged for no order", Kind::WrongCharge, |it| it.effects.push(effect("charge", 9))),
    ("charged too much", Kind::WrongCharge, |it| it.effects[0].amount = Some(101)),
    ("a good card declined", Kind::WrongCharge, |it| it.records[2].order.method = Some(Method::Good)),
    ("paid, and payment unknown", Kind::Answer, |it| retell(it, 1, "unknown")),
    ("cancelled, and not refunded", Kind::WrongRefund, |it| it.effects.retain(|effect| effect.kind != "refund")),
    ("refunded twice", Kind::WrongRefund, |it| it.effects.push(effect("refund", 3))),
    ("refunded without being asked", Kind::WrongRefund, |it| it.effects.push(effect("refund", 1))),
    ("shipped twice", Kind::DoubleStep, |it| it.effects.push(effect("shipment_request", 1))),
    ("never shipped", Kind::WrongStep, |it| it.effects.retain(|effect| effect.kind != "shipment_request")),
    ("shipped unpaid", Kind::WrongStep, |it| it.effects.push(effect("shipment_request", 0))),
    ("key lost", Kind::LostAcknowledgement, |it| lose_key(it, "order-0")),
    ("other bytes stored", Kind::LostAcknowledgement, |it| claim(it, 1).body = Some(b"{}".to_vec())),
    ("order lost", Kind::LostAcknowledgement, |it| lose_order(it, 0)),
    ("order under another key", Kind::LostAcknowledgement, |it| claim(it, 0).order_id = Some(id(1))),
    ("cancellation lost", Kind::LostAcknowledgement, |it| lose_key(it, "cancel-3")),
    ("two orders for one key", Kind::OrdersPerKey, |it| add_order(it, 8)),
    ("key without an order", Kind::OrdersPerKey, |it| lose_order(it, 0)),
    ("claim left in progress", Kind::Unfinished, |it| claim(it, 0).state = String::from("in_progress")),
    ("operation left leased", Kind::Unfinished, |it| *it.operations.entry("leased".to_owned()).or_default() += 1),
    ("everything left to people", Kind::Cases, |it| it.cases = vec![String::new(); 4]),
];

/// Shows the judges all of it.
///
/// # Errors
///
/// The name of a planted fault that they do not see, or what they see where there is nothing.
pub fn bite() -> Result<(), String> {
    let found = judge(&good(), 3);
    if !found.is_empty() {
        return Err(format!("the judges complain without a reason: {found:?}"));
    }
    for (name, kind, plant) in TEETH {
        let mut evidence = good();
        plant(&mut evidence);
        if !judge(&evidence, 3).iter().any(|violation| violation.kind == kind) {
            return Err(format!("the judges do not see this: {name}"));
        }
    }
    Ok(())
}

fn good() -> Evidence {
    let mut evidence = Evidence::default();
    for (n, method) in [None, Some(Method::Good), Some(Method::Declined), Some(Method::LostAnswer)].iter().enumerate() {
        let status = if *method == Some(Method::Declined) { 402 } else { 201 };
        let told = told(status, n, method.filter(|_| status == 201).map(|_| "succeeded"));
        let call = call(What::Order, n);
        keep(&mut evidence, &call, &told, n);
        add_order(&mut evidence, n);
        let order = Order { method: *method, amount: 100, body: Vec::new() };
        evidence.records.push(Record { org_id: 1, order, call, told: Some(told), cancel: None });
    }
    let (call, told) = (call(What::Cancel, 3), told(200, 3, Some("refunded")));
    keep(&mut evidence, &call, &told, 3);
    evidence.records[3].cancel = Some(Cancel { call, told: Some(told) });
    evidence.effects = vec![effect("charge", 1), effect("charge", 3), effect("refund", 3)];
    evidence.effects.extend(STEPS.map(|step| effect(step, 1)));
    evidence.operations.insert("done".to_owned(), 3);
    evidence
}

fn id(n: usize) -> String {
    format!("id-{n}")
}

fn call(what: What, n: usize) -> Arc<Call> {
    let name = if what == What::Order { "order" } else { "cancel" };
    Arc::new(Call { what, org: 0, path: String::new(), key: format!("{name}-{n}"), body: Vec::new(), amount: None })
}

fn told(status: u16, n: usize, payment: Option<&str>) -> Told {
    let member = if status == 402 { "order_id" } else { "id" };
    let body = json!({ member: id(n), "payment": payment.map(|status| json!({ "status": status })) });
    Told::new(Answer { status, body: body.to_string().into_bytes(), location: None, retry_after: false }, 0)
}

fn keep(evidence: &mut Evidence, call: &Call, told: &Told, n: usize) {
    let claim = Claim {
        state: "completed".to_owned(),
        order_id: Some(id(n)),
        status: i16::try_from(told.answer.status).ok(),
        body: Some(told.answer.body.clone()),
    };
    evidence.claims.insert((1, call.key.clone()), claim);
}

fn lose_key(evidence: &mut Evidence, key: &str) {
    evidence.claims.remove(&(1, key.to_owned()));
}

fn lose_order(evidence: &mut Evidence, n: usize) {
    evidence.orders.remove(&(1, id(n)));
}

fn add_order(evidence: &mut Evidence, n: usize) {
    evidence.orders.insert((1, id(n)), 100);
}

/// What the client was told and what is stored say something else of the payment.
fn retell(evidence: &mut Evidence, n: usize, payment: &str) {
    let told = told(201, n, Some(payment));
    claim(evidence, n).body = Some(told.answer.body.clone());
    evidence.records[n].told = Some(told);
}

fn claim(evidence: &mut Evidence, n: usize) -> &mut Claim {
    evidence.claims.entry((1, format!("order-{n}"))).or_insert_with(|| Claim {
        state: String::new(),
        order_id: None,
        status: None,
        body: None,
    })
}

fn effect(kind: &str, n: usize) -> Effect {
    let key = format!("{kind}-{n}");
    Effect { kind: kind.to_owned(), key, order_id: Some(id(n)), amount: Some(100), count: 1 }
}
