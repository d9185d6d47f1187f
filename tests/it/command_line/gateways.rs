//! `ichido gateway set`, and what becomes of stored secrets without the key that they were stored with.

use crate::command_line::Program;
use crate::support::app::TestApp;
use crate::support::payments::{GATEWAY_SECRET, SECRET_KEY, World, paid_body};
use crate::support::postgres;
use ichido::domain::sealed::SealingKey;
use secrecy::SecretString;
use serde_json::json;
use std::sync::Arc;

const OTHER_KEY: &str = "ff0e0d0c0b0a09080706050403020100f0e0d0c0b0a090807060504030201000";

fn with_secrets(url: &SecretString, key: &str) -> Program {
    Program::on(url).with("ICHIDO_SECRET_KEY", key).with("STRIPE", GATEWAY_SECRET).with("EMPTY", "")
}

#[tokio::test]
async fn a_gateway_that_cannot_be_used_is_refused_and_nothing_is_stored() {
    let url = postgres::database().await;
    let program = with_secrets(&url, SECRET_KEY);
    assert_eq!(program.json("org create --name a --mode test", 0).await["org_id"], 1);
    assert_eq!(program.json("org create --name b --mode live", 0).await["org_id"], 2);
    let set = |org: i32, base: &str, variable: &str| {
        format!("gateway set --org {org} --provider stripe --api-base {base} --secret-env {variable}")
    };
    for (arguments, error) in [
        (set(3, "https://api.stripe.com", "STRIPE"), "there is no such organisation"),
        (set(1, "https://api.stripe.com", "NOT_SET"), "there is no value in the environment variable NOT_SET"),
        (set(1, "https://api.stripe.com", "EMPTY"), "there is no value in the environment variable EMPTY"),
        (set(1, "https://api.stripe.com/v1", "STRIPE"), "the URL is expected without /v1"),
        (
            set(1, "api.stripe.com", "STRIPE"),
            "an URL such as https://api.stripe.com is expected, without user, query or fragment",
        ),
        (set(2, "http://api.stripe.com", "STRIPE"), "a live organisation needs an https URL"),
        (set(2, "https://127.0.0.1:8443", "STRIPE"), "a live organisation needs a public address"),
        (set(2, "https://10.1.2.3", "STRIPE"), "a live organisation needs a public address"),
        (set(2, "https://[::1]", "STRIPE"), "a live organisation needs a public address"),
    ] {
        assert_eq!(program.json(&arguments, 1).await["error"], error, "{arguments}");
    }
    let keyless =
        Program::on(&url).with("STRIPE", GATEWAY_SECRET).json(&set(1, "https://api.stripe.com", "STRIPE"), 1).await;
    assert!(keyless["error"].as_str().unwrap().contains("ICHIDO_SECRET_KEY is not set"), "{keyless}");
    let malformed = with_secrets(&url, "0f0e").json(&set(1, "https://api.stripe.com", "STRIPE"), 1).await;
    assert!(malformed["error"].as_str().unwrap().starts_with("ICHIDO_SECRET_KEY is not valid: 64 hex"), "{malformed}");
    let count = "SELECT count(*) FROM gateways";
    assert_eq!(postgres::connect(&url).await.query_one(count, &[]).await.unwrap().get::<_, i64>(0), 0);
    assert_eq!(program.run(&set(1, "https://api.stripe.com", "STRIPE").replace("stripe ", "paypal ")).await.status, 2);
}

#[tokio::test]
async fn another_secret_key_opens_nothing_and_is_noticed_before_serving() {
    let (app, world) = (TestApp::start().await, World::start());
    let set = format!(
        "gateway set --org {} --provider stripe --api-base {} --secret-env STRIPE",
        app.org.id.0,
        world.stripe()
    );
    let done = with_secrets(&app.url, SECRET_KEY).json(&set, 0).await;
    assert_eq!(done, json!({ "org_id": app.org.id.0, "provider": "stripe" }));
    // A server that was running all the time uses it.
    assert_eq!(app.post("k1", &paid_body("pm_card_visa")).await.status, 201);

    let secrets = async |program: Program| program.json("check", 1).await["checks"][5].clone();
    let opened = secrets(with_secrets(&app.url, SECRET_KEY)).await;
    assert_eq!((&opened["ok"], &opened["detail"]), (&json!(true), &json!("1 stored secret(s) can be opened")));
    for program in [with_secrets(&app.url, OTHER_KEY), Program::on(&app.url)] {
        assert_eq!(secrets(program).await["ok"], false);
    }
    for command in ["serve --listen 127.0.0.1:0", "worker"] {
        let refused = with_secrets(&app.url, OTHER_KEY).run(command).await;
        assert_eq!((refused.status, refused.stdout.as_str()), (1, ""), "{command}");
        assert!(
            refused.stderr.contains("1 of the stored secrets cannot be opened: ICHIDO_SECRET_KEY is not set"),
            "{command}"
        );
    }

    let slip = with_secrets(&app.url, OTHER_KEY).json(&set, 1).await;
    assert!(slip["error"].as_str().unwrap().contains("nothing was changed"), "{slip}");
    assert_eq!(secrets(with_secrets(&app.url, SECRET_KEY)).await["ok"], true);

    // And a server that has lost it: nothing is claimed, nothing charged.
    let mut app = app;
    app.app.payments.sealing_key = SealingKey::parse(&SecretString::from(OTHER_KEY)).map(Arc::new);
    let other = TestApp::start_with(app.url.clone(), app.app.payments.clone()).await;
    let (before, charges) = (app.counts().await, world.charges().await);
    let refused = other.post_as(&app.org.token, "k2", &paid_body("pm_card_visa")).await;
    assert_eq!(
        (refused.status, refused.code().as_str(), &refused.json()["executed"]),
        (503, "unavailable", &json!("no"))
    );
    assert_eq!((app.counts().await, world.charges().await), (before, charges));
}

#[tokio::test]
async fn times_that_do_not_fit_each_other_are_refused() {
    let url = postgres::database().await;
    for (flags, error) in [
        ("--lease 11s", "ICHIDO_LEASE is not valid: at least 2 s longer than ICHIDO_GATEWAY_TIMEOUT"),
        ("--gateway-timeout 0s", "ICHIDO_GATEWAY_TIMEOUT is not valid"),
        ("--gateway-timeout 2h --lease 3h", "ICHIDO_GATEWAY_TIMEOUT is not valid"),
        ("--ask-after 1s,1m", "ICHIDO_ASK_AFTER is not valid: four times"),
    ] {
        for command in ["serve --listen 127.0.0.1:0", "worker"] {
            let refused = Program::on(&url).run(&format!("{command} {flags}")).await;
            assert_eq!((refused.status, refused.stdout.as_str()), (1, ""), "{flags}");
            assert!(refused.stderr.contains(error), "{flags}: {}", refused.stderr);
        }
    }
    assert_eq!(Program::on(&url).run("worker --lease soon").await.status, 2);
}
