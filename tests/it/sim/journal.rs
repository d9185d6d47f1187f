//! What is on disk is there after a restart.

use super::{World, charges};
use ichido::sim::{self, Options};
use serde_json::{Value, json};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

async fn open(journal: &Path) -> World {
    World::start_with(Options { journal: Some(journal.to_owned()), ..Options::default() }).await
}

fn step(operation_key: &str, word: &str) -> Value {
    json!({ "operation_key": operation_key, "kind": "mail", "order_id": "o1", "metadata": { "sim_mail": word } })
}

#[tokio::test]
async fn everything_is_read_back() {
    let dir = tempfile::tempdir().unwrap();
    let journal = dir.path().join("world.jsonl");
    let world = open(&journal).await;
    let paid = world.pay("K1", "pm_card_visa").await;
    let declined = world.pay("K2", "pm_card_chargeDeclined").await;
    let processing = world.pay("K3", "pm_sim_processing").await;
    let refund = world.post("refunds", "R1", &[("payment_intent", &paid.id()), ("amount", "200")]).await;
    assert!(world.try_pay("K4", "pm_sim_lost_answer").await.is_err());
    assert!(world.try_pay("K5", "pm_sim_lost_request").await.is_err());
    assert!(world.tell("/partners/mail", Some("op1"), &step("op1", "unknown")).await.is_err());
    assert!(world.tell("/partners/mail", Some("op2"), &step("op2", "lost_request_unknown")).await.is_err());
    let state = async |world: &World| {
        let mut all = Vec::new();
        for path in ["payment_intents?limit=100", "charges?limit=100", "refunds?limit=100"] {
            all.push(world.get(path).await.text);
        }
        all.push(world.look("/effects").await.text);
        all
    };
    let before = state(&world).await;
    world.stop().await;

    let world = open(&journal).await;
    assert_eq!(state(&world).await, before);
    let again = world.pay("K1", "pm_card_visa").await;
    assert!(again.is_replay() && again.text == paid.text);
    assert_eq!(again.header("original-request"), paid.header("request-id"));
    assert_eq!(world.pay("K2", "pm_card_chargeDeclined").await.text, declined.text);
    assert!(world.pay("K4", "pm_sim_lost_answer").await.is_replay());
    let second = world.pay("K5", "pm_sim_lost_request").await;
    assert!(second.status == 200 && !second.is_replay(), "the fault has struck already");
    for operation in ["op1", "op2"] {
        assert_eq!(world.look(&format!("/partners/mail?operation_key={operation}")).await.at("/happened"), Value::Null);
    }
    let settle = json!({ "payment_intent": processing.id(), "outcome": "succeeded" });
    assert_eq!(world.tell("/control/settle", None, &settle).await.unwrap().status, 200);
    let rest = world.post("refunds", "R2", &[("payment_intent", &paid.id())]).await;
    assert_eq!((refund.at("/amount"), rest.at("/amount")), (json!(200), json!(1000)));
    assert_eq!(world.look("/effects?order_id=o1").await.at("/effects").as_array().unwrap().len(), 7);
}

#[tokio::test]
async fn a_torn_last_line_is_cut_and_a_damaged_one_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let journal = dir.path().join("world.jsonl");
    let world = open(&journal).await;
    world.pay("K1", "pm_card_visa").await;
    world.stop().await;
    let whole = fs::read(&journal).unwrap();
    OpenOptions::new().append(true).open(&journal).unwrap().write_all(&whole[..whole.len() / 2]).unwrap();
    let world = open(&journal).await;
    assert_eq!(world.effects().await, json!([charges("K1", 1)]));
    world.pay("K2", "pm_card_visa").await;
    world.stop().await;
    let world = open(&journal).await;
    assert_eq!(world.effects().await, json!([charges("K1", 1), charges("K2", 1)]));
    world.stop().await;
    fs::write(&journal, b"{\"effect\":1}\n").unwrap();
    let options = Options { journal: Some(journal.clone()), ..Options::default() };
    let refused = sim::start("127.0.0.1:0".parse().unwrap(), options).err().unwrap();
    assert!(refused.to_string().contains("line 1"), "{refused}");
}

#[tokio::test]
async fn one_journal_belongs_to_one_world() {
    let dir = tempfile::tempdir().unwrap();
    let journal = dir.path().join("world.jsonl");
    let world = open(&journal).await;
    let options = Options { journal: Some(journal.clone()), ..Options::default() };
    let refused = sim::start("127.0.0.1:0".parse().unwrap(), options).err().unwrap();
    assert!(refused.to_string().contains("another simulated world"), "{refused}");
    assert_eq!(world.pay("K1", "pm_card_visa").await.status, 200);
}

#[tokio::test]
async fn settings_are_checked() {
    let start = |options| sim::start("127.0.0.1:0".parse().unwrap(), options).map(|_| ());
    let url = Some("http://127.0.0.1:1/hook".to_owned());
    assert!(start(Options { webhook_url: url.clone(), ..Options::default() }).is_err());
    let empty = Some("".into());
    assert!(start(Options { webhook_url: url, webhook_secret: empty, ..Options::default() }).is_err());
    let secret = Some("whsec_1".into());
    assert!(
        start(Options { webhook_url: Some("hook".to_owned()), webhook_secret: secret, ..Options::default() }).is_err()
    );
    let nowhere = Some("/nonexistent/world.jsonl".into());
    assert!(start(Options { journal: nowhere, ..Options::default() }).is_err());
}
