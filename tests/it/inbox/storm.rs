//! Notifications shuffled, repeated, at once and badly signed: the final state and amounts do not depend on any of it.

use crate::inbox::endpoint::{Endpoint, cases, charge, count, event_at, intent, now, refund, rematch, settled};
use crate::support::app::{TestApp, order_body};
use crate::support::payments::start;
use futures_util::StreamExt;
use futures_util::stream;
use ichido::sim::signature::stripe_signature;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};

/// All that happens to the payment of one order: it fails first, is paid, and 700 of it go back in two refunds.
fn story(n: usize, order_id: &str, at: i64) -> Vec<Value> {
    let payment = format!("pi_{n}");
    let paid = intent(&payment, order_id, 2400);
    let refund = |id: &str, amount, status: &str| refund(&format!("re_{n}_{id}"), &payment, amount, status);
    let charge = |refunded| charge(&format!("ch_{n}"), &payment, 2400, refunded);
    vec![
        event_at("payment_intent.processing", &paid, at),
        event_at("payment_intent.payment_failed", &paid, at + 1),
        event_at("payment_intent.succeeded", &paid, at + 2),
        event_at("charge.succeeded", &charge(0), at + 2),
        event_at("refund.created", &refund("a", 400, "pending"), at + 3),
        event_at("refund.updated", &refund("a", 400, "succeeded"), at + 4),
        event_at("charge.refunded", &charge(400), at + 4),
        event_at("refund.created", &refund("b", 300, "succeeded"), at + 5),
        event_at("charge.refunded", &charge(700), at + 5),
    ]
}

/// Delivers until it is accepted, as a provider does.
async fn deliver(app: &TestApp, endpoint: &Endpoint, told: &Value, badly: bool) {
    let body = told.to_string();
    if badly {
        let header = stripe_signature(b"whsec_other", now(), body.as_bytes());
        assert!(matches!(endpoint.deliver(app, body.as_bytes(), Some(&header)).await.status, 400 | 503));
    }
    for _ in 0..50 {
        match endpoint.signed(app, body.as_bytes()).await.status {
            200 => return,
            status => assert_eq!(status, 503),
        }
    }
    panic!("never accepted: {body}");
}

#[tokio::test]
async fn a_storm_of_notifications_ends_in_the_same_state() {
    let seed: u64 = rand::random();
    eprintln!("seed {seed}");
    let mut random = StdRng::seed_from_u64(seed);
    let (app, _world) = start().await;
    let (one, two) = (Endpoint::of(&app).await, Endpoint::of(&app).await);
    let mut ids = Vec::new();
    let mut deliveries = Vec::new();
    for n in 0..4 {
        let id = app.post(&format!("k{n}"), &order_body()).await.id();
        for told in story(n, &id, now() - 60) {
            for _ in 0..random.random_range(1..=4) {
                deliveries.push((told.clone(), random.random_bool(0.5), random.random_bool(0.1)));
            }
        }
        ids.push(id);
    }
    deliveries.shuffle(&mut random);
    let sent = i64::try_from(deliveries.len()).unwrap();
    stream::iter(&deliveries)
        .for_each_concurrent(8, |(told, first, badly)| deliver(&app, if *first { &one } else { &two }, told, *badly))
        .await;
    settled(&app).await;
    // Whatever waited for the success comes right behind it; a second round finds nothing left.
    for _ in 0..3 {
        rematch(&app).await;
    }
    for id in &ids {
        let order = app.order(id).await;
        let stands =
            (&order["status"], &order["payment"]["status"], &order["amount_refunded"], &order["needs_reconciliation"]);
        let expected = (&json!("confirmed"), &json!("partially_refunded"), &json!(700), &json!(false));
        assert_eq!(stands, expected, "{order}");
    }
    assert!(cases(&app).await.is_empty());
    assert_eq!(count(&app, "SELECT count(*) FROM receipts WHERE signature = 'valid'").await, sent);
    assert_eq!(count(&app, "SELECT count(*) FROM payments").await, 4);
    assert_eq!(count(&app, "SELECT count(*) FROM events").await, 4 * 8);
    let open = "SELECT count(*) FROM events WHERE next_attempt_at IS NOT NULL";
    assert_eq!(count(&app, open).await, 0);
}
