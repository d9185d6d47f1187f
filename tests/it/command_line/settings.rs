//! Where the program takes its settings from, and what it says when they are wrong.

use crate::command_line::Program;
use crate::support::postgres;
use secrecy::ExposeSecret;
use serde_json::Value;
use std::fs;

/// Every command that asks the database, with the least that it needs.
const ADMIN: [&str; 8] = [
    "migrate",
    "migrate --check",
    "check",
    "org create --name a --mode test",
    "org list",
    "key create --org 1 --scope admin",
    "key list --org 1",
    "cleanup",
];

#[tokio::test]
async fn every_command_needs_exactly_one_database_url() {
    for command in ADMIN {
        let missing = Program::bare().json(command, 1).await;
        let text = "DATABASE_URL is not set (or DATABASE_URL_FILE, naming a file that holds it)";
        assert_eq!(missing["error"], text, "{command}");
    }
    let both = Program::bare().with("DATABASE_URL", "postgres://a@b/c").with("DATABASE_URL_FILE", "Cargo.toml");
    let twice = "DATABASE_URL and DATABASE_URL_FILE are both set; set one of them";
    for command in ADMIN {
        assert_eq!(both.json(command, 1).await["error"], twice, "{command}");
    }
    for command in ["serve", "worker"] {
        let run = both.run(command).await;
        assert_eq!((run.status, run.stdout.as_str()), (1, ""), "{command}");
        assert!(run.stderr.contains(twice), "{command}: {}", run.stderr);
    }
    // An empty variable is as good as none.
    let empty = Program::bare().with("DATABASE_URL", "").with("DATABASE_URL_FILE", "");
    assert!(empty.json("check", 1).await["error"].as_str().unwrap().contains("is not set"));
}

#[tokio::test]
async fn the_url_can_be_in_a_file() {
    let url = postgres::database().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("url");
    let program =
        |path: &str| Program::bare().with("DATABASE_URL_FILE", path).with("ICHIDO_ALLOW_UNSAFE_DURABILITY", "1");
    for ending in ["", "\n", "\r\n"] {
        fs::write(&file, format!("{}{ending}", url.expose_secret())).unwrap();
        assert_eq!(program(file.to_str().unwrap()).json("org list", 0).await["data"], Value::Array(Vec::new()));
    }
    let missing = program("no/such/file").json("org list", 1).await;
    assert_eq!(missing["error"], "the file named by DATABASE_URL_FILE cannot be read as text");
}

#[tokio::test]
async fn a_url_that_does_not_work_is_never_repeated() {
    let urls = [
        "s3cr3t",
        "postgres:// s3cr3t",
        "postgres://user:s3cr3t@",
        "postgres://user:s3cr3t@/db",
        "postgres://user:s3cr3t@host:port/db",
        "postgres://user:s3cr3t@127.0.0.1:1/s3cr3t?sslmode=disable",
        "postgres://user:s3cr3t@127.0.0.1:1/db?s3cr3t=1",
        "mysql://user:s3cr3t@127.0.0.1/db",
    ];
    for url in urls {
        for command in ["migrate --json", "check", "org list --json"] {
            let run = Program::bare().with("DATABASE_URL", url).run(command).await;
            assert_eq!(run.status, 1, "{command} {url}: {run:?}");
            assert!(!run.stdout.contains("s3cr3t") && !run.stderr.contains("s3cr3t"), "{command} {url}: {run:?}");
            assert!(run.stderr.starts_with("ichido: "), "{command} {url}: {run:?}");
        }
    }
}

#[tokio::test]
async fn a_database_that_could_lose_orders_is_refused() {
    let url = postgres::database().await;
    for allowed in ["", "false", "0"] {
        let program = Program::bare().with("DATABASE_URL", url.expose_secret());
        let program = program.with("ICHIDO_ALLOW_UNSAFE_DURABILITY", allowed);
        let refused = program.json("org list", 1).await;
        assert!(refused["error"].as_str().unwrap().contains("can lose acknowledged orders: fsync is off"), "{refused}");
        let serve = program.run("serve --listen 127.0.0.1:0").await;
        assert_eq!((serve.status, serve.stdout.as_str()), (1, ""), "{serve:?}");
    }
    let unclear =
        Program::bare().with("DATABASE_URL", url.expose_secret()).with("ICHIDO_ALLOW_UNSAFE_DURABILITY", "yes");
    let refused = unclear.json("org list", 1).await;
    assert_eq!(refused["error"], "ICHIDO_ALLOW_UNSAFE_DURABILITY is not valid: true or false is expected");
}

#[tokio::test]
async fn wrong_usage_is_2_and_tells_on_standard_error() {
    let program = Program::bare();
    for usage in [
        "",
        "unknown",
        "--unknown",
        "migrate --unknown",
        "check --unknown",
        "org",
        "org unknown",
        "org create",
        "org create --name a",
        "org create --name a --mode both",
        "org create --name a --mode test --on-mismatch ignore",
        "org create --name a --mode test --replay-status 201",
        "org create --name a --mode test --new-claims-per-second 0",
        "key create --org 1",
        "key create --org one --scope admin",
        "key create --org 1 --scope orders",
        "key create --org 1 --scope admin --expires-in soon",
        "key list",
        "key revoke --org 1",
        "serve --listen nowhere",
        "serve --database-pool 0",
        "serve --cors-origins shop.example",
        "serve --cors-origins https://shop.example/path",
        "serve --json",
        "worker more",
    ] {
        let run = program.run(usage).await;
        assert_eq!((run.status, run.stdout.as_str()), (2, ""), "{usage}: {run:?}");
        assert!(run.stderr.contains("Usage: ichido") || run.stderr.contains("try '--help'"), "{usage}: {run:?}");
    }
    let version = program.run("--version").await;
    assert_eq!((version.status, version.stdout), (0, format!("ichido {}\n", env!("CARGO_PKG_VERSION"))));
}
