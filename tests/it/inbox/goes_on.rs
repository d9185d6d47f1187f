//! What a repeated notification means for the steps of an order: work that is left goes on, and nothing is done again.

use crate::inbox::endpoint::{Endpoint, cases, charge, count, event, intent, outcomes, settled};
use crate::steps::{KINDS, policy, settle_steps, with_all_steps};
use crate::support::app::{TestApp, order_body};
use crate::support::payments::World;
use crate::support::work::work;
use ichido::domain::step::StepKind;
use ichido::sim::signature::stripe_signature;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

async fn told() -> (TestApp, World, Endpoint, String, Value) {
    let (app, world) = with_all_steps().await;
    let endpoint = Endpoint::of(&app).await;
    let id = app.post("k", &order_body()).await.id();
    let paid = event("payment_intent.succeeded", &intent("pi_1", &id, 2400));
    (app, world, endpoint, id, paid)
}

async fn each_step_once(world: &World, id: &str) {
    for kind in KINDS {
        assert_eq!(world.count(kind.as_str(), id).await, 1, "{}", kind.as_str());
    }
}

/// `ps_checkout#1548`: the process ends right after the order was confirmed; the event comes again.
#[tokio::test]
async fn confirmed_and_nothing_more_goes_on_at_the_first_step() {
    let (app, world, endpoint, id, paid) = told().await;
    assert_eq!(endpoint.tell_and_apply(&app, &paid).await, "new");
    assert_eq!(endpoint.tell(&app, &paid).await, "resumable");
    assert_eq!(settle_steps(&app, &id).await["status"], "completed");
    each_step_once(&world, &id).await;
    assert_eq!(endpoint.tell(&app, &paid).await, "already_done");
}

/// `onetimesecret#3691`: a worker dies over a step that it has taken and perhaps sent; the event comes again.
#[tokio::test]
async fn a_step_whose_worker_died_goes_on_under_its_key_when_the_lease_ends() {
    let (app, world, endpoint, id, paid) = told().await;
    endpoint.tell_and_apply(&app, &paid).await;
    let taken = "UPDATE operations SET state = 'leased', lease_token = gen_random_uuid(), attempts = 1,
            lease_until = now() + interval '1 hour', next_attempt_at = NULL, first_sent_at = now(), last_sent_at = now(),
            target_sha256 = $1
        WHERE kind = 'confirmation_mail'";
    let client = app.sql().await;
    let to = policy(&world, StepKind::ConfirmationMail, true, true);
    let target = Sha256::digest(format!("{}\0{}\0true", to.url, to.status_url.unwrap())).to_vec();
    assert_eq!(client.execute(taken, &[&target]).await.unwrap(), 1);
    assert_eq!(endpoint.tell(&app, &paid).await, "resumable");
    for _ in 0..3 {
        work(&app).await;
    }
    assert_eq!(world.count("confirmation_mail", &id).await, 0, "somebody may be at it still");
    let key = "SELECT operation_key FROM operations WHERE kind = 'confirmation_mail'";
    let key: String = client.query_one(key, &[]).await.unwrap().get(0);
    client.execute("UPDATE operations SET lease_until = now() WHERE state = 'leased'", &[]).await.unwrap();
    assert_eq!(settle_steps(&app, &id).await["status"], "completed");
    each_step_once(&world, &id).await;
    let effects = world.effects(&id).await;
    assert!(effects.iter().any(|effect| effect["kind"] == "confirmation_mail" && effect["key"] == key.as_str()));
}

/// `stripe_official#113` and `medusa#4798`: news of an order that is shipped, and of one that is finished.
#[tokio::test]
async fn news_of_a_finished_order_asks_for_nothing() {
    let (app, world, endpoint, id, paid) = told().await;
    endpoint.tell_and_apply(&app, &paid).await;
    let done = settle_steps(&app, &id).await;
    let operations = count(&app, "SELECT count(*) FROM operations").await;
    assert_eq!(
        endpoint.tell_and_apply(&app, &event("charge.captured", &charge("ch_1", "pi_1", 2400, 0))).await,
        "already_done"
    );
    assert_eq!(
        endpoint.tell_and_apply(&app, &event("payment_intent.succeeded", &intent("pi_1", &id, 2400))).await,
        "already_done"
    );
    work(&app).await;
    assert_eq!(count(&app, "SELECT count(*) FROM operations").await, operations);
    each_step_once(&world, &id).await;
    let order = app.order(&id).await;
    assert_eq!((&order["status"], &order["version"]), (&json!("completed"), &done["version"]));
    assert!(cases(&app).await.is_empty() && outcomes(&app).await.len() == 1);
}

/// `woocommerce#3326`: the same event to two endpoints with two secrets, at once.
#[tokio::test]
async fn two_endpoints_with_two_secrets_are_two_receipts_and_one_fact() {
    let (app, world, one, id, paid) = told().await;
    let two = Endpoint::of(&app).await;
    two.add(&app, "OTHER", "whsec_canary_two").await;
    let body = paid.to_string();
    let header = |secret: &str| stripe_signature(secret.as_bytes(), crate::inbox::endpoint::now(), body.as_bytes());
    let (first, second) = (header(crate::inbox::endpoint::SECRET), header("whsec_canary_two"));
    let (left, right) = tokio::join!(
        one.deliver(&app, body.as_bytes(), Some(&first)),
        two.deliver(&app, body.as_bytes(), Some(&second))
    );
    assert_eq!((left.status, right.status), (200, 200));
    settled(&app).await;
    assert_eq!((count(&app, "SELECT count(*) FROM receipts").await, outcomes(&app).await.len()), (2, 1));
    assert_eq!(count(&app, "SELECT count(DISTINCT secret_label) FROM receipts").await, 2);
    settle_steps(&app, &id).await;
    each_step_once(&world, &id).await;
}
