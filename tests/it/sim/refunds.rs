//! Refunds, whole and in parts.

use super::{World, payment};
use serde_json::json;

#[tokio::test]
async fn parts_add_up_and_no_more() {
    let world = World::start().await;
    let intent = world.pay("K", "pm_card_visa").await.id();
    let refund = async |key: &str, amount: &str| {
        world.post("refunds", key, &[("payment_intent", &intent), ("amount", amount), ("reason", "duplicate")]).await
    };
    let first = refund("R1", "200").await;
    assert_eq!((first.at("/object"), first.at("/status")), (json!("refund"), json!("succeeded")), "{}", first.text);
    assert_eq!((first.at("/amount"), first.at("/currency")), (json!(200), json!("jpy")));
    assert_eq!((first.at("/payment_intent"), first.at("/reason")), (json!(intent), json!("duplicate")));
    assert_eq!(refund("R2", "1001").await.at("/error/param"), "amount");
    assert_eq!(refund("R3", "0").await.at("/error/code"), "parameter_invalid_integer");
    let charge = format!("charges/{}", first.at("/charge").as_str().unwrap());
    assert_eq!(world.get(&charge).await.at("/amount_refunded"), 200);
    assert_eq!(world.get(&charge).await.at("/refunded"), false);

    let rest = world.post("refunds", "R4", &[("charge", first.at("/charge").as_str().unwrap())]).await;
    assert_eq!(rest.at("/amount"), 1000);
    assert_eq!(world.get(&charge).await.at("/refunded"), true);
    assert_eq!(refund("R5", "1").await.at("/error/code"), "charge_already_refunded");

    let retrieved = world.get(&format!("refunds/{}", first.id())).await;
    assert_eq!(retrieved.json(), first.json());
    let list = world.get(&format!("refunds?payment_intent={intent}&limit=10")).await.json();
    assert_eq!(list["data"].as_array().unwrap().len(), 2);
    assert_eq!(list["data"][0]["id"], json!(rest.id()));
    let effects = world.effects().await;
    let told: Vec<_> = effects
        .as_array()
        .unwrap()
        .iter()
        .map(|each| (each["key"].as_str().unwrap(), each["amount"].as_i64().unwrap()))
        .collect();
    assert_eq!(told, [("K", 1200), ("R1", 200), ("R4", 1000)]);
    assert_eq!((&effects[1]["kind"], &effects[1]["order_id"]), (&json!("refund"), &json!("o1")));
}

#[tokio::test]
async fn only_what_was_paid() {
    let world = World::start().await;
    let declined = world.pay("K1", "pm_card_chargeDeclined").await;
    let intent = declined.at("/error/payment_intent/id");
    let refused = world.post("refunds", "R1", &[("payment_intent", intent.as_str().unwrap())]).await;
    assert_eq!((refused.status, refused.at("/error/type")), (400, json!("invalid_request_error")));
    let missing = world.post("refunds", "R2", &[("payment_intent", "pi_1")]).await;
    assert_eq!((missing.status, missing.at("/error/code")), (404, json!("resource_missing")));
    assert_eq!(world.post("refunds", "R3", &[]).await.at("/error/code"), "parameter_missing");
    assert_eq!(world.effects().await, json!([]));
}

#[tokio::test]
async fn faults_of_refunds_are_words_in_the_metadata() {
    let world = World::start().await;
    let mut form = payment("pm_card_visa");
    form.push(("metadata[sim_refund]", "lost_answer"));
    let intent = world.post("payment_intents", "K", &form).await.id();
    let form = [("payment_intent", intent.as_str()), ("amount", "100")];
    assert!(world.try_post("refunds", Some("R1"), &form).await.is_err());
    let again = world.post("refunds", "R1", &form).await;
    assert!(again.is_replay(), "{}", again.text);
    assert_eq!(world.effects().await[1]["count"], 1);
    let own_word = [("payment_intent", intent.as_str()), ("metadata[sim_refund]", "declined")];
    let failed = world.post("refunds", "R2", &own_word).await;
    assert_eq!((failed.status, failed.at("/status")), (200, json!("failed")));
    assert_eq!(world.effects().await.as_array().unwrap().len(), 2);
}
