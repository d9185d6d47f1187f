//! What the inbox knows of an order is part of its trace.

use crate::inbox::endpoint::{Endpoint, event, of_attempt};
use crate::support::payments::{paid_body, start};
use crate::trace::orders::{entry, trace, whats};
use serde_json::{Value, json};

#[tokio::test]
async fn deliveries_and_facts_are_told_beside_what_came_of_them() {
    let (app, _world) = start().await;
    let endpoint = Endpoint::of(&app).await;
    let (id, other) =
        (app.post("k", &paid_body("pm_card_visa")).await.id(), app.post("o", &paid_body("pm_card_visa")).await.id());
    let reference = app.order(&id).await["payment"]["gateway_reference"].as_str().unwrap().to_owned();
    let told = event("payment_intent.succeeded", &of_attempt(&reference, &id, 2400, 1));
    endpoint.tell_and_apply(&app, &told).await;
    endpoint.tell_and_apply(&app, &told).await;
    let story = trace(&app, &id).await;
    let of = |what: &str| whats(&story).iter().filter(|each| **each == what).count();
    assert_eq!((of("notification_received"), of("fact_told")), (2, 1), "{story}");
    let (delivery, fact) = (entry(&story, "notification_received"), entry(&story, "fact_told"));
    assert_eq!((&delivery["source"], &delivery["actor"]), (&json!("receipt"), &json!("stripe")));
    assert_eq!((&fact["source"], &fact["actor"]), (&json!("event"), &json!("stripe")));
    let notification = &delivery["details"]["notification_id"];
    assert_eq!(fact["details"]["notification_ids"], Value::from(vec![notification.clone()]));
    assert_eq!((&fact["details"]["outcome"], &fact["details"]["what"]), (&json!("same_fact"), &json!("succeeded")));
    assert_eq!((&fact["details"]["gateway_reference"], &fact["details"]["amount"]), (&json!(reference), &json!(2400)));
    assert_eq!(delivery["details"]["fact_key"], fact["details"]["fact_key"]);
    let classes = story["entries"].as_array().unwrap().iter().map(|entry| &entry["details"]["classification"]);
    let classes: Vec<_> = classes.filter(|class| class.is_string()).collect();
    assert_eq!(classes, ["new", "already_done"]);
    assert!(!whats(&trace(&app, &other).await).contains(&"fact_told"));
}
