//! What an operator has set can be looked at, and no secret with it.

use crate::command_line::Program;
use crate::support::payments::SECRET_KEY;
use crate::support::postgres;
use serde_json::json;

const SECRETS: [(&str, &str); 4] = [
    ("STRIPE", "sk_test_canary_listed"),
    ("PARTNER", "partner_canary_listed"),
    ("HOOK", "whsec_canary_listed"),
    ("HOOK_NEW", "whsec_canary_listed_too"),
];

async fn program() -> Program {
    let program = Program::on(&postgres::database().await).with("ICHIDO_SECRET_KEY", SECRET_KEY);
    let program = SECRETS.iter().fold(program, |program, (name, secret)| program.with(name, secret));
    for name in ["a", "b"] {
        program.json(&format!("org create --name {name} --mode test"), 0).await;
    }
    program
}

/// The list as people read it.
async fn text(program: &Program, arguments: &str) -> String {
    let run = program.run(arguments).await;
    assert_eq!((run.status, run.stderr.as_str()), (0, ""), "{run:?}");
    run.stdout
}

#[tokio::test]
async fn an_organisation_that_does_not_exist_is_not_one_that_has_nothing() {
    let program = program().await;
    for command in ["key list", "step list", "webhook-endpoint list"] {
        assert_eq!(program.json(&format!("{command} --org 1"), 0).await, json!({ "data": [] }), "{command}");
    }
    for command in ["key list", "step list", "webhook-endpoint list", "gateway show"] {
        let refused = program.json(&format!("{command} --org 3"), 1).await;
        assert_eq!(refused["error"], "there is no organisation 3", "{command}");
    }
    let refused = program.json("gateway show --org 1", 1).await;
    assert_eq!(refused["error"], "there is no gateway of organisation 1");
}

#[tokio::test]
async fn a_gateway_is_shown_to_its_organisation_alone() {
    let program = program().await;
    let set = "gateway set --org 1 --provider stripe --api-base https://api.stripe.com --secret-env STRIPE";
    program.json(set, 0).await;
    let shown = program.json("gateway show --org 1", 0).await;
    assert_eq!(shown, json!({ "org_id": 1, "provider": "stripe", "api_base": "https://api.stripe.com" }));
    assert_eq!(
        text(&program, "gateway show --org 1").await,
        "organisation 1 takes payments by stripe at https://api.stripe.com\n"
    );
    program.json("gateway show --org 2", 1).await;
}

#[tokio::test]
async fn steps_are_listed_in_the_order_of_their_kinds() {
    let program = program().await;
    let set = |kind: &str, rest: &str| {
        format!("step set --org 1 --kind {kind} --url http://127.0.0.1:9/{kind} --owner ops {rest}")
    };
    program.json(&set("shipment_request", "--honours-keys false"), 0).await;
    let reserve = "--honours-keys true --status-url http://127.0.0.1:9/status?key=canary --corrector stock";
    let reserve = format!("{reserve} --secret-env PARTNER");
    program.json(&set("stock_reservation", &format!("{reserve} --max-attempts 3 --deadline 10m")), 0).await;
    let first = json!({
        "kind": "stock_reservation", "url": "http://127.0.0.1:9/stock_reservation", "honours_keys": true,
        "status_url": "http://127.0.0.1:9/status?…", "signed": true, "owner": "ops", "corrector": "stock",
        "max_attempts": 3, "deadline_seconds": 600,
    });
    let second = json!({
        "kind": "shipment_request", "url": "http://127.0.0.1:9/shipment_request", "honours_keys": false,
        "status_url": null, "signed": false,
        "owner": "ops", "corrector": "ops", "max_attempts": 20, "deadline_seconds": 7200,
    });
    assert_eq!(program.json("step list --org 1", 0).await, json!({ "data": [first, second] }));
    let text = text(&program, "step list --org 1").await;
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert!(lines[0].contains("honours keys, asked at http://127.0.0.1:9/status?…; owner ops"), "{text}");
    assert!(lines[1].contains("does not honour keys, cannot be asked; owner ops"), "{text}");
    assert_eq!(program.json("step list --org 2", 0).await, json!({ "data": [] }));
}

#[tokio::test]
async fn endpoints_are_listed_with_what_their_secrets_are_called() {
    let program = program().await;
    let create = "webhook-endpoint create --org 1 --provider stripe --secret-env HOOK";
    let made = program.json(create, 0).await;
    let endpoint = made["endpoint_id"].as_str().unwrap();
    let of_endpoint = format!("--org 1 --endpoint {endpoint} --secret-env");
    program.json(&format!("webhook-endpoint secret add {of_endpoint} HOOK_NEW"), 0).await;
    let retired = program.json(&format!("webhook-endpoint secret retire {of_endpoint} HOOK --grace 0s"), 0).await;
    assert_eq!(retired["secrets_left"], 1);
    let second = program.json(create, 0).await;
    let list = program.json("webhook-endpoint list --org 1", 0).await;
    assert_eq!(list["data"].as_array().unwrap().len(), 2, "{list}");
    let first = &list["data"][0];
    let secrets = json!([
        { "label": "HOOK", "state": "retired", "retires_at": retired["retires_at"] },
        { "label": "HOOK_NEW", "state": "active", "retires_at": null },
    ]);
    let whole = json!({
        "endpoint_id": made["endpoint_id"], "path": made["path"], "provider": "stripe", "secrets": secrets,
        "created_at": first["created_at"],
    });
    assert_eq!(first, &whole);
    assert_eq!(list["data"][1]["endpoint_id"], second["endpoint_id"]);
    assert_eq!(list["data"][1]["secrets"], json!([{ "label": "HOOK", "state": "active", "retires_at": null }]));
    assert_eq!(program.json("webhook-endpoint list --org 2", 0).await, json!({ "data": [] }));
    let lines = text(&program, "webhook-endpoint list --org 1").await;
    assert!(lines.starts_with(&format!("/v1/webhooks/{endpoint}  stripe  HOOK (retired at ")), "{lines}");
    // The last one of an endpoint can be retired, and whoever does it is told what that means.
    let retire_new = format!("webhook-endpoint secret retire {of_endpoint} HOOK_NEW");
    assert!(text(&program, &retire_new).await.contains("no other secret counts after that"));
    assert_eq!(program.json(&retire_new, 0).await["secrets_left"], 0);
    // One that counts for longer is one that counts.
    program.json(&format!("webhook-endpoint secret add {of_endpoint} HOOK"), 0).await;
    program.json(&format!("webhook-endpoint secret add {of_endpoint} HOOK_NEW"), 0).await;
    let longer = program.json(&format!("webhook-endpoint secret retire {of_endpoint} HOOK --grace 72h"), 0).await;
    assert_eq!(longer["secrets_left"], 1);
    assert_eq!(program.json(&retire_new, 0).await["secrets_left"], 1);
}
