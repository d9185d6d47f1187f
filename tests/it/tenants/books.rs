//! Everything that an organisation has, read past the program: its rows, and what happened at its gateway and its partners.

use super::filled::Filled;
use crate::support::app::TestApp;
use ichido::domain::ids::OrgId;
use serde_json::Value;
use std::collections::BTreeSet;
use tokio_postgres::Client;

/// Tables of nobody's.
const OF_NOBODY: [&str; 1] = ["schema_migrations"];
/// Shorter texts turn up by chance.
const TELLING: usize = 10;

/// Its books at one moment.
#[derive(Debug, PartialEq, Eq)]
pub struct Books {
    /// Each row as text, with its table. What was refused unsigned is left out: anybody may deliver that.
    pub rows: Vec<String>,
    /// What its gateway and its partners did.
    pub effects: Vec<String>,
}

impl Books {
    /// What is only in one of the two.
    pub fn changes(&self, after: &Self) -> Vec<String> {
        let all = |books: &Self| -> BTreeSet<String> { books.rows.iter().chain(&books.effects).cloned().collect() };
        let (before, after) = (all(self), all(after));
        let changed = before.symmetric_difference(&after);
        changed.map(|row| format!("{}: {row}", if before.contains(row) { "gone" } else { "new" })).collect()
    }
}

/// Opens the books of an organisation, which has to have a row in every table.
pub async fn books(app: &TestApp, of: &Filled) -> Books {
    let sql = app.sql().await;
    let mut rows = Vec::new();
    for table in tables(&sql).await {
        let kept = if table == "receipts" { "AND signature = 'valid'" } else { "" };
        // When a key was last used is noted some time after it was.
        let query = format!(
            "SELECT (to_jsonb(t) - 'last_used_at')::text FROM {table} AS t WHERE org_id = $1 {kept} ORDER BY 1"
        );
        let found = sql.query(&query, &[&of.org.id.0]).await.unwrap();
        assert!(!found.is_empty(), "nothing of {table} is tried: fill it, too");
        rows.extend(found.iter().map(|row| format!("{table} {}", row.get::<_, &str>(0))));
    }
    let client = reqwest::Client::new();
    let told = client.get(format!("{}/effects", of.world.base)).send().await.unwrap().json::<Value>().await.unwrap();
    let effects = told["effects"].as_array().unwrap().iter().map(ToString::to_string).collect();
    Books { rows, effects }
}

/// Everything in an organisation's rows by which one could tell that they are there: ids, keys, references and other texts with a
/// digit or a hyphen in them, as far as no other organisation has the same.
pub async fn telling(app: &TestApp, of: OrgId) -> BTreeSet<String> {
    let sql = app.sql().await;
    let (mut own, mut others) = (BTreeSet::new(), BTreeSet::new());
    for table in tables(&sql).await {
        for row in sql.query(&format!("SELECT org_id, to_jsonb(t) - 'org_id' FROM {table} AS t"), &[]).await.unwrap() {
            let into = if row.get::<_, i64>(0) == of.0 { &mut own } else { &mut others };
            texts(&row.get(1), into);
        }
    }
    own.retain(|text| !others.contains(text));
    own
}

async fn tables(sql: &Client) -> Vec<String> {
    let query = "SELECT c.relname::text, a.attname IS NOT NULL FROM pg_class AS c
        LEFT JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attname = 'org_id'
        WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace ORDER BY 1";
    let found = sql.query(query, &[]).await.unwrap();
    let (of_tenants, others): (Vec<_>, Vec<_>) = found.iter().partition(|row| row.get::<_, bool>(1));
    let others: Vec<_> = others.iter().map(|row| row.get::<_, &str>(0)).collect();
    assert_eq!(others, OF_NOBODY, "tables without an organisation");
    of_tenants.iter().map(|row| row.get(0)).collect()
}

/// Texts below a value that are long enough and no plain word, moment or number.
fn texts(value: &Value, into: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            members.iter().filter(|(name, _)| !is_moment(name)).for_each(|(_, it)| texts(it, into));
        }
        Value::Array(items) => items.iter().for_each(|item| texts(item, into)),
        Value::String(text)
            if text.len() >= TELLING && text.bytes().any(|byte| byte.is_ascii_digit() || byte == b'-') =>
        {
            into.insert(text.clone());
        }
        _ => {}
    }
}

fn is_moment(name: &str) -> bool {
    name.ends_with("_at") || ["at", "deadline", "lease_until", "provider_time"].contains(&name)
}
