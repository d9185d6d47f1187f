//! Stripe's semantics of the idempotency key.

use super::{World, charges, payment};
use futures_util::future::{join, join_all};
use serde_json::json;

#[tokio::test]
async fn the_same_again_is_the_stored_answer() {
    let world = World::start().await;
    let first = world.pay("K", "pm_card_visa").await;
    let mut reordered = payment("pm_card_visa");
    reordered.reverse();
    let second = world.post("payment_intents", "K", &reordered).await;
    assert_eq!((first.is_replay(), second.is_replay()), (false, true));
    assert_eq!((first.status, first.text.as_str()), (second.status, second.text.as_str()));
    assert_eq!(second.header("original-request"), first.header("request-id"));
    assert_ne!(second.header("request-id"), first.header("request-id"));
    assert_eq!(world.effects().await, json!([charges("K", 1)]));
}

#[tokio::test]
async fn a_decline_and_a_refused_state_are_stored() {
    let world = World::start().await;
    let declined = world.pay("K1", "pm_card_chargeDeclined").await;
    let again = world.pay("K1", "pm_card_chargeDeclined").await;
    assert_eq!((again.status, again.is_replay()), (402, true));
    assert_eq!(declined.text, again.text);
    let paid = world.pay("K2", "pm_card_visa").await;
    let cancel = format!("payment_intents/{}/cancel", paid.id());
    assert_eq!(world.post(&cancel, "K3", &[]).await.status, 400);
    let again = world.post(&cancel, "K3", &[]).await;
    assert_eq!((again.status, again.is_replay()), (400, true));
}

#[tokio::test]
async fn other_parameters_or_another_endpoint_are_refused() {
    let world = World::start().await;
    let paid = world.pay("K", "pm_card_visa").await;
    let mut other = payment("pm_card_visa");
    other[0] = ("amount", "1201");
    let refused = world.post("payment_intents", "K", &other).await;
    assert_eq!((refused.status, refused.at("/error/type")), (400, json!("idempotency_error")));
    assert!(refused.at("/error/message").as_str().unwrap().contains("same parameters"));
    let refused = world.post("refunds", "K", &[("payment_intent", &paid.id())]).await;
    assert_eq!((refused.status, refused.at("/error/type")), (400, json!("idempotency_error")));
    assert!(refused.at("/error/message").as_str().unwrap().contains("'/v1/payment_intents'"));
    // The path without /stripe is the same endpoint.
    let client = reqwest::Client::new();
    let url = format!("{}/v1/payment_intents", world.base);
    let request =
        client.post(url).bearer_auth("sk_test_2").header("Idempotency-Key", "K").form(&payment("pm_card_visa"));
    let replay = request.send().await.unwrap();
    assert_eq!(replay.headers()["idempotent-replayed"], "true");
    assert!(world.pay("K", "pm_card_visa").await.is_replay());
    assert_eq!(world.effects().await, json!([charges("K", 1)]));
}

#[tokio::test]
async fn of_two_at_once_the_second_is_409() {
    let world = World::start().await;
    let first = world.pay("K", "pm_sim_slow_1500");
    let second = async {
        tokio::time::sleep(std::time::Duration::from_millis(400)).await;
        world.pay("K", "pm_sim_slow_1500").await
    };
    let (first, second) = join(first, second).await;
    assert_eq!((first.status, second.status), (200, 409));
    assert_eq!(second.at("/error/code"), "idempotency_key_in_use");
    assert!(!second.is_replay());
    assert!(world.pay("K", "pm_sim_slow_1500").await.is_replay());
    assert_eq!(world.effects().await, json!([charges("K", 1)]));
}

#[tokio::test]
async fn fifty_at_once_take_the_money_once() {
    let world = World::start().await;
    let answers = join_all((0..50).map(|_| world.pay("K", "pm_card_visa"))).await;
    let carried_out = answers.iter().filter(|answer| answer.status == 200 && !answer.is_replay()).count();
    assert_eq!(carried_out, 1);
    assert!(answers.iter().all(|answer| matches!(answer.status, 200 | 409)));
    assert_eq!(world.effects().await, json!([charges("K", 1)]));
    // Fifty keys are fifty payments.
    let keys: Vec<_> = (0..50).map(|number| format!("N{number}")).collect();
    let answers = join_all(keys.iter().map(|key| world.pay(key, "pm_card_visa"))).await;
    assert!(answers.iter().all(|answer| answer.status == 200 && !answer.is_replay()));
    assert_eq!(world.effects().await.as_array().unwrap().len(), 51);
}

#[tokio::test]
async fn keys_have_at_most_255_characters() {
    let world = World::start().await;
    assert_eq!(world.pay(&"k".repeat(255), "pm_card_visa").await.status, 200);
    assert_eq!(world.pay(&"k".repeat(256), "pm_card_visa").await.status, 400);
}
