//! `GET /v1/operations`.

use crate::support::app::{TestApp, new_org, order_body};
use crate::support::payments::{paid_body, start};
use crate::support::work::work;
use serde_json::{Value, json};

const ROUTE: &str = "/v1/operations";

async fn list(app: &TestApp, query: &str) -> Value {
    let answer = app.get(&format!("{ROUTE}?{query}"), ROUTE).await;
    assert_eq!(answer.status, 200, "{query}: {}", answer.json());
    answer.json()
}

/// What a query finds on all its pages of this size, as `kind fact` with its order.
async fn walk(app: &TestApp, query: &str, limit: usize) -> Vec<(String, String)> {
    let (mut found, mut path) = (Vec::new(), format!("{ROUTE}?limit={limit}&{query}"));
    loop {
        let answer = app.get(&path, ROUTE).await;
        let page = answer.json();
        let data = page["data"].as_array().unwrap();
        assert!(data.len() <= limit, "{path}");
        found.extend(data.iter().map(|each| {
            let text = |name: &str| each[name].as_str().unwrap().to_owned();
            (text("order_id"), format!("{} {}", text("kind"), text("fact")))
        }));
        let Some(cursor) = page["next_cursor"].as_str() else {
            assert_eq!(answer.header("Link"), None);
            return found;
        };
        let link = answer.header("Link").unwrap();
        let next = link.strip_prefix('<').unwrap().strip_suffix(">; rel=\"next\"").unwrap();
        assert!(next.contains(cursor), "{link}");
        next.clone_into(&mut path);
    }
}

#[tokio::test]
async fn effects_are_listed_by_order_newest_first_and_by_pages() {
    let (app, _world) = start().await;
    let mut orders = Vec::new();
    for n in 0..4 {
        orders.push(app.post(&format!("k{n}"), &paid_body("pm_card_visa")).await.id());
    }
    let declined = app.post("declined", &paid_body("pm_card_chargeDeclined")).await.json();
    orders.push(declined["order_id"].as_str().unwrap().to_owned());
    app.cancel(&orders[1], "c").await;
    work(&app).await;
    let all: Vec<_> = orders
        .iter()
        .rev()
        .flat_map(|id| {
            let refund = (*id == orders[1]).then(|| (id.clone(), "refund 1".to_owned()));
            refund.into_iter().chain([(id.clone(), "charge 1".to_owned())])
        })
        .collect();
    let charges: Vec<_> = all.iter().filter(|each| each.1 == "charge 1").cloned().collect();
    let failed = vec![(orders[4].clone(), "charge 1".to_owned())];
    let of_one: Vec<_> = all.iter().filter(|each| each.0 == orders[1]).cloned().collect();
    for limit in [1, 2, 3, 100] {
        assert_eq!(walk(&app, "", limit).await, all);
        assert_eq!(walk(&app, "kind=charge", limit).await, charges);
        assert_eq!(walk(&app, "state=done", limit).await, all[1..]);
        assert_eq!(walk(&app, "state=done&kind=charge", limit).await, charges[1..]);
        assert_eq!(walk(&app, "state=failed", limit).await, failed);
        assert_eq!(walk(&app, "state=failed&kind=charge", limit).await, failed);
        assert_eq!(walk(&app, &format!("order_id={}", orders[1]), limit).await, of_one);
        assert_eq!(walk(&app, &format!("order_id={}&kind=refund&state=done", orders[1]), limit).await, of_one[..1]);
    }
    for nothing in ["state=failed&kind=refund", "kind=shipment_request", "state=unknown"] {
        assert_eq!(list(&app, nothing).await, json!({ "data": [], "next_cursor": null }), "{nothing}");
    }
}

#[tokio::test]
async fn an_effect_shows_its_key_and_what_was_learnt() {
    let (app, world) = start().await;
    let order = app.post("k", &paid_body("pm_card_visa")).await.json();
    let shown = list(&app, "").await["data"][0].clone();
    assert_eq!(shown["operation_key"], world.effects(order["id"].as_str().unwrap()).await[0]["key"]);
    assert_eq!((&shown["idempotency_key"], &shown["amount"]), (&json!("k"), &order["amount"]));
    assert_eq!(shown["external_reference"], order["payment"]["gateway_reference"]);
    assert_eq!((&shown["last_outcome"], &shown["attempts"]), (&json!("succeeded"), &json!(1)));
    assert_eq!((&shown["lease_until"], &shown["next_attempt_at"]), (&json!(null), &json!(null)));
}

#[tokio::test]
async fn a_query_is_read_strictly() {
    let app = TestApp::start().await;
    for (query, parameter) in [
        ("state=finished", Some("state")),
        ("state=", Some("state")),
        ("kind=", Some("kind")),
        ("order_id=1", Some("order_id")),
        ("limit=0", Some("limit")),
        ("limit=101", Some("limit")),
        ("cursor=p1_00", Some("cursor")),
        ("cursor=o1_00000000000000000000000000000000", Some("cursor")),
        ("state=done&state=done", Some("state")),
        ("status=done", None),
    ] {
        let answer = app.get(&format!("{ROUTE}?{query}"), ROUTE).await;
        assert_eq!((answer.status, answer.code().as_str()), (400, "invalid_request"), "{query}");
        let errors = &answer.json()["errors"];
        assert_eq!(errors[0]["parameter"].as_str(), parameter, "{query}: {errors}");
    }
}

#[tokio::test]
async fn a_list_holds_only_the_own_effects() {
    let (app, _world) = start().await;
    let other = app.org(new_org()).await;
    let id = app.post("k", &paid_body("pm_card_visa")).await.id();
    app.post_as(&other.token, "k", &order_body()).await;
    for query in ["", "kind=charge", "state=done", &format!("order_id={id}")] {
        let answer = app.get_as(&other.token, &format!("{ROUTE}?{query}"), ROUTE).await;
        assert_eq!(answer.json()["data"], json!([]), "{query}");
        assert_eq!(list(&app, query).await["data"].as_array().unwrap().len(), 1, "{query}");
    }
}
