//! The schema: what it is (`sql/schema.sql`), that tenants cannot meet in it, and how a database gets there.

mod dump;
mod migrations;

use crate::house_rules::source::root;
use crate::support::postgres;
use dump::{difference, dump};
use std::fs;
use tokio_postgres::Client;

const GOLDEN: &str = "sql/schema.sql";

#[tokio::test]
async fn the_migrations_make_the_schema_of_the_golden_file() {
    let client = postgres::connect(&postgres::database().await).await;
    let found = dump(&client).await;
    let path = root().join(GOLDEN);
    if std::env::var("UPDATE_GOLDEN").is_ok_and(|value| value == "1") {
        fs::write(&path, &found).unwrap();
    }
    let golden = fs::read_to_string(&path).unwrap();
    assert!(
        golden == found,
        "the migrations make another schema than {GOLDEN} (-) says (+ is in the database). If that is meant: \
         UPDATE_GOLDEN=1 cargo test --test it schema\n{}",
        difference(&golden, &found)
    );
}

#[tokio::test]
async fn the_golden_file_is_sql_that_makes_the_same_schema() {
    let client = postgres::connect(&postgres::empty_database().await).await;
    let golden = fs::read_to_string(root().join(GOLDEN)).unwrap();
    client.batch_execute(&golden).await.unwrap();
    let found = dump(&client).await;
    assert!(golden == found, "{}", difference(&golden, &found));
}

#[tokio::test]
async fn the_dump_sees_every_kind_of_change() {
    let client = postgres::connect(&postgres::database().await).await;
    let mut before = dump(&client).await;
    for change in [
        "ALTER TABLE orders ADD COLUMN x text",
        "ALTER TABLE orders ALTER x TYPE varchar(9)",
        "ALTER TABLE orders ALTER x SET DEFAULT 'y'",
        "ALTER TABLE orders ALTER version DROP NOT NULL",
        "ALTER TABLE orders ALTER customer_reference TYPE text COLLATE \"C\"",
        "ALTER TABLE orders DROP CONSTRAINT orders_amount_check",
        "CREATE INDEX x ON orders (org_id, amount) WHERE amount > 0",
        "ALTER TABLE api_keys DROP CONSTRAINT api_keys_org_id_fkey",
        "ALTER TABLE orgs ALTER org_id DROP IDENTITY",
        "ALTER TABLE journal DROP CONSTRAINT journal_pkey",
        "DROP TABLE api_keys",
    ] {
        client.batch_execute(change).await.unwrap();
        let after = dump(&client).await;
        assert!(before != after, "not seen: {change}");
        assert!(difference(&before, &after).contains(['-', '+']), "{change}");
        before = after;
    }
}

/// Tables that belong to no organisation, each with its reason.
const SHARED: &[(&str, &str)] = &[("schema_migrations", "the history of the schema, not of a tenant")];

/// The unique indexes of all tables: table, index, whether it is the primary key, and its columns.
async fn unique_indexes(client: &Client) -> Vec<(String, String, bool, Vec<String>)> {
    let query = "SELECT i.indrelid::regclass::text, i.indexrelid::regclass::text, i.indisprimary,
            ARRAY(SELECT pg_get_indexdef(i.indexrelid, n, true) FROM generate_series(1, i.indnkeyatts) n)
        FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
        WHERE i.indisunique AND c.relnamespace = 'public'::regnamespace";
    let rows = client.query(query, &[]).await.unwrap();
    rows.iter().map(|row| (row.get(0), row.get(1), row.get(2), row.get(3))).collect()
}

#[tokio::test]
async fn every_key_contains_org_id_and_primary_keys_begin_with_it() {
    let client = postgres::connect(&postgres::database().await).await;
    let indexes = unique_indexes(&client).await;
    assert!(indexes.len() >= 6, "{indexes:?}");
    for (table, index, primary, columns) in &indexes {
        if SHARED.iter().any(|(shared, _)| shared == table) {
            continue;
        }
        assert!(columns.iter().any(|column| column == "org_id"), "{index} lets tenants collide: {columns:?}");
        assert!(!primary || columns[0] == "org_id", "{index} does not begin with org_id: {columns:?}");
    }
    let tables = "SELECT c.relname::text FROM pg_class c WHERE c.relkind IN ('r', 'p')
        AND c.relnamespace = 'public'::regnamespace
        AND NOT EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary)";
    assert!(client.query(tables, &[]).await.unwrap().is_empty(), "a table without a primary key");
    for (shared, _) in SHARED {
        assert!(indexes.iter().any(|(table, ..)| table == shared), "{shared} is gone: take it from the list");
    }
}

#[tokio::test]
async fn a_foreign_key_stays_within_the_organisation() {
    let client = postgres::connect(&postgres::database().await).await;
    let query = "SELECT f.conname::text, EXISTS (
            SELECT FROM unnest(f.conkey, f.confkey) AS pair (here, there)
            JOIN pg_attribute h ON h.attrelid = f.conrelid AND h.attnum = pair.here
            JOIN pg_attribute t ON t.attrelid = f.confrelid AND t.attnum = pair.there
            WHERE h.attname = 'org_id' AND t.attname = 'org_id')
        FROM pg_constraint f WHERE f.contype = 'f' AND f.connamespace = 'public'::regnamespace";
    let keys = client.query(query, &[]).await.unwrap();
    assert!(!keys.is_empty());
    for row in keys {
        let (name, within): (String, bool) = (row.get(0), row.get(1));
        assert!(within, "{name} does not carry org_id to org_id");
    }
}

/// What happens is written in the statements, not behind them; and Citus has no triggers on distributed tables.
#[tokio::test]
async fn nothing_happens_behind_a_statement() {
    let client = postgres::connect(&postgres::database().await).await;
    let query = "SELECT
            (SELECT count(*) FROM pg_trigger WHERE NOT tgisinternal),
            (SELECT count(*) FROM pg_proc WHERE pronamespace = 'public'::regnamespace),
            (SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('v', 'm', 'f')),
            (SELECT count(*) FROM pg_rewrite r JOIN pg_class c ON c.oid = r.ev_class
                WHERE c.relnamespace = 'public'::regnamespace),
            (SELECT count(*) FROM pg_constraint WHERE contype = 'f' AND confdeltype <> 'a')";
    let row = client.query_one(query, &[]).await.unwrap();
    let counts: Vec<i64> = (0..row.len()).map(|at| row.get(at)).collect();
    assert_eq!(counts, [0, 0, 0, 0, 0], "triggers, functions, views, rules, cascades");
}
