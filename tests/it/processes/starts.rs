//! What `serve` refuses to start on, and how it says so.

use super::Prepared;
use crate::support::postgres;
use crate::support::process::{Ended, Program};
use secrecy::{ExposeSecret, SecretString};
use std::net::TcpListener;

async fn refused(program: Program, words: &[&str]) -> Ended {
    let ended = program.run().await;
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    for word in words {
        assert!(ended.err.contains(word), "without {word}: {ended:?}");
    }
    assert!(!ended.out.contains("listening on"), "{ended:?}");
    ended
}

fn serve(url: &SecretString) -> Program {
    Program::serve(url, "127.0.0.1:0")
}

#[tokio::test]
async fn a_schema_that_does_not_fit_is_refused() {
    let empty = postgres::empty_database().await;
    refused(serve(&empty), &["behind", "ichido migrate"]).await;
    refused(Program::new(&["worker"]).database(&empty), &["behind", "ichido migrate"]).await;
    for (change, word) in [
        ("UPDATE schema_migrations SET sha256 = '\\x00' WHERE version = 1", "migration 1"),
        ("DELETE FROM schema_migrations WHERE version = 1", "migration"),
        ("INSERT INTO schema_migrations (version, name, sha256) VALUES (999, 'later', '\\x00')", "newer version"),
    ] {
        let url = postgres::database().await;
        postgres::connect(&url).await.batch_execute(change).await.unwrap();
        refused(serve(&url), &[word]).await;
    }
}

#[tokio::test]
async fn a_database_that_can_lose_orders_is_refused_unless_it_is_allowed() {
    let url = postgres::database().await;
    let plain = |url: &SecretString| {
        Program::new(&["serve", "--listen", "127.0.0.1:0"]).env("DATABASE_URL", url.expose_secret())
    };
    refused(plain(&url), &["fsync is off", "ICHIDO_ALLOW_UNSAFE_DURABILITY"]).await;
    refused(plain(&url).env("ICHIDO_ALLOW_UNSAFE_DURABILITY", "false"), &["fsync is off"]).await;
    refused(plain(&url).env("ICHIDO_ALLOW_UNSAFE_DURABILITY", "maybe"), &["ICHIDO_ALLOW_UNSAFE_DURABILITY"]).await;
}

#[tokio::test]
async fn a_port_in_use_is_a_clear_error() {
    let prepared = Prepared::new().await;
    let holder = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = holder.local_addr().unwrap().to_string();
    refused(Program::serve(&prepared.url, &address), &["cannot listen on", &address, "in use"]).await;
}

#[tokio::test]
async fn a_database_that_is_not_there_is_a_clear_error_without_its_password() {
    let nowhere = "postgresql://ichido:hunter2-secret@127.0.0.1:1/orders";
    let ended = refused(serve(&SecretString::from(nowhere)), &["database"]).await;
    assert!(!format!("{ended:?}").contains("hunter2"), "{ended:?}");
    let ended = refused(serve(&SecretString::from("hunter2-secret://x")), &["DATABASE_URL"]).await;
    assert!(!format!("{ended:?}").contains("hunter2"), "{ended:?}");
    refused(Program::new(&["serve", "--listen", "127.0.0.1:0"]), &["DATABASE_URL", "not set"]).await;
}

#[tokio::test]
async fn the_address_of_the_database_can_come_from_a_file() {
    let prepared = Prepared::new().await;
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), format!("{}\n", prepared.url.expose_secret())).unwrap();
    let file_name = file.path().to_str().unwrap();
    let program = || Program::new(&["serve", "--listen", "127.0.0.1:0"]).env("DATABASE_URL_FILE", file_name);
    let mut running = program().env("ICHIDO_ALLOW_UNSAFE_DURABILITY", "true").start();
    let base = running.base().await;
    assert_eq!(prepared.post(&base, "K").await.unwrap().status, 201);
    refused(program().database(&prepared.url), &["both set"]).await;
}
