//! Migrating: once, in order, all or nothing, and never on a history that is not this program's.

use crate::house_rules::source::files;
use crate::support::{payments, postgres};
use futures_util::future::join_all;
use ichido::clock::Clock;
use ichido::db::deadline::Deadline;
use ichido::db::error::DbError;
use ichido::db::migrate::{MIGRATIONS, MigrateError, SchemaState, migrate};
use ichido::db::sql;
use ichido::startup;
use secrecy::SecretString;
use std::time::Duration;
use tokio::time::timeout;

async fn state(url: &SecretString) -> SchemaState {
    startup::app(url, 1, Clock::System, payments::settings())
        .unwrap()
        .db
        .schema_state(Deadline::of_request())
        .await
        .unwrap()
}

async fn execute(url: &SecretString, sql: &str) {
    postgres::connect(url).await.batch_execute(sql).await.unwrap();
}

async fn history(url: &SecretString) -> Vec<(i32, String)> {
    let client = postgres::connect(url).await;
    let rows = client.query("SELECT version, name FROM schema_migrations ORDER BY version", &[]).await.unwrap();
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}

fn all() -> Vec<(i32, String)> {
    MIGRATIONS.iter().map(|migration| (migration.version, migration.name.to_owned())).collect()
}

#[test]
fn the_list_and_the_folder_are_the_same_and_have_no_gap() {
    let files: Vec<_> = files("sql/migrations", "").into_iter().map(|file| (file.path, file.text)).collect();
    let listed: Vec<_> =
        MIGRATIONS.iter().map(|each| (format!("sql/migrations/{}.sql", each.name), each.text.to_owned())).collect();
    assert_eq!(files, listed);
    for (migration, expected) in MIGRATIONS.iter().zip(1..) {
        assert_eq!(migration.version, expected);
        assert!(migration.name.starts_with(&format!("{expected:04}_")), "{}", migration.name);
    }
}

#[tokio::test]
async fn an_empty_database_gets_all_of_them_once() {
    let url = postgres::empty_database().await;
    let count = MIGRATIONS.len();
    assert_eq!(state(&url).await, SchemaState::Behind(count));
    let names: Vec<_> = MIGRATIONS.iter().map(|migration| migration.name).collect();
    assert_eq!(migrate(&url).await.unwrap(), names);
    assert_eq!((state(&url).await, history(&url).await), (SchemaState::Current, all()));
    let nothing: [&str; 0] = [];
    assert_eq!(migrate(&url).await.unwrap(), nothing);
    assert_eq!((state(&url).await, history(&url).await), (SchemaState::Current, all()));
}

#[tokio::test]
async fn eight_at_once_run_each_migration_once() {
    let url = postgres::empty_database().await;
    let applied = join_all((0..8).map(|_| migrate(&url))).await;
    let mut applied: Vec<_> = applied.into_iter().flat_map(Result::unwrap).collect();
    applied.sort_unstable();
    let names: Vec<_> = MIGRATIONS.iter().map(|migration| migration.name).collect();
    assert_eq!(applied, names);
    assert_eq!((state(&url).await, history(&url).await), (SchemaState::Current, all()));
}

#[tokio::test]
async fn it_waits_for_whoever_is_migrating() {
    let url = postgres::empty_database().await;
    let other = postgres::connect(&url).await;
    other.batch_execute("SELECT pg_advisory_lock(115875674416239)").await.unwrap();
    let mut waiting = Box::pin(migrate(&url));
    assert!(timeout(Duration::from_millis(400), &mut waiting).await.is_err());
    assert_eq!(state(&url).await, SchemaState::Behind(MIGRATIONS.len()));
    drop(other);
    assert_eq!(waiting.await.unwrap().len(), MIGRATIONS.len());
    assert_eq!(state(&url).await, SchemaState::Current);
}

#[tokio::test]
async fn the_rest_is_run_on_a_database_that_is_behind() {
    let url = postgres::empty_database().await;
    let client = postgres::connect(&url).await;
    client.batch_execute(sql::MIGRATION_CREATE_TABLE.text).await.unwrap();
    let (first, rest) = MIGRATIONS.split_first().unwrap();
    client.batch_execute(first.text).await.unwrap();
    let add = "INSERT INTO schema_migrations (version, name, sha256) VALUES (1, $1, sha256($2))";
    client.execute(add, &[&first.name, &first.text.as_bytes()]).await.unwrap();
    assert_eq!(state(&url).await, SchemaState::Behind(rest.len()));
    let names: Vec<_> = rest.iter().map(|migration| migration.name).collect();
    assert_eq!(migrate(&url).await.unwrap(), names);
    assert_eq!((state(&url).await, history(&url).await), (SchemaState::Current, all()));
}

#[tokio::test]
async fn a_history_that_is_not_this_programs_is_refused_and_left_alone() {
    let last = MIGRATIONS.last().unwrap().version;
    let next = last + 1;
    let cases = [
        ("UPDATE schema_migrations SET sha256 = '\\x00' WHERE version = 1".to_owned(), SchemaState::Drifted(1)),
        (format!("UPDATE schema_migrations SET sha256 = '\\x00' WHERE version = {last}"), SchemaState::Drifted(last)),
        (format!("INSERT INTO schema_migrations VALUES ({next}, 'x', '\\x00')"), SchemaState::Newer),
        ("DELETE FROM schema_migrations WHERE version = 1".to_owned(), SchemaState::Drifted(2)),
        (format!("UPDATE schema_migrations SET version = 777 WHERE version = {last}"), SchemaState::Drifted(777)),
    ];
    for (change, expected) in cases {
        let url = postgres::database().await;
        execute(&url, &change).await;
        let before = history(&url).await;
        assert_eq!(state(&url).await, expected, "{change}");
        let refused = migrate(&url).await.unwrap_err();
        match expected {
            SchemaState::Newer => assert!(matches!(refused, MigrateError::Newer), "{refused:?}"),
            SchemaState::Drifted(version) => assert!(matches!(refused, MigrateError::Drifted(it) if it == version)),
            other => panic!("{other:?}"),
        }
        assert_eq!(history(&url).await, before);
        let app = startup::app(&url, 1, Clock::System, payments::settings()).unwrap();
        assert!(startup::verify(&app, true).await.is_err(), "{change}");
    }
}

#[tokio::test]
async fn a_migration_that_fails_leaves_nothing_half_done() {
    let url = postgres::empty_database().await;
    // The second migration makes idempotency_keys first, and then stumbles over this.
    execute(&url, "CREATE TABLE orders ()").await;
    let failed = migrate(&url).await.unwrap_err();
    let MigrateError::Database(DbError::Refused { sqlstate, .. }) = &failed else { panic!("{failed:?}") };
    assert_eq!(sqlstate, "42P07");
    assert_eq!(history(&url).await, all()[..1]);
    let client = postgres::connect(&url).await;
    let row = client.query_one("SELECT to_regclass('idempotency_keys') IS NULL, to_regclass('orgs') IS NULL", &[]);
    let row = row.await.unwrap();
    assert_eq!((row.get(0), row.get(1)), (true, false));
    execute(&url, "DROP TABLE orders").await;
    assert_eq!(migrate(&url).await.unwrap().len(), MIGRATIONS.len() - 1);
    assert_eq!((state(&url).await, history(&url).await), (SchemaState::Current, all()));
}

/// The tables of a migration and its row of history come together or not at all.
#[tokio::test]
async fn a_migration_whose_history_cannot_be_written_is_undone() {
    let url = postgres::empty_database().await;
    execute(&url, sql::MIGRATION_CREATE_TABLE.text).await;
    execute(&url, "ALTER TABLE schema_migrations ADD CONSTRAINT first_only CHECK (version < 2)").await;
    let failed = migrate(&url).await.unwrap_err();
    assert!(matches!(&failed, MigrateError::Database(DbError::Refused { sqlstate, .. }) if sqlstate == "23514"));
    assert_eq!(history(&url).await, all()[..1]);
    let client = postgres::connect(&url).await;
    let row = client.query_one("SELECT to_regclass('orders') IS NULL AND to_regclass('idempotency_keys') IS NULL", &[]);
    assert!(row.await.unwrap().get::<_, bool>(0));
    execute(&url, "ALTER TABLE schema_migrations DROP CONSTRAINT first_only").await;
    assert_eq!(migrate(&url).await.unwrap().len(), MIGRATIONS.len() - 1);
}

#[tokio::test]
async fn a_database_that_is_not_there_is_an_error_and_not_a_state() {
    let url = SecretString::from("postgres://nobody@127.0.0.1:1/nothing?sslmode=disable");
    let app = startup::app(&url, 1, Clock::System, payments::settings()).unwrap();
    assert!(matches!(app.db.schema_state(Deadline::of_request()).await, Err(DbError::Unavailable { .. })));
    assert!(matches!(migrate(&url).await, Err(MigrateError::Database(DbError::Unavailable { .. }))));
    let no_url = SecretString::from("not a url");
    assert!(matches!(migrate(&no_url).await, Err(MigrateError::Setup(_))));
}
