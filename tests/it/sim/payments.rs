//! Payment intents: create, confirm, cancel, and their errors.

use super::{World, charges, payment};
use serde_json::{Value, json};

#[tokio::test]
async fn create_and_confirm_takes_the_money_once() {
    let world = World::start().await;
    let paid = world.pay("K", "pm_card_visa").await;
    assert_eq!(paid.status, 200, "{}", paid.text);
    let intent = paid.json();
    assert_eq!(intent["object"], "payment_intent");
    assert_eq!(intent["status"], "succeeded");
    assert_eq!((&intent["amount"], &intent["amount_received"]), (&json!(1200), &json!(1200)));
    assert_eq!((&intent["currency"], &intent["livemode"]), (&json!("jpy"), &json!(false)));
    assert_eq!(intent["metadata"], json!({ "ichido_order_id": "o1" }));
    assert_eq!(intent["payment_method"], "pm_card_visa");
    assert_eq!(intent["last_payment_error"], Value::Null);
    assert!(intent["created"].as_i64().unwrap() > 1_700_000_000);
    assert!(intent["client_secret"].as_str().unwrap().starts_with(intent["id"].as_str().unwrap()));
    assert!(paid.header("request-id").unwrap().starts_with("req_"));
    assert_eq!(paid.header("idempotency-key"), Some("K"));

    let charge = world.get(&format!("charges/{}", intent["latest_charge"].as_str().unwrap())).await.json();
    assert_eq!(charge["payment_intent"], intent["id"]);
    assert_eq!(
        (&charge["amount"], &charge["amount_captured"], &charge["amount_refunded"]),
        (&json!(1200), &json!(1200), &json!(0))
    );
    assert_eq!(
        (&charge["paid"], &charge["captured"], &charge["refunded"]),
        (&json!(true), &json!(true), &json!(false))
    );
    assert_eq!(charge["status"], "succeeded");
    assert_eq!(world.effects().await, json!([charges("K", 1)]));
}

#[tokio::test]
async fn two_intents_of_one_order_are_two_effects() {
    let world = World::start().await;
    world.pay("K1", "pm_card_visa").await;
    world.pay("K2", "pm_card_visa").await;
    let without_key = world.try_post("payment_intents", None, &payment("pm_card_visa")).await.unwrap();
    let expected = json!([charges("K1", 1), charges("K2", 1), charges(&without_key.id(), 1)]);
    assert_eq!(world.effects().await, expected);
    assert_eq!(world.look("/effects?order_id=o1").await.at("/effects"), expected);
    assert_eq!(world.look("/effects?order_id=o2").await.at("/effects"), json!([]));
}

#[tokio::test]
async fn a_declined_card_is_402_with_the_intent_and_no_effect() {
    let world = World::start().await;
    let declined = world.pay("K", "pm_card_chargeDeclined").await;
    assert_eq!(declined.status, 402);
    let error = declined.at("/error");
    assert_eq!(error["type"], "card_error");
    assert_eq!((&error["code"], &error["decline_code"]), (&json!("card_declined"), &json!("generic_decline")));
    let intent = &error["payment_intent"];
    assert_eq!(intent["status"], "requires_payment_method");
    assert_eq!(intent["last_payment_error"]["code"], "card_declined");
    assert_eq!(intent["latest_charge"], error["charge"]);
    assert_eq!(intent["amount_received"], 0);
    let charge = world.get(&format!("charges/{}", error["charge"].as_str().unwrap())).await.json();
    assert_eq!((&charge["status"], &charge["paid"]), (&json!("failed"), &json!(false)));
    assert_eq!(world.effects().await, json!([]));

    // It can still be paid, with another card.
    let id = intent["id"].as_str().unwrap();
    let form = [("payment_method", "pm_card_visa"), ("error_on_requires_action", "true")];
    let paid = world.post(&format!("payment_intents/{id}/confirm"), "K2", &form).await;
    assert_eq!(paid.at("/status"), "succeeded", "{}", paid.text);
    assert_eq!(paid.at("/last_payment_error"), Value::Null);
    assert_eq!(world.effects().await, json!([charges("K2", 1)]));
}

#[tokio::test]
async fn confirm_later_and_only_once() {
    let world = World::start().await;
    let form = [("amount", "500"), ("currency", "eur"), ("payment_method_types[]", "card")];
    let created = world.post("payment_intents", "K1", &form).await;
    assert_eq!(created.at("/status"), "requires_payment_method");
    assert_eq!(created.at("/payment_method_types"), json!(["card"]));
    assert_eq!(world.effects().await, json!([]));
    let confirm = format!("payment_intents/{}/confirm", created.id());
    let form = [("payment_method", "pm_card_visa"), ("expand[]", "latest_charge")];
    let paid = world.post(&confirm, "K2", &form).await;
    assert_eq!(paid.at("/latest_charge/object"), "charge", "{}", paid.text);
    let again = world.post(&confirm, "K3", &form).await;
    assert_eq!((again.status, again.at("/error/code")), (400, json!("payment_intent_unexpected_state")));
    assert_eq!(again.at("/error/payment_intent/status"), "succeeded");
    assert_eq!(world.effects().await[0]["count"], 1);
}

#[tokio::test]
async fn cancel_what_is_not_paid() {
    let world = World::start().await;
    let form = [("amount", "500"), ("currency", "eur")];
    let created = world.post("payment_intents", "K1", &form).await;
    let cancel = format!("payment_intents/{}/cancel", created.id());
    let canceled = world.post(&cancel, "K2", &[("cancellation_reason", "abandoned")]).await;
    assert_eq!((canceled.at("/status"), canceled.at("/cancellation_reason")), (json!("canceled"), json!("abandoned")));
    assert!(canceled.at("/canceled_at").is_i64());
    let again = world.post(&cancel, "K3", &[]).await;
    assert_eq!((again.status, again.at("/error/code")), (400, json!("payment_intent_unexpected_state")));
    let paid = world.pay("K4", "pm_card_visa").await;
    let refused = world.post(&format!("payment_intents/{}/cancel", paid.id()), "K5", &[]).await;
    assert_eq!(refused.at("/error/payment_intent/status"), "succeeded");
    let confirm = format!("payment_intents/{}/confirm", created.id());
    let form = [("payment_method", "pm_card_visa"), ("error_on_requires_action", "true")];
    assert_eq!(world.post(&confirm, "K6", &form).await.status, 400);
}

#[tokio::test]
async fn a_customer_who_has_to_be_asked() {
    let world = World::start().await;
    let refused = world.pay("K1", "pm_card_authenticationRequired").await;
    assert_eq!((refused.status, refused.at("/error/code")), (402, json!("authentication_required")));
    let mut form = payment("pm_card_authenticationRequired");
    form.retain(|(name, _)| *name != "error_on_requires_action");
    form.push(("automatic_payment_methods[enabled]", "true"));
    let without_page = world.post("payment_intents", "K2", &form).await;
    assert!(without_page.at("/error/message").as_str().unwrap().contains("return_url"));
    form.push(("automatic_payment_methods[allow_redirects]", "never"));
    let asked = world.post("payment_intents", "K2", &form).await;
    assert_eq!((asked.status, asked.at("/status")), (200, json!("requires_action")));
    assert_eq!(asked.at("/next_action/type"), "use_stripe_sdk");
    assert_eq!(world.effects().await, json!([]));
}

#[tokio::test]
async fn a_payment_that_stays_processing_until_it_is_settled() {
    let world = World::start().await;
    let first = world.pay("K1", "pm_sim_processing").await;
    let second = world.pay("K2", "pm_sim_processing").await;
    assert_eq!((first.status, first.at("/status")), (200, json!("processing")));
    assert_eq!(world.effects().await, json!([]));
    let settle = async |id: &str, outcome: &str| {
        world.tell("/control/settle", None, &json!({ "payment_intent": id, "outcome": outcome })).await.unwrap()
    };
    assert_eq!(settle(&first.id(), "succeeded").await.at("/status"), "succeeded");
    assert_eq!(settle(&second.id(), "failed").await.at("/status"), "requires_payment_method");
    assert_eq!(settle(&first.id(), "failed").await.status, 400);
    // The money is the first call's, however late.
    assert_eq!(world.effects().await, json!([charges("K1", 1)]));
}

/// A form, and the code and parameter of its refusal.
type Case<'a> = (&'a [(&'a str, &'a str)], &'a str, &'a str);

#[tokio::test]
async fn parameters_are_checked_as_stripe_does() {
    let world = World::start().await;
    let long = "x".repeat(501);
    let cases: [Case<'_>; 10] = [
        (&[("currency", "eur")], "parameter_missing", "amount"),
        (&[("amount", "1")], "parameter_missing", "currency"),
        (&[("amount", "0"), ("currency", "eur")], "parameter_invalid_integer", "amount"),
        (&[("amount", "1.5"), ("currency", "eur")], "parameter_invalid_integer", "amount"),
        (&[("amount", "1"), ("currency", "xyz")], "", "currency"),
        (&[("amount", "1"), ("currency", "eur"), ("colour", "red")], "parameter_unknown", "colour"),
        (&[("amount", "1"), ("currency", "eur"), ("payment_method", "pm_1")], "resource_missing", "payment_method"),
        (&[("amount", "1"), ("currency", "eur"), ("expand[]", "customer")], "property_cannot_be_expanded", "expand"),
        (&[("amount", "1"), ("currency", "eur"), ("metadata[a]", &long)], "", "metadata"),
        (&[("amount", "1"), ("currency", "eur"), ("confirm", "yes")], "", "confirm"),
    ];
    for (form, code, param) in cases {
        let refused = world.post("payment_intents", "K", form).await;
        assert_eq!((refused.status, refused.at("/error/type")), (400, json!("invalid_request_error")), "{form:?}");
        assert_eq!(refused.at("/error/param"), param, "{}", refused.text);
        assert_eq!(refused.json()["error"]["code"].as_str().unwrap_or_default(), code, "{}", refused.text);
    }
    // What was refused before anything began left the key unused.
    assert_eq!(world.pay("K", "pm_card_visa").await.status, 200);
}

#[tokio::test]
async fn who_asks_and_for_what() {
    let world = World::start().await;
    let client = reqwest::Client::new();
    let url = format!("{}/stripe/v1/payment_intents", world.base);
    let without = client.get(&url).send().await.unwrap();
    assert_eq!(without.status(), 401);
    assert!(without.text().await.unwrap().contains("did not provide an API key"));
    assert_eq!(client.get(&url).bearer_auth("anything").send().await.unwrap().status(), 200);
    assert_eq!(client.get(&url).basic_auth("anything", Some("")).send().await.unwrap().status(), 200);
    assert_eq!(client.get(url.replace("/stripe", "")).bearer_auth("anything").send().await.unwrap().status(), 200);
    let json = client.post(&url).bearer_auth("x").json(&json!({ "amount": 1 })).send().await.unwrap();
    assert_eq!(json.status(), 400);
    let unknown = world.get("nothing").await;
    assert_eq!((unknown.status, unknown.at("/error/type")), (404, json!("invalid_request_error")));
    let missing = world.get("payment_intents/pi_1").await;
    assert_eq!((missing.status, missing.at("/error/code")), (404, json!("resource_missing")));
    assert_eq!(missing.at("/error/message"), "No such payment_intent: 'pi_1'");
}
