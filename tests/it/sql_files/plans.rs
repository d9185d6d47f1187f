//! The hot statements read as much as they give, by an index and without a sort, on tables of 20,000 rows. Plans are the
//! generic ones: those that a prepared statement ends up with, in a session like the program's.

use crate::house_rules::source::root;
use crate::support::postgres;
use ichido::db::sql::{self, Statement};
use ichido::domain::order::OrderStatus;
use serde_json::Value;
use std::fs;
use tokio_postgres::Client;

/// 2,000 organisations, of which 1 to 4 have 5,000 orders and 5,000 keys each, the keys of 1 and 2 half of them expired. A fifth of an
/// organisation's orders are of one customer, the others have few.
const FILL: &str = "
    INSERT INTO orgs (name, mode, on_mismatch, replay_status)
    SELECT 'org', 'test', 'reject', '200' FROM generate_series(1, 2000);
    INSERT INTO api_keys (org_id, key_id, secret_sha256, scopes)
    SELECT 1 + n % 2000, 'key' || n, sha256(n::text::bytea), '{orders:write}' FROM generate_series(1, 20000) n;
    INSERT INTO orders
        (org_id, order_id, order_reference, customer_reference, currency, amount, status, needs_reconciliation, request,
        created_at, updated_at)
    SELECT 1 + n % 4, lpad(to_hex(n), 32, '0')::uuid, 'PO-' || n, CASE WHEN n % 20 < 4 THEN 'guest' ELSE 'cus_' || n % 500 END, 'JPY', n,
        (ARRAY['received', 'confirmed', 'cancelled'])[1 + n / 4 % 3], n / 4 % 50 = 0, '{}', now(), now()
    FROM generate_series(1, 20000) n;
    INSERT INTO idempotency_keys
        (org_id, idempotency_key, fingerprint_version, request_sha256, state, order_id, response_status,
        response_headers, response_body, created_at, completed_at, expires_at)
    SELECT 1 + n % 4, 'key-' || n, 1, sha256(n::text::bytea), 'completed', lpad(to_hex(n), 32, '0')::uuid, 201,
        '{}', '', now(), now(), CASE WHEN n % 4 < 2 THEN now() + (n - 10000) * interval '1 minute' END
    FROM generate_series(1, 20000) n;
    ANALYZE";

/// A settled charge of every order, ten that are due, ten that are not, and a resolved case of every tenth.
pub(super) const FILL_PAYMENTS: &str = "
    INSERT INTO payments (org_id, order_id, attempt, provider, amount, currency, state, created_at, updated_at)
    SELECT org_id, order_id, 1, 'stripe', amount, currency, 'succeeded', now(), now() FROM orders;
    INSERT INTO operations (org_id, order_id, kind, fact, state, operation_key, next_attempt_at, deadline_at, created_at, updated_at)
    SELECT org_id, order_id, 'charge', '1',
        CASE WHEN amount % 1000 < 2 THEN 'unknown' ELSE 'done' END, 'k-' || amount,
        CASE WHEN amount % 1000 < 2 THEN now() + (amount % 1000 * 2 - 1) * interval '1 hour' END, now(), now(), now()
    FROM orders;
    INSERT INTO reconciliation_cases (org_id, case_id, order_id, kind, fact, reason, state, owner, corrector, suggestion,
        evidence, opened_at, deadline, decision, decided_by, resolved_at)
    SELECT org_id, order_id, order_id, 'charge', '1', 'not_found', CASE WHEN amount % 1000 = 0 THEN 'open' ELSE 'resolved' END,
        '', '', '', '{}', now(), now(), CASE WHEN amount % 1000 <> 0 THEN 'settled' END,
        CASE WHEN amount % 1000 <> 0 THEN 'evidence' END, CASE WHEN amount % 1000 <> 0 THEN now() END
    FROM orders WHERE amount % 10 = 0;
    ANALYZE";

pub(super) const NO_CURSOR: &str = "'ffffffff-ffff-ffff-ffff-ffffffffffff'";
/// The id of the 10,000th order.
const CURSOR: &str = "'00000000-0000-0000-0000-000000002710'";

pub(super) async fn filled() -> Client {
    let client = postgres::connect(&postgres::database().await).await;
    client.batch_execute(FILL).await.unwrap();
    client.batch_execute(&fs::read_to_string(root().join("sql/session.sql")).unwrap()).await.unwrap();
    // Tables are filled by statements that nobody waits for.
    client.batch_execute("SET plan_cache_mode = force_generic_plan; SET statement_timeout = '60s'").await.unwrap();
    client
}

/// The nodes of the plan with which a statement really ran; what it changed is undone.
pub(super) async fn plan(client: &Client, statement: &Statement, values: &str) -> Vec<Value> {
    let prepare = format!("BEGIN; PREPARE s AS {}", statement.text);
    client.batch_execute(&prepare).await.unwrap_or_else(|error| panic!("{}: {error:?}", statement.name));
    let values = if values.is_empty() { String::new() } else { format!("({values})") };
    let explain = format!("EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE s{values}");
    let row = client.query_one(&explain, &[]).await.unwrap_or_else(|error| panic!("{}: {error:?}", statement.name));
    client.batch_execute("ROLLBACK; DEALLOCATE s").await.unwrap();
    let mut nodes = Vec::new();
    collect(&row.get::<_, Value>(0)[0]["Plan"], &mut nodes);
    nodes
}

fn collect(node: &Value, nodes: &mut Vec<Value>) {
    nodes.push(node.clone());
    for child in node["Plans"].as_array().into_iter().flatten() {
        collect(child, nodes);
    }
}

/// A plan in few words, a line for each node.
pub(super) fn told(nodes: &[Value]) -> String {
    let names = ["Node Type", "Relation Name", "Index Name", "Actual Rows", "Actual Loops", "Rows Removed by Filter"];
    let line = |node: &Value| {
        names.iter().filter(|name| !node[**name].is_null()).map(|name| node[*name].to_string() + " ").collect()
    };
    nodes.iter().map(line).collect::<Vec<String>>().join("\n")
}

fn uses(nodes: &[Value], kind: &str) -> bool {
    nodes.iter().any(|node| node["Node Type"] == kind)
}

/// A table with 20,000 rows that a plan reads from end to end.
pub(super) fn read_whole(nodes: &[Value]) -> Option<&Value> {
    let large = |node: &&Value| {
        ["orders", "idempotency_keys", "api_keys", "receipts", "events", "event_aliases"]
            .iter()
            .any(|table| node["Relation Name"] == *table)
    };
    nodes.iter().find(|node| node["Node Type"] == "Seq Scan" && large(node))
}

/// Rows that were looked at in tables and indexes, those that a filter then refused included.
pub(super) fn rows_read(nodes: &[Value]) -> f64 {
    let number = |node: &Value, name: &str| node[name].as_f64().unwrap_or_default();
    let scans = nodes.iter().filter(|node| node["Node Type"].as_str().unwrap().contains("Scan"));
    let tables = scans.filter(|node| !node["Relation Name"].is_null() || !node["Index Name"].is_null());
    let rows = |node: &Value| {
        let each = ["Actual Rows", "Rows Removed by Filter", "Rows Removed by Index Recheck"];
        each.iter().map(|name| number(node, name)).sum::<f64>() * number(node, "Actual Loops")
    };
    tables.map(rows).sum()
}

#[tokio::test]
async fn lists_read_one_page_by_an_index_and_sort_nothing() {
    let client = filled().await;
    let cases = [
        (&sql::ORDER_LIST, "NULL, NULL", 20.0),
        (&sql::ORDER_LIST_BY_STATUS, "'confirmed', NULL", 20.0),
        (&sql::ORDER_LIST_TO_RECONCILE, "NULL, NULL", 20.0),
        (&sql::ORDER_LIST_BY_REFERENCE, "NULL, NULL, NULL, 'PO-8'", 1.0),
    ];
    for cursor in [NO_CURSOR, CURSOR] {
        for (statement, filters, rows) in cases {
            let nodes = plan(&client, statement, &format!("1, {cursor}, 20, {filters}")).await;
            assert!(read_whole(&nodes).is_none() && !uses(&nodes, "Sort"), "{}: {}", statement.name, told(&nodes));
            let (read, given) = (rows_read(&nodes), nodes[0]["Actual Rows"].as_f64().unwrap());
            assert!(read <= rows && given <= rows, "{} read {read} rows: {}", statement.name, told(&nodes));
            // A page is full, so that a plan which finds nothing does not pass.
            assert!(cursor == CURSOR || (given - rows).abs() < 0.5, "{} gave {given} rows", statement.name);
        }
    }
}

#[tokio::test]
async fn a_customers_list_reads_at_most_one_page_of_each_status() {
    let client = filled().await;
    let every = format!("ARRAY['{}']", OrderStatus::ALL.join("', '"));
    for cursor in [NO_CURSOR, CURSOR] {
        for (statuses, customer) in [(every.as_str(), "cus_8"), (&every, "guest"), ("ARRAY['confirmed']", "guest")] {
            let values = format!("1, {cursor}, 20, {statuses}, NULL, '{customer}'");
            let nodes = plan(&client, &sql::ORDER_LIST_BY_CUSTOMER, &values).await;
            assert!(read_whole(&nodes).is_none(), "{}", told(&nodes));
            let pages = if statuses == every { OrderStatus::ALL.len() } else { 1 };
            let most = 20.0 * f64::from(u8::try_from(pages).unwrap());
            assert!(rows_read(&nodes) <= most, "{customer}: {}", told(&nodes));
            let given = nodes[0]["Actual Rows"].as_f64().unwrap();
            assert!(given <= 20.0 && (cursor == CURSOR || given > 19.5), "{customer}: {}", told(&nodes));
        }
    }
}

#[tokio::test]
async fn an_organisation_whose_keys_have_all_expired_is_found_by_one_of_them() {
    let client = filled().await;
    let fill = "DELETE FROM api_keys;
        DELETE FROM orgs WHERE org_id > 2;
        UPDATE idempotency_keys SET expires_at = now() - interval '1 hour';
        UPDATE idempotency_keys SET org_id = 1 WHERE org_id > 1";
    for statement in fill.split(';').chain(["VACUUM ANALYZE"]) {
        client.batch_execute(statement).await.unwrap();
    }
    let nodes = plan(&client, &sql::KEY_ORGS_WITH_EXPIRED, "").await;
    let given = nodes[0]["Actual Rows"].as_f64().unwrap();
    assert!((given - 1.0).abs() < 0.5 && rows_read(&nodes) <= 3.0, "{}", told(&nodes));
}

#[tokio::test]
async fn one_thing_is_found_by_an_index() {
    let client = filled().await;
    let order_id = "'00000000-0000-0000-0000-000000000008'";
    let cases = [
        (&sql::KEY_FIND, "1, 'key-8'".to_owned()),
        (&sql::ORDER_GET, format!("1, {order_id}")),
        (&sql::KEY_REQUEST_OF, "1, 'key-8'".to_owned()),
        (&sql::ORDER_FIND_BY_REFERENCE, "1, 'PO-8'".to_owned()),
        (&sql::API_KEY_FIND, "'key8'".to_owned()),
        (&sql::API_KEY_TOUCH, "9, 'key8', now()".to_owned()),
        (&sql::API_KEY_REVOKE, "9, 'key8'".to_owned()),
    ];
    for (statement, values) in cases {
        let nodes = plan(&client, statement, &values).await;
        assert!(read_whole(&nodes).is_none(), "{}: {}", statement.name, told(&nodes));
        let scanned: f64 = rows_read(&nodes);
        // The row itself, and its organisation where that is joined.
        assert!((1.0..=2.0).contains(&scanned), "{} read {scanned} rows: {}", statement.name, told(&nodes));
    }
}

#[tokio::test]
async fn the_claim_looks_a_reference_up_by_its_index() {
    let client = filled().await;
    for (reference, placed) in [("'PO-8'", 0.0), ("'PO-new'", 1.0), ("NULL", 1.0)] {
        let values = format!(
            "1, 'new', 1::smallint, '\\x00', '00000000-0000-7000-0000-00000000000a', 201::smallint, '{{}}', '', NULL, \
             {reference}, 'cus_1', 'JPY', 1, 'received', '{{}}', now()"
        );
        let nodes = plan(&client, &sql::CLAIM_WITH_ORDER, &values).await;
        assert!(read_whole(&nodes).is_none() && rows_read(&nodes) <= 1.0, "{}", told(&nodes));
        assert!((nodes[0]["Actual Rows"].as_f64().unwrap() - placed).abs() < 0.5, "{reference}: {}", told(&nodes));
    }
}

#[tokio::test]
async fn clean_up_reads_what_it_removes() {
    let client = filled().await;
    let nodes = plan(&client, &sql::KEY_DELETE_EXPIRED, "1, 50").await;
    assert!(read_whole(&nodes).is_none() && !uses(&nodes, "Sort"), "{}", told(&nodes));
    // Once to choose and lock it, once to remove it.
    assert!((50.0..=100.0).contains(&rows_read(&nodes)), "{}", told(&nodes));
    let nodes = plan(&client, &sql::KEY_ORGS_WITH_EXPIRED, "").await;
    assert!(read_whole(&nodes).is_none(), "{}", told(&nodes));
    // Two have expired keys; each of the 2,000 is read and its index probed.
    assert!((nodes[0]["Actual Rows"].as_f64().unwrap() - 2.0).abs() < 0.5, "{}", told(&nodes));
    assert!(rows_read(&nodes) <= 2_010.0, "{}", told(&nodes));
}

#[tokio::test]
async fn lists_of_effects_read_one_page_by_an_index_and_sort_nothing() {
    let client = filled().await;
    client.batch_execute(FILL_PAYMENTS).await.unwrap();
    client
        .batch_execute("UPDATE operations SET kind = 'refund' WHERE operation_key LIKE '%00'; ANALYZE")
        .await
        .unwrap();
    let order_id = "'00000000-0000-0000-0000-000000000008'";
    let cases = [
        (&sql::OPERATION_LIST, "NULL".to_owned(), 20.0),
        (&sql::OPERATION_LIST, "'done'".to_owned(), 20.0),
        (&sql::OPERATION_LIST_BY_KIND, "NULL, 'refund'".to_owned(), 20.0),
        (&sql::OPERATION_LIST_BY_KIND, "'done', 'charge'".to_owned(), 20.0),
        // Orders 1,000, 2,000 … and those after them are unknown: of organisation 1, those that 4 divides.
        (&sql::OPERATION_LIST_UNFINISHED, "'unknown', NULL".to_owned(), 20.0),
        (&sql::OPERATION_LIST_BY_ORDER, format!("NULL, NULL, {order_id}"), 1.0),
    ];
    for (statement, filters, rows) in cases {
        let nodes = plan(&client, statement, &format!("1, {NO_CURSOR}, '', '', 20, {filters}")).await;
        let whole = uses(&nodes, "Seq Scan") || uses(&nodes, "Sort");
        assert!(!whole, "{} {filters}: {}", statement.name, told(&nodes));
        let (read, given) = (rows_read(&nodes), nodes[0]["Actual Rows"].as_f64().unwrap());
        // One that another filter refuses is read as well.
        assert!(read <= rows + 2.0 && given <= rows, "{} read {read} rows: {}", statement.name, told(&nodes));
        assert!(read >= rows.min(15.0), "{} {filters} gave {given} rows", statement.name);
    }
}

#[tokio::test]
async fn a_story_is_read_by_the_order_it_is_about() {
    let client = filled().await;
    client.batch_execute(FILL_PAYMENTS).await.unwrap();
    let fill = "INSERT INTO journal (org_id, order_id, entry_id, at, actor, what, details)
        SELECT org_id, order_id, lpad(to_hex(n), 32, '0')::uuid, now(), '', '', '{}' FROM orders, generate_series(1, 5) n;
        ANALYZE";
    client.batch_execute(fill).await.unwrap();
    let order_id = "'00000000-0000-0000-0000-000000000008'";
    for (statement, rows) in [(&sql::JOURNAL_OF_ORDER, 5.0), (&sql::OPERATION_OF_ORDER, 1.0)] {
        let nodes = plan(&client, statement, &format!("1, {order_id}, 1001")).await;
        assert!(!uses(&nodes, "Seq Scan") && !uses(&nodes, "Sort"), "{}: {}", statement.name, told(&nodes));
        assert!((rows_read(&nodes) - rows).abs() < 0.5, "{}: {}", statement.name, told(&nodes));
    }
}

#[tokio::test]
async fn what_the_sweep_compares_is_found_by_an_index() {
    let client = filled().await;
    client.batch_execute(FILL_PAYMENTS).await.unwrap();
    let named = "UPDATE payments SET gateway_reference = 'pi_' || amount, gateway_sha256 = '\\x00',
            created_at = now() - amount * interval '1 minute';
        UPDATE operations SET kind = 'refund', external_reference = 're_1' WHERE operation_key = 'k-12';
        VACUUM ANALYZE";
    for statement in named.split(';') {
        client.batch_execute(statement).await.unwrap();
    }
    let order_id = "'00000000-0000-0000-0000-000000000008'";
    let refund_of = "'00000000-0000-0000-0000-00000000000c'";
    let nobody = "'00000000-0000-0000-0000-000000000000'";
    let case = format!("1, {order_id}, 'charge', '1', 'not_found', '{{}}'");
    let taken = format!("1, now() - interval '30 days', {nobody}, 0, now() - interval '2 minutes', '\\x00', 20");
    let cases = [
        (&sql::PAYMENT_STANDS, format!("1, {order_id}, 1"), 2.0),
        (&sql::PAYMENT_STANDS_BY_REFERENCE, "1, 'stripe', 'pi_8'".to_owned(), 2.0),
        (&sql::OPERATION_REFUND_BY_KEY, "1, 'k-12'".to_owned(), 1.0),
        (&sql::OPERATION_REFUND_BY_REFERENCE, format!("1, {refund_of}, 're_1'"), 1.0),
        (&sql::PAYMENT_TAKEN, taken, 20.0),
        (&sql::CASE_KNOWN, case, 1.0),
    ];
    for (statement, values, most) in cases {
        let nodes = plan(&client, statement, &values).await;
        assert!(!uses(&nodes, "Seq Scan") && !uses(&nodes, "Sort"), "{}: {}", statement.name, told(&nodes));
        let read = rows_read(&nodes);
        assert!(read <= most, "{} read {read} rows: {}", statement.name, told(&nodes));
        // What finds nothing passes too easily.
        assert!(read >= most || statement.name.ends_with("known"), "{} read {read} rows", statement.name);
    }
}
