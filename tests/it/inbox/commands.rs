//! `ichido webhook-endpoint`.

use crate::command_line::Program;
use crate::inbox::endpoint::now;
use crate::support::app::TestApp;
use crate::support::payments::SECRET_KEY;
use ichido::sim::signature::stripe_signature;
use reqwest::Method;
use secrecy::SecretString;
use serde_json::{Value, json};

fn program(url: &SecretString, key: &str) -> Program {
    let program = Program::on(url).with("ICHIDO_SECRET_KEY", key).with("EMPTY", "");
    program.with("ONE", "whsec_canary_one").with("TWO", "whsec_canary_two")
}

async fn status(app: &TestApp, path: &str, secret: &str) -> u16 {
    let signature = stripe_signature(secret.as_bytes(), now(), b"{}");
    let request = app.request(Method::POST, path).header("Stripe-Signature", signature).body("{}");
    app.send(request, "/v1/webhooks/{endpoint_id}").await.status
}

#[tokio::test]
async fn an_endpoint_is_made_and_its_secrets_rotate_under_a_running_server() {
    let app = TestApp::start().await;
    let program = || program(&app.url, SECRET_KEY);
    let org = app.org.id.0;
    let made =
        program().json(&format!("webhook-endpoint create --org {org} --provider stripe --secret-env ONE"), 0).await;
    let (id, path) = (made["endpoint_id"].as_str().unwrap().to_owned(), made["path"].as_str().unwrap().to_owned());
    assert_eq!(made, json!({ "endpoint_id": id, "path": format!("/v1/webhooks/{id}") }));
    let statuses =
        async || (status(&app, &path, "whsec_canary_one").await, status(&app, &path, "whsec_canary_two").await);
    assert_eq!(statuses().await, (200, 400));
    let secret = |verb: &str, rest: &str| format!("webhook-endpoint secret {verb} --org {org} --endpoint {id} {rest}");
    let added = program().json(&secret("add", "--secret-env TWO"), 0).await;
    assert_eq!(added, json!({ "endpoint_id": id, "label": "TWO", "state": "active" }));
    assert_eq!(statuses().await, (200, 200));
    let retired = program().json(&secret("retire", "--secret-env ONE"), 0).await;
    assert_eq!((&retired["label"], &retired["state"]), (&json!("ONE"), &json!("retiring")));
    assert_eq!(statuses().await, (200, 200));
    program().json(&secret("retire", "--secret-env ONE --grace 0s"), 0).await;
    assert_eq!(statuses().await, (400, 200));
    program().json(&secret("add", "--secret-env ONE"), 0).await;
    assert_eq!(statuses().await, (200, 200));
    let check = program().json("check", 1).await["checks"].as_array().unwrap().clone();
    let opened = check.iter().find(|check| check["name"] == "secrets").unwrap();
    assert_eq!((&opened["ok"], &opened["detail"]), (&json!(true), &json!("2 stored secret(s) can be opened")));
    let stored = "SELECT string_agg(encode(secret_sealed, 'escape'), '') FROM webhook_secrets";
    let stored: String = app.sql().await.query_one(stored, &[]).await.unwrap().get(0);
    assert!(!stored.contains("canary"));
}

#[tokio::test]
async fn what_cannot_be_made_is_refused_and_nothing_is_stored() {
    let app = TestApp::start().await;
    let org = app.org.id.0;
    let create = |org: i64, variable: &str| {
        format!("webhook-endpoint create --org {org} --provider stripe --secret-env {variable}")
    };
    let error =
        async |program: Program, arguments: &str| -> Value { program.json(arguments, 1).await["error"].clone() };
    let good = || program(&app.url, SECRET_KEY);
    assert_eq!(error(good(), &create(99, "ONE")).await, "there is no such organisation");
    assert_eq!(error(good(), &create(org, "EMPTY")).await, "there is no value in the environment variable EMPTY");
    let none = format!("webhook-endpoint secret add --org {org} --endpoint {} --secret-env ONE", uuid::Uuid::now_v7());
    assert_eq!(error(good(), &none).await, "there is no such webhook endpoint in this organisation");
    let keyless = Program::on(&app.url).with("ONE", "whsec_canary_one");
    assert!(error(keyless, &create(org, "ONE")).await.as_str().unwrap().contains("ICHIDO_SECRET_KEY is not set"));
    let id = good().json(&create(org, "ONE"), 0).await["endpoint_id"].as_str().unwrap().to_owned();
    let other_key = SECRET_KEY.replacen('0', "1", 1);
    let refused = error(program(&app.url, &other_key), &create(org, "ONE")).await;
    assert!(refused.as_str().unwrap().contains("nothing was changed"), "{refused}");
    let retire = format!("webhook-endpoint secret retire --org {org} --endpoint {id} --secret-env TWO");
    assert_eq!(error(good(), &retire).await, "this endpoint has no such secret");
    assert_eq!(good().run(&create(org, "ONE").replace("stripe ", "paypal ")).await.status, 2);
    let other_org = good().json("org create --name other --mode test", 0).await["org_id"].as_i64().unwrap();
    let stolen = format!("webhook-endpoint secret add --org {other_org} --endpoint {id} --secret-env TWO");
    assert_eq!(error(good(), &stolen).await, "there is no such webhook endpoint in this organisation");
    let client = app.sql().await;
    let row = client
        .query_one("SELECT (SELECT count(*) FROM webhook_endpoints), (SELECT count(*) FROM webhook_secrets)", &[]);
    let row = row.await.unwrap();
    assert_eq!((row.get::<_, i64>(0), row.get::<_, i64>(1)), (1, 1));
}
