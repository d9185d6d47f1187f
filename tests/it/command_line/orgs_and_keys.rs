//! Organisations and their API keys, made by the program and used over HTTP.

use crate::command_line::Program;
use crate::support::app::{TestApp, order_body};
use crate::support::postgres;
use secrecy::SecretString;
use serde_json::{Value, json};

async fn program() -> (SecretString, Program) {
    let url = postgres::database().await;
    let program = Program::on(&url);
    (url, program)
}

#[tokio::test]
async fn an_organisation_gets_the_policies_that_were_asked_for() {
    let (_, program) = program().await;
    let list = |program| async move { Program::json(program, "org list", 0).await["data"].as_array().unwrap().clone() };
    assert!(list(&program).await.is_empty());
    let cases = [
        ("test", "", "reject", "200", json!(null), json!(null)),
        (
            "live",
            "--on-mismatch reject --replay-status 200 --keys-kept-for forever",
            "reject",
            "200",
            json!(null),
            json!(null),
        ),
        ("test", "--on-mismatch return_original", "return_original", "200", json!(null), json!(null)),
        ("live", "--replay-status original --new-claims-per-second 7", "reject", "original", json!(null), json!(7)),
        ("test", "--keys-kept-for 24h", "reject", "200", json!(86_400), json!(null)),
        ("test", "--keys-kept-for 30d", "reject", "200", json!(2_592_000), json!(null)),
    ];
    for (number, (mode, flags, on_mismatch, replay_status, kept, limit)) in cases.into_iter().enumerate() {
        let name = format!("org{number}");
        let made = program.json(&format!("org create --name {name} --mode {mode} {flags}"), 0).await;
        assert_eq!(made.as_object().unwrap().len(), 1, "{made}");
        let listed = list(&program).await;
        assert_eq!(listed.len(), number + 1);
        let mut org = listed.last().unwrap().clone();
        assert!(org["created_at"].take().as_str().unwrap().ends_with('Z'));
        let expected = json!({
            "org_id": made["org_id"], "name": name, "mode": mode, "on_mismatch": on_mismatch,
            "replay_status": replay_status, "keys_kept_for_seconds": kept, "new_claims_per_second": limit,
            "created_at": null,
        });
        assert!(made["org_id"].is_i64());
        assert_eq!(org, expected, "{flags}");
    }
    let text = program.run_words(&["org", "create", "--name", "with a space, 円", "--mode", "test"]).await;
    assert!(text.status == 0 && text.stdout.starts_with("organisation "), "{text:?}");
    assert_eq!(list(&program).await.last().unwrap()["name"], "with a space, 円");
}

#[tokio::test]
async fn a_key_is_kept_for_a_day_at_least() {
    let (_, program) = program().await;
    for time in ["23h", "23h59m59s", "0", "-1d", "101years", "soon", "", "Forever"] {
        let usage = ["org", "create", "--name", "a", "--mode", "test", &format!("--keys-kept-for={time}")];
        let run = program.run_words(&usage).await;
        assert_eq!((run.status, run.stdout.as_str()), (2, ""), "{time}: {run:?}");
    }
    for name in ["", &"x".repeat(201)] {
        let run = program.run_words(&["org", "create", "--mode", "test", &format!("--name={name}")]).await;
        assert_eq!(run.status, 2, "{run:?}");
    }
    assert_eq!(program.json("org list", 0).await["data"], json!([]));
}

/// Makes an organisation and gives its id.
async fn org(program: &Program) -> Value {
    program.json("org create --name a --mode test", 0).await["org_id"].clone()
}

#[tokio::test]
async fn a_token_is_shown_once_and_never_listed() {
    let (_, program) = program().await;
    let (org_id, other) = (org(&program).await, org(&program).await);
    let create = format!("key create --org {org_id} --scope orders:write --scope orders:read --expires-in 90d");
    let made = program.json(&create, 0).await;
    let (key_id, token) = (made["key_id"].as_str().unwrap(), made["token"].as_str().unwrap());
    assert!(token.starts_with(&format!("ich_test_{key_id}_")), "{made}");
    let secret = token.rsplit('_').next().unwrap();
    let list = format!("key list --org {org_id}");
    for arguments in [list.clone(), format!("{list} --json")] {
        let run = program.run(&arguments).await;
        assert!(run.status == 0 && run.stdout.contains(key_id), "{run:?}");
        assert!(!run.stdout.contains(secret) && !run.stderr.contains(secret), "{run:?}");
    }
    let listed = program.json(&list, 0).await;
    let key = &listed["data"][0];
    assert_eq!((listed["data"].as_array().unwrap().len(), &key["key_id"]), (1, &json!(key_id)));
    assert_eq!(key["scopes"], json!(["orders:write", "orders:read"]));
    assert!(key["expires_at"].as_str() > key["created_at"].as_str(), "{key}");
    assert_eq!((&key["revoked_at"], &key["last_used_at"]), (&json!(null), &json!(null)));
    assert_eq!(program.json(&format!("key list --org {other}"), 0).await["data"], json!([]));
}

#[tokio::test]
async fn what_is_not_there_is_said_and_fails() {
    let (_, program) = program().await;
    let org_id = org(&program).await;
    let key = program.json(&format!("key create --org {org_id} --scope admin"), 0).await;
    let key_id = key["key_id"].as_str().unwrap();
    let nobody = program.json("key create --org 999 --scope admin", 1).await;
    assert_eq!(nobody, json!({ "error": "there is no organisation 999" }));
    let none = json!({ "error": "there is no such key in this organisation" });
    assert_eq!(program.json(&format!("key revoke --org {org_id} --key nothing"), 1).await, none);
    assert_eq!(program.json(&format!("key revoke --org 999 --key {key_id}"), 1).await, none);
    assert_eq!(program.json(&format!("key list --org {org_id}"), 0).await["data"][0]["revoked_at"], json!(null));
    assert_eq!(program.json("key list --org 999", 1).await, nobody);
}

#[tokio::test]
async fn a_key_works_over_http_until_it_is_revoked() {
    let (url, program) = program().await;
    let org_id = org(&program).await;
    let key = program.json(&format!("key create --org {org_id} --scope orders:write"), 0).await;
    let (key_id, token) = (key["key_id"].as_str().unwrap(), key["token"].as_str().unwrap());
    let app = TestApp::start_on(url.clone(), 2, Vec::new()).await;
    assert_eq!(app.post_as(token, "K", &order_body()).await.status, 201);
    let request = app.request(reqwest::Method::GET, "/v1/orders").bearer_auth(token);
    assert_eq!(app.send(request, "/v1/orders").await.status, 403);
    let revoke = format!("key revoke --org {org_id} --key {key_id}");
    let first = program.json(&revoke, 0).await;
    assert_eq!(first["key_id"], key_id);
    assert!(first["revoked_at"].is_string());
    // The first revocation's time stands.
    assert_eq!(program.json(&revoke, 0).await, first);
    let listed = program.json(&format!("key list --org {org_id}"), 0).await;
    assert_eq!(listed["data"][0]["revoked_at"], first["revoked_at"]);
    // A process that has not seen the key before refuses it at once; how soon others do is tested with the keys.
    let fresh = TestApp::start_on(url, 2, Vec::new()).await;
    assert_eq!(fresh.post_as(token, "K", &order_body()).await.status, 401);
}

#[tokio::test]
async fn a_live_organisation_gets_live_keys() {
    let (url, program) = program().await;
    let org_id = program.json("org create --name a --mode live", 0).await["org_id"].clone();
    let key = program.json(&format!("key create --org {org_id} --scope orders:write"), 0).await;
    let token = key["token"].as_str().unwrap();
    assert!(token.starts_with("ich_live_"), "{key}");
    let app = TestApp::start_on(url, 2, Vec::new()).await;
    assert_eq!(app.post_as(token, "K", &order_body()).await.status, 201);
}
