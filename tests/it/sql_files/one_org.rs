//! Tenants are kept apart by reading: a statement names exactly one organisation, or says why it does not.
//!
//! The rule, for every statement that is not marked `-- exempt:`:
//!
//! 1. Its comment begins the list of parameters with `$1 org_id`.
//! 2. Each part of it (the whole, or what a pair of parentheses holds) that reads, changes or locks a table of tenants
//!    has `org_id = $1` in that same part; where it uses two such tables, one for each, with the table's name.
//! 3. Each row that it inserts into a table of tenants has `org_id` as its first column, and as its value `$1` or the
//!    `org_id` of a part that obeys the rule.
//! 4. `org_id` is compared with nothing else and never changed, and `$1` is used for nothing else.
//!
//! A table of tenants is one that has a column `org_id`; new ones are covered by themselves.

use crate::sql_files::{exemption, header};
use crate::support::postgres;
use ichido::db::sql::ALL;

#[tokio::test]
async fn every_statement_names_one_organisation_or_says_why_not() {
    let tables = tenant_tables().await;
    assert!(tables.iter().any(|table| table == "orders"), "{tables:?}");
    for statement in ALL {
        let fault = fault(statement.text, &tables);
        match exemption(statement.text) {
            None => assert_eq!(fault, None, "{}", statement.name),
            Some(_) => assert!(fault.is_some(), "{} obeys the rule: take the exemption away", statement.name),
        }
    }
}

#[tokio::test]
async fn what_is_exempt_changes_and_locks_no_row_of_a_tenant() {
    let tables = tenant_tables().await;
    for statement in ALL.iter().filter(|statement| exemption(statement.text).is_some()) {
        let tokens = tokens(statement.text);
        let about_tenants = tokens.iter().any(|token| tables.contains(token));
        let changing = tokens.iter().find(|token| ["update", "delete", "share", "lock"].contains(&token.as_str()));
        assert!(!about_tenants || changing.is_none(), "{}: {changing:?}", statement.name);
    }
}

async fn tenant_tables() -> Vec<String> {
    let client = postgres::connect(&postgres::database().await).await;
    let query = "SELECT table_name::text FROM information_schema.columns WHERE column_name = 'org_id'";
    client.query(query, &[]).await.unwrap().iter().map(|row| row.get(0)).collect()
}

/// Which part of the rule a statement breaks.
fn fault(sql: &str, tables: &[String]) -> Option<String> {
    if !header(sql).join(" ").contains("$1 org_id") {
        return Some("the comment does not name $1 org_id".to_owned());
    }
    let tokens = tokens(sql);
    let reading = blocks(&tokens).iter().find_map(|block| fault_of_block(block, tables));
    reading.or_else(|| fault_of_inserts(&tokens, tables)).or_else(|| fault_of_uses(&tokens))
}

/// Point 2 for one part.
fn fault_of_block(block: &[&str], tables: &[String]) -> Option<String> {
    let used: Vec<_> = block
        .windows(2)
        .filter(|pair| ["from", "join", "update", "using", ","].contains(&pair[0]))
        .map(|pair| pair[1])
        .filter(|table| tables.iter().any(|known| known == table))
        .collect();
    let bound = |table: &str| {
        let plain = has(block, &["org_id", "=", "$1"]) && !has(block, &[".", "org_id", "=", "$1"]);
        (plain && used.len() == 1) || has(block, &[table, ".", "org_id", "=", "$1"])
    };
    used.iter().find(|table| !bound(table)).map(|table| format!("{table} is used without its org_id = $1"))
}

/// Point 3.
fn fault_of_inserts(tokens: &[String], tables: &[String]) -> Option<String> {
    let tokens: Vec<_> = tokens.iter().map(String::as_str).collect();
    for (at, pair) in tokens.windows(2).enumerate() {
        let [into, table] = pair else { continue };
        if *into != "into" || !tables.iter().any(|known| known == table) {
            continue;
        }
        let columns = &tokens[at + 2..];
        let values = columns.iter().position(|token| *token == ")").map(|end| &columns[end + 1..]);
        let first = values.unwrap_or_default().iter().filter(|token| **token != "(").nth(1);
        if !columns.starts_with(&["(", "org_id"]) || !matches!(first, Some(&"$1" | &"org_id")) {
            return Some(format!("the first value of a row for {table} is not its org_id"));
        }
    }
    None
}

/// Point 4.
fn fault_of_uses(tokens: &[String]) -> Option<String> {
    for (at, token) in tokens.iter().enumerate() {
        let around = |from: usize| tokens.get(from).map(String::as_str).unwrap_or_default();
        let before = if at == 0 { "" } else { around(at - 1) };
        if token == "org_id" && around(at + 1) == "=" && ["set", ","].contains(&before) {
            return Some("org_id is changed".to_owned());
        }
        let compared = ["=", "<", ">", "!", "in", "is", "between", "like"].contains(&around(at + 1));
        if token == "org_id" && compared && (around(at + 1), around(at + 2)) != ("=", "$1") {
            return Some(format!("org_id is compared with {}", around(at + 2)));
        }
        // After `=` behind org_id, or the first of the values to insert.
        let of_org = before == "=" && at > 1 && around(at - 2) == "org_id";
        if token == "$1" && !of_org && !matches!(before, "select" | "(") {
            return Some(format!("$1 is used behind {before}"));
        }
    }
    None
}

fn has(block: &[&str], sequence: &[&str]) -> bool {
    block.windows(sequence.len()).any(|window| window == sequence)
}

/// The whole, and what each pair of parentheses holds, each without the parts inside it.
fn blocks(tokens: &[String]) -> Vec<Vec<&str>> {
    let (mut open, mut done) = (vec![Vec::new()], Vec::new());
    for token in tokens {
        match token.as_str() {
            "(" => open.push(Vec::new()),
            ")" => done.extend(open.pop()),
            word => open.last_mut().unwrap().push(word),
        }
    }
    done.extend(open);
    done
}

/// Names, numbers, parameters and single marks, in lower case; without comments, the contents of strings, and casts.
fn tokens(sql: &str) -> Vec<String> {
    let code: String = sql.lines().map(|line| line.split("--").next().unwrap().to_lowercase() + "\n").collect();
    let outside: String = code.split('\'').step_by(2).collect::<Vec<_>>().join(" '' ");
    let mut tokens: Vec<String> = Vec::new();
    let mut joined = false;
    for c in outside.chars() {
        let word = c.is_alphanumeric() || c == '_' || c == '$';
        match tokens.last_mut() {
            Some(last) if word && joined => last.push(c),
            _ if !c.is_whitespace() => tokens.push(c.to_string()),
            _ => {}
        }
        joined = word;
    }
    while let Some(at) = tokens.windows(2).position(|pair| pair == [":", ":"]) {
        tokens.drain(at..at + 3);
    }
    tokens
}

#[test]
fn the_rule_finds_what_breaks_it() {
    let tables = ["orders".to_owned(), "keys".to_owned()];
    let check = |sql: &str| fault(&format!("-- What. org_id = $1\n-- $1 org_id\n{sql}"), &tables);
    for good in [
        "SELECT x FROM orders WHERE org_id = $1 AND y = $2",
        "SELECT x FROM orders JOIN keys ON keys.org_id = $1 WHERE orders.org_id = $1",
        "WITH a AS (INSERT INTO keys (org_id, x) SELECT $1::bigint, $2::text[] RETURNING org_id) \
         INSERT INTO orders (org_id, x) SELECT org_id, $2 FROM a",
        "INSERT INTO orders (org_id, x) VALUES ($1, $2)",
        "WITH due AS (SELECT x FROM keys WHERE org_id = $1 FOR UPDATE) DELETE FROM keys USING due WHERE keys.org_id = $1",
    ] {
        assert_eq!(check(good), None, "{good}");
    }
    for bad in [
        "SELECT x FROM orders WHERE y = $2",
        "SELECT x FROM orders WHERE y = 'org_id = $1'",
        "SELECT x FROM orders -- WHERE org_id = $1",
        "SELECT x FROM orders WHERE org_id = $2",
        "SELECT x FROM orders WHERE org_id = ANY($1)",
        "SELECT x FROM orders WHERE org_id = $1 OR org_id > $2",
        "SELECT x FROM orders WHERE org_id = $1 AND y = $1",
        "SELECT x FROM orders JOIN keys ON keys.x = orders.x WHERE orders.org_id = $1",
        "SELECT x FROM orders, keys WHERE orders.org_id = $1",
        "SELECT x FROM orders WHERE EXISTS (SELECT FROM keys WHERE keys.x = orders.x AND org_id = $1)",
        "DELETE FROM keys USING due WHERE keys.x = due.x",
        "UPDATE orders SET org_id = $1 WHERE org_id = $1",
        "UPDATE orders SET x = $2, org_id = $1 WHERE org_id = $1",
        "INSERT INTO orders (x, org_id) VALUES ($2, $1)",
        "INSERT INTO orders (org_id, x) VALUES ($2, $1)",
        "INSERT INTO orders SELECT $1",
    ] {
        assert!(check(bad).is_some(), "{bad}");
    }
    assert!(fault("-- What.\nSELECT 1", &tables).is_some());
}
