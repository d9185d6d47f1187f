//! What clients, people and the provider do. Each reaches its failpoints at least twice, and notes what has to come of it.

use crate::case::{Case, Told};
use crate::support::app::order_body;
use crate::support::payments::{GATEWAY_SECRET, open_case, paid_body};
use crate::support::postgres;
use futures_util::future::join_all;
use serde_json::{Value, json};
use uuid::Uuid;

/// How often each scenario comes by at least.
pub const ROUNDS: usize = 2;
/// So many at the same moment that some share a statement.
const CROWD: usize = 24;
const AMOUNT: i64 = 2_400;

/// Orders without payment, one after the other and many at once.
pub async fn orders(case: &Case) {
    for n in 0..3 {
        unpaid(case, &format!("one-{n}")).await;
    }
    for round in 0..ROUNDS {
        join_all((0..CROWD).map(|n| async move { unpaid(case, &format!("many-{round}-{n}")).await })).await;
    }
}

/// An order without payment.
pub async fn unpaid(case: &Case, key: &str) {
    let told = case.order(key, &order_body()).await;
    case.expect(&told.order_id(), "received", (0, 0), false);
}

/// Orders with payment and steps, many at once.
pub async fn crowd(case: &Case) {
    for round in 0..ROUNDS {
        join_all((0..CROWD).map(|n| async move { completed(case, &format!("many-{round}-{n}")).await })).await;
    }
}

/// The same, one after the other.
pub async fn paid(case: &Case) {
    for n in 0..3 {
        completed(case, &format!("one-{n}")).await;
    }
}

/// A paid order; gives what the client was told.
pub async fn pays(case: &Case, key: &str, body: &Value) -> Told {
    let told = case.order(key, body).await;
    assert_ne!(told.status, 402, "a good card was declined");
    told
}

/// A paid order, of which everything is done in the end.
pub async fn completed(case: &Case, key: &str) -> String {
    let id = pays(case, key, &paid_body("pm_card_visa")).await.order_id();
    case.expect(&id, "completed", (1, 0), true);
    id
}

/// Declined payments; the orders are then paid by a second attempt.
pub async fn declined(case: &Case) {
    for n in 0..ROUNDS {
        let told = case.order(&format!("declined-{n}"), &paid_body("pm_card_chargeDeclined")).await;
        assert_eq!(told.status, 402);
        pay_again(case, &told.order_id(), n).await;
    }
}

async fn pay_again(case: &Case, id: &str, n: usize) {
    let path = format!("/v1/orders/{id}/payments");
    let told = case.insist(&path, &format!("again-{n}"), &json!({ "method": "pm_card_visa" })).await;
    assert_ne!(told.status, 402);
    case.expect(id, "completed", (1, 0), true);
}

/// Calls to the gateway that get lost, and are taken up again.
pub async fn lost(case: &Case) {
    // Server and worker share them, so that one of the two comes by twice.
    for n in 0..2 * ROUNDS {
        let method = ["pm_sim_lost_request", "pm_sim_lost_answer"][n % 2];
        let id = pays(case, &format!("lost-{n}"), &paid_body(method)).await.order_id();
        case.expect(&id, "completed", (1, 0), true);
    }
}

/// Orders that are done and then cancelled; their money goes back.
pub async fn cancelled(case: &Case) {
    for n in 0..ROUNDS {
        let id = pays(case, &format!("cancelled-{n}"), &paid_body("pm_card_visa")).await.order_id();
        case.until(&id, "completed").await;
        let told = case.insist(&format!("/v1/orders/{id}/cancel"), &format!("cancel-{n}"), &json!({})).await;
        assert_eq!(told.status, 200);
        case.expect(&id, "cancelled", (1, 1), true);
    }
}

/// A person gives attempts up that nobody knows of; the orders are then paid.
pub async fn decided(case: &Case) {
    let sql = postgres::connect(&case.url).await;
    for n in 0..ROUNDS {
        let id = case.order(&format!("decided-{n}"), &order_body()).await.order_id();
        let about = open_case(&sql, &case.org, &id).await;
        let path = format!("/v1/reconciliation-cases/{about}/decisions");
        let decision = json!({ "decision": "mark_not_done", "reason": "the gateway knows nothing of it" });
        assert_eq!(case.insist(&path, &format!("decide-{n}"), &decision).await.status, 200);
        pay_again(case, &id, n).await;
    }
}

/// A partner whose answers get lost.
pub async fn partner(case: &Case) {
    for n in 0..ROUNDS {
        let mut body = paid_body("pm_card_visa");
        body["metadata"]["sim_confirmation_mail"] = "lost_answer".into();
        body["metadata"]["sim_accounting_entry"] = "lost_request".into();
        let id = pays(case, &format!("partner-{n}"), &body).await.order_id();
        case.expect(&id, "completed", (1, 0), true);
    }
}

/// Orders that are paid elsewhere; of the first ones it is told until it is accepted, of the last one twice.
pub async fn notified(case: &Case) {
    for n in 0..=ROUNDS {
        let id = case.order(&format!("notified-{n}"), &order_body()).await.order_id();
        let object = json!({ "id": format!("pi_{}", Uuid::now_v7().simple()), "object": "payment_intent", "amount": AMOUNT,
            "amount_received": AMOUNT, "currency": "jpy", "metadata": { "ichido_order_id": id } });
        let at = ichido::clock::Clock::System.now().unix_timestamp();
        let event = json!({ "id": format!("evt_{n}"), "object": "event", "type": "payment_intent.succeeded", "created": at,
            "livemode": false, "data": { "object": object } });
        for _ in 0..=(n / ROUNDS) {
            case.notify(&event.to_string()).await;
        }
        // Paid elsewhere: the simulated world has taken nothing.
        case.expect(&id, "completed", (0, 0), true);
    }
}

/// Refunds made at the gateway, which a sweep finds.
pub async fn booked(case: &Case) {
    let mut orders = Vec::new();
    for n in 0..ROUNDS {
        let told = pays(case, &format!("booked-{n}"), &paid_body("pm_card_visa")).await;
        let order: Value = serde_json::from_slice(&told.bytes).unwrap();
        let payment = order["payment"]["gateway_reference"].as_str().unwrap().to_owned();
        let request = reqwest::Client::new().post(format!("{}/v1/refunds", case.world.stripe()));
        let request =
            request.bearer_auth(GATEWAY_SECRET).form(&[("payment_intent", payment.as_str()), ("amount", "400")]);
        assert!(request.send().await.unwrap().status().is_success());
        case.expect(&told.order_id(), "completed", (1, 1), true);
        orders.push(told.order_id());
    }
    case.command(&["reconcile", "--sweep", "--org", &case.org.id.0.to_string()]).await;
    let text = "SELECT amount_refunded FROM orders WHERE order_id = $1::text::uuid";
    for id in orders {
        let row = postgres::connect(&case.url).await.query_one(text, &[&id]).await.unwrap();
        assert_eq!(row.get::<_, i64>(0), 400, "refunded of {id}");
    }
}

/// Payments made at the gateway for orders of ours, which a sweep finds.
pub async fn found(case: &Case) {
    for n in 0..ROUNDS {
        let id = case.order(&format!("found-{n}"), &order_body()).await.order_id();
        let form = [
            ("amount", "2400"),
            ("currency", "jpy"),
            ("payment_method", "pm_card_visa"),
            ("confirm", "true"),
            ("automatic_payment_methods[enabled]", "true"),
            ("automatic_payment_methods[allow_redirects]", "never"),
            ("metadata[ichido_order_id]", id.as_str()),
        ];
        let request = reqwest::Client::new().post(format!("{}/v1/payment_intents", case.world.stripe()));
        assert!(request.bearer_auth(GATEWAY_SECRET).form(&form).send().await.unwrap().status().is_success());
        case.expect(&id, "completed", (1, 0), true);
    }
    case.command(&["reconcile", "--sweep", "--org", &case.org.id.0.to_string()]).await;
}

/// Keys whose time is up; their orders stay.
pub async fn cleaned(case: &Case) {
    for n in 0..3 {
        unpaid(case, &format!("cleaned-{n}")).await;
    }
    let sql = postgres::connect(&case.url).await;
    let past = "UPDATE idempotency_keys SET expires_at = now() - interval '1 minute'";
    assert_eq!(sql.execute(past, &[]).await.unwrap(), 3);
    case.command(&["cleanup", "--batch", "1"]).await;
    assert_eq!(sql.query_one("SELECT count(*) FROM idempotency_keys", &[]).await.unwrap().get::<_, i64>(0), 0);
    // Whoever asks now asks anew.
    case.told.lock().unwrap().clear();
    unpaid(case, "kept").await;
}
