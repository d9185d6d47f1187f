//! Business partners.

use super::{Answer, World};
use serde_json::{Value, json};

fn work(operation_key: &str, word: Option<&str>) -> Value {
    let metadata = word.map_or_else(|| json!({}), |word| json!({ "sim_shipment_request": word }));
    json!({
        "operation_key": operation_key, "kind": "shipment_request", "order_id": "o1",
        "amount": 1200, "currency": "JPY", "metadata": metadata,
    })
}

async fn ask(world: &World, operation_key: &str) -> Value {
    world.look(&format!("/partners/shipment_request?operation_key={operation_key}")).await.at("/happened")
}

impl World {
    async fn try_work(&self, key: &str, word: Option<&str>) -> reqwest::Result<Answer> {
        self.tell("/partners/shipment_request", Some(key), &work(key, word)).await
    }

    async fn work(&self, key: &str, word: Option<&str>) -> Answer {
        self.try_work(key, word).await.unwrap()
    }
}

#[tokio::test]
async fn work_is_done_once_for_each_key() {
    let world = World::start().await;
    assert_eq!(ask(&world, "op1").await, false);
    let first = world.work("op1", None).await;
    let second = world.work("op1", None).await;
    assert_eq!((first.status, second.status), (200, 200));
    assert_eq!(first.text, second.text);
    assert_eq!((first.is_replay(), second.is_replay()), (false, true));
    let asked = world.look("/partners/shipment_request?operation_key=op1").await;
    assert_eq!((asked.at("/happened"), asked.at("/reference")), (json!(true), first.at("/reference")));
    let effect = json!({
        "kind": "shipment_request", "key": "op1", "order_id": "o1", "amount": 1200, "currency": "JPY", "count": 1,
    });
    assert_eq!(world.effects().await, json!([effect]));
    let mut other = work("op1", None);
    other["amount"] = json!(1);
    let reused = world.tell("/partners/shipment_request", Some("op1"), &other).await.unwrap();
    assert_eq!((reused.status, reused.at("/error/code")), (422, json!("idempotency_key_reused")));
}

#[tokio::test]
async fn a_partner_that_does_not_honour_keys_does_it_again() {
    let world = World::start().await;
    for _ in 0..2 {
        let path = "/partners/shipment_request?honours_keys=false";
        world.tell(path, Some("op1"), &work("op1", None)).await.unwrap();
    }
    world.tell("/partners/shipment_request", None, &work("op1", None)).await.unwrap();
    assert_eq!(world.effects().await[0]["count"], 3);
    // Another key for the same operation is the mistake that the count shows.
    world.tell("/partners/shipment_request", Some("another"), &work("op1", None)).await.unwrap();
    assert_eq!(world.effects().await[0]["count"], 4);
}

#[tokio::test]
async fn faults() {
    let world = World::start().await;
    assert!(world.try_work("op1", Some("lost_answer")).await.is_err());
    assert_eq!(ask(&world, "op1").await, true);
    assert!(world.work("op1", Some("lost_answer")).await.is_replay());

    assert!(world.try_work("op2", Some("lost_request")).await.is_err());
    assert_eq!(ask(&world, "op2").await, false);
    assert_eq!(world.work("op2", Some("lost_request")).await.status, 200);

    for (key, word, status) in [("op3", "error_500_then_ok", 500), ("op4", "conflict_409", 409)] {
        assert_eq!(world.work(key, Some(word)).await.status, status);
        assert_eq!(ask(&world, key).await, false);
        assert_eq!(world.work(key, Some(word)).await.status, 200);
    }

    let started = std::time::Instant::now();
    let slow = world.work("op5", Some("slow_300")).await;
    assert!(slow.status == 200 && started.elapsed().as_millis() >= 300);
    let counts: Vec<_> = world.effects().await.as_array().unwrap().iter().map(|each| each["count"].clone()).collect();
    assert_eq!(counts, [1, 1, 1, 1, 1]);
}

#[tokio::test]
async fn a_partner_that_refuses_or_cannot_tell() {
    let world = World::start().await;
    for replay in [false, true] {
        let declined = world.work("op1", Some("declined")).await;
        assert_eq!((declined.status, declined.is_replay()), (422, replay));
        assert_eq!(declined.at("/error/code"), "declined");
    }
    assert_eq!(ask(&world, "op1").await, false);
    assert_eq!(world.effects().await, json!([]));
    assert!(world.try_work("op2", Some("unknown")).await.is_err());
    assert_eq!(ask(&world, "op2").await, Value::Null);
    assert!(world.try_work("op3", Some("lost_request_unknown")).await.is_err());
    assert_eq!(ask(&world, "op3").await, Value::Null);
    let effects = world.effects().await;
    assert_eq!((effects.as_array().unwrap().len(), &effects[0]["key"]), (1, &json!("op2")));
}

#[tokio::test]
async fn without_keys_a_lost_answer_is_lost_once() {
    let world = World::start().await;
    let path = "/partners/shipment_request?honours_keys=false";
    assert!(world.tell(path, Some("op1"), &work("op1", Some("lost_answer"))).await.is_err());
    assert_eq!(world.tell(path, Some("op1"), &work("op1", Some("lost_answer"))).await.unwrap().status, 200);
    assert_eq!(world.effects().await[0]["count"], 2);
}

#[tokio::test]
async fn what_a_partner_does_not_understand() {
    let world = World::start().await;
    for (path, body) in [
        ("/partners/mail", work("op1", None)),
        ("/partners/shipment_request", work("op1", Some("explode"))),
        ("/partners/shipment_request", json!({})),
        ("/partners/charge", json!({ "operation_key": "a", "kind": "charge" })),
    ] {
        assert_eq!(world.tell(path, Some("op1"), &body).await.unwrap().status, 400, "{path}");
    }
    assert_eq!(world.look("/partners/mail").await.status, 400);
    assert_eq!(world.look("/").await.at("/object"), "simulated_world");
}
