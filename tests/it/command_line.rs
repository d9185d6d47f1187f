//! The command line, as an operator and as a script meet it: the real program on a database of its own.

mod gateways;
mod help;
mod lists;
mod orgs_and_keys;
mod settings;

use crate::support::postgres;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use std::process::Stdio;
use tokio::process::Command;

/// The program with nothing in its environment but what a test gives it.
pub struct Program {
    environment: Vec<(String, String)>,
}

/// How a run ended.
#[derive(Debug)]
pub struct Run {
    /// Exit status.
    pub status: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Program {
    /// With an empty environment.
    pub fn bare() -> Self {
        Self { environment: Vec::new() }
    }

    /// For a database; the tests' PostgreSQL does without fsync, which has to be allowed.
    pub fn on(url: &SecretString) -> Self {
        Self::bare().with("DATABASE_URL", url.expose_secret()).with("ICHIDO_ALLOW_UNSAFE_DURABILITY", "true")
    }

    /// With one more variable.
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Runs it with the words of `arguments`.
    pub async fn run(&self, arguments: &str) -> Run {
        self.run_words(&arguments.split_whitespace().collect::<Vec<_>>()).await
    }

    /// Runs it with these arguments.
    pub async fn run_words(&self, arguments: &[&str]) -> Run {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ichido"));
        command.args(arguments).env_clear().envs(self.environment.iter().cloned()).stdin(Stdio::null());
        let output = command.kill_on_drop(true).output().await.unwrap();
        Run {
            status: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Runs it with `--json`, and gives the one object that it printed.
    pub async fn json(&self, arguments: &str, status: i32) -> Value {
        let run = self.run(&format!("{arguments} --json")).await;
        assert_eq!(run.status, status, "{arguments}: {run:?}");
        let line = run.stdout.strip_suffix('\n').unwrap_or_else(|| panic!("{arguments}: {run:?}"));
        let object: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{arguments}: {error}: {run:?}"));
        assert!(object.is_object() && !line.contains('\n'), "{arguments}: {run:?}");
        assert_eq!(
            object.get("error").is_some(),
            status == 1 && object.get("checks").is_none(),
            "{arguments}: {run:?}"
        );
        object
    }
}

#[tokio::test]
async fn migrate_brings_a_database_up_and_check_tells_what_is_pending() {
    let program = Program::on(&postgres::empty_database().await);
    let count = ichido::db::migrate::MIGRATIONS.len();
    let pending = program.json("migrate --check", 1).await;
    assert_eq!(pending["error"], format!("{count} migration(s) pending"));
    let refused = program.json("org list", 1).await;
    assert!(refused["error"].as_str().unwrap().contains("run `ichido migrate`"), "{refused}");
    let first = program.json("migrate", 0).await;
    assert_eq!((first["applied"].as_array().unwrap().len(), &first["version"]), (count, &Value::from(count)));
    let second = program.json("migrate", 0).await;
    assert_eq!((second["applied"].as_array().unwrap().len(), &second["version"]), (0, &Value::from(count)));
    assert_eq!(program.json("migrate --check", 0).await, second);
    let text = program.run("migrate").await;
    assert_eq!((text.status, text.stdout.as_str()), (0, "nothing to do: the schema is current\n"));
}

#[tokio::test]
async fn check_reports_each_check_and_fails_when_one_is_bad() {
    let url = postgres::database().await;
    let names = ["version", "durability", "primary", "schema", "clock", "secrets"];
    let failed = |report: &Value| -> Vec<String> {
        let checks = report["checks"].as_array().unwrap();
        assert!(checks.iter().map(|check| check["name"].as_str().unwrap()).eq(names), "{report}");
        assert!(checks.iter().all(|check| !check["detail"].as_str().unwrap().is_empty()), "{report}");
        let bad = checks.iter().filter(|check| check["ok"] == false);
        bad.map(|check| check["name"].as_str().unwrap().to_owned()).collect()
    };
    // The variable allows serving; it does not make the settings safe.
    let report = Program::on(&url).json("check", 1).await;
    assert_eq!((&report["ok"], failed(&report)), (&Value::from(false), vec!["durability".to_owned()]));
    assert!(report["checks"][1]["detail"].as_str().unwrap().contains("fsync is off"), "{report}");
    let drift = "UPDATE schema_migrations SET sha256 = '\\x00' WHERE version = 1";
    postgres::connect(&url).await.batch_execute(drift).await.unwrap();
    let report = Program::on(&url).json("check", 1).await;
    assert_eq!(failed(&report), ["durability", "schema"]);
    let text = Program::on(&url).run("check").await;
    assert_eq!(text.status, 1);
    assert_eq!(text.stdout.lines().filter(|line| line.starts_with("FAIL  ")).count(), 2, "{text:?}");
    assert_eq!(text.stdout.lines().filter(|line| line.starts_with("ok    ")).count(), names.len() - 2, "{text:?}");
    let behind = Program::on(&postgres::empty_database().await).json("check", 1).await;
    assert_eq!(failed(&behind), ["durability", "schema"]);
}

#[tokio::test]
async fn cleanup_tells_what_it_would_remove_and_then_removes_it() {
    let url = postgres::database().await;
    let program = Program::on(&url);
    let org = program.json("org create --name a --mode test --keys-kept-for 24h", 0).await["org_id"].clone();
    let client = postgres::connect(&url).await;
    let keys = "INSERT INTO idempotency_keys (org_id, idempotency_key, fingerprint_version, request_sha256, state,
            order_id, response_status, response_headers, response_body, created_at, completed_at, expires_at)
        SELECT $1, 'key-' || n, 1, '', 'completed', gen_random_uuid(), 201, '{}', '', now(), now(),
            now() + (n - 7) * interval '1 hour'
        FROM generate_series(1, 10) n";
    client.execute(keys, &[&org.as_i64().unwrap()]).await.unwrap();
    let told = |dry_run: bool| {
        let orgs = [serde_json::json!({ "org_id": org, "keys": 7 })];
        serde_json::json!({ "dry_run": dry_run, "keys": 7, "orgs": orgs, "notification_bodies": 0 })
    };
    assert_eq!(program.json("cleanup --dry-run", 0).await, told(true));
    assert_eq!(program.json("cleanup --dry-run --batch 3", 0).await, told(true));
    assert_eq!(program.json("cleanup --batch 3", 0).await, told(false));
    let nothing = program.json("cleanup", 0).await;
    assert_eq!((&nothing["keys"], &nothing["orgs"]), (&Value::from(0), &serde_json::json!([])));
    let left: i64 = client.query_one("SELECT count(*) FROM idempotency_keys", &[]).await.unwrap().get(0);
    assert_eq!(left, 3);
    for batch in ["0", "-1", "100001", "many"] {
        assert_eq!(program.run(&format!("cleanup --batch={batch}")).await.status, 2, "{batch}");
    }
}
