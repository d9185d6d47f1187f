//! Lists and searches.

use super::{World, payment};
use serde_json::json;

async fn pay_three(world: &World) -> Vec<String> {
    let mut ids = Vec::new();
    for (key, order) in [("K1", "o1"), ("K2", "o2"), ("K3", "o2")] {
        let mut form = payment("pm_card_visa");
        form.retain(|(name, _)| !name.starts_with("metadata"));
        form.push(("metadata[ichido_order_id]", order));
        ids.push(world.post("payment_intents", key, &form).await.id());
    }
    ids
}

fn ids(list: &serde_json::Value) -> Vec<String> {
    list["data"].as_array().unwrap().iter().map(|each| each["id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn lists_are_newest_first_and_in_pages() {
    let world = World::start().await;
    let made = pay_three(&world).await;
    let first = world.get("payment_intents?limit=2").await.json();
    assert_eq!((&first["object"], &first["url"]), (&json!("list"), &json!("/v1/payment_intents")));
    assert_eq!(first["has_more"], true);
    assert_eq!(ids(&first), [made[2].clone(), made[1].clone()]);
    let second = world.get(&format!("payment_intents?limit=2&starting_after={}", made[1])).await.json();
    assert_eq!((ids(&second), &second["has_more"]), (vec![made[0].clone()], &json!(false)));
    let expanded = world.get("payment_intents?limit=1&expand[]=data.latest_charge").await.json();
    assert_eq!(expanded["data"][0]["latest_charge"]["paid"], true);

    let created = first["data"][0]["created"].as_i64().unwrap();
    let since = world.get(&format!("payment_intents?created[gte]={}", created - 60)).await.json();
    assert_eq!(ids(&since).len(), 3);
    assert!(ids(&world.get(&format!("payment_intents?created[gt]={}", created + 60)).await.json()).is_empty());
    assert!(ids(&world.get(&format!("payment_intents?created[lt]={}", created - 60)).await.json()).is_empty());
    let charges = world.get(&format!("charges?payment_intent={}", made[0])).await.json();
    assert_eq!(charges["data"][0]["payment_intent"], json!(made[0]));

    let missing = world.get("payment_intents?starting_after=pi_1").await;
    assert_eq!((missing.status, missing.at("/error/param")), (400, json!("starting_after")));
    assert_eq!(world.get("payment_intents?limit=101").await.status, 400);
    assert_eq!(world.get("payment_intents?created[gte]=x").await.status, 400);
}

#[tokio::test]
async fn search_by_metadata() {
    let world = World::start().await;
    let made = pay_three(&world).await;
    let search = async |query: &str, rest: &str| {
        let query: String = form_urlencoded::byte_serialize(query.as_bytes()).collect();
        world.get(&format!("payment_intents/search?query={query}{rest}")).await
    };
    let found = search("metadata['ichido_order_id']:'o1'", "").await.json();
    assert_eq!((&found["object"], &found["next_page"]), (&json!("search_result"), &json!(null)));
    assert_eq!(ids(&found), [made[0].clone()]);
    let first = search("metadata['ichido_order_id']:'o2' AND status:'succeeded'", "&limit=1").await.json();
    assert_eq!((ids(&first), &first["has_more"]), (vec![made[2].clone()], &json!(true)));
    let rest = format!("&limit=1&page={}", first["next_page"].as_str().unwrap());
    let second = search("metadata['ichido_order_id']:'o2' AND status:'succeeded'", &rest).await.json();
    assert_eq!((ids(&second), &second["next_page"]), (vec![made[1].clone()], &json!(null)));
    assert!(ids(&search("metadata['ichido_order_id']:'o3'", "").await.json()).is_empty());
    assert_eq!(search("ichido_order_id=o1", "").await.at("/error/param"), "query");
    assert_eq!(world.get("payment_intents/search").await.at("/error/code"), "parameter_missing");
}
