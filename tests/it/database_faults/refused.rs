//! The database answers, with an error.

use super::{Faulty, assert_not_executed};
use crate::support::app::order_body;
use crate::support::postgres;
use crate::support::wait::until_somebody_waits_for;
use ichido::db::error::DbError;
use ichido::db::tx::run_tx;

/// A trigger that refuses the first `times` orders with this SQLSTATE. A sequence is not rolled back, so it counts.
fn refusing(sqlstate: &str, times: u32) -> String {
    format!(
        "CREATE SEQUENCE tries;
        CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            IF nextval('tries') <= {times} THEN RAISE EXCEPTION 'refused' USING ERRCODE = '{sqlstate}'; END IF;
            RETURN NEW; END $$;
        CREATE TRIGGER refuse BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION refuse()"
    )
}

#[tokio::test]
async fn deadlocks_and_serialisation_conflicts_are_tried_again() {
    for sqlstate in ["40P01", "40001"] {
        let faulty = Faulty::start(2).await;
        faulty.sql().await.batch_execute(&refusing(sqlstate, 2)).await.unwrap();
        assert_eq!(faulty.post("K").await.status, 201, "{sqlstate}");
        assert_eq!(faulty.counts().await, (1, 1));
    }
}

#[tokio::test]
async fn conflicts_without_end_are_503_not_executed() {
    let faulty = Faulty::start(2).await;
    faulty.sql().await.batch_execute(&refusing("40P01", 4)).await.unwrap();
    assert_not_executed(&faulty.post("K").await);
    assert_eq!(faulty.counts().await, (0, 0));
    assert_eq!(faulty.post("K").await.status, 201);
}

#[tokio::test]
async fn a_real_deadlock_is_resolved_and_the_order_made() {
    let faulty = Faulty::start(2).await;
    let other = faulty.sql().await;
    // The claim waits in its trigger for what the other session holds, which then waits for the claim's own key.
    let trigger = "CREATE TABLE gate (n integer); INSERT INTO gate VALUES (1);
        CREATE FUNCTION pass_gate() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN PERFORM FROM gate FOR UPDATE; RETURN NEW; END $$;
        CREATE TRIGGER pass_gate BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION pass_gate();
        SET deadlock_timeout = '1min'";
    other.batch_execute(trigger).await.unwrap();
    other.batch_execute("BEGIN; SELECT FROM gate FOR UPDATE").await.unwrap();
    let cross = async {
        until_somebody_waits_for(&other).await;
        let claim =
            "INSERT INTO idempotency_keys SELECT org_id, 'K', fingerprint_version, request_sha256, state, order_id,
            response_status, response_headers, response_body, now(), now(), NULL
            FROM idempotency_keys WHERE idempotency_key = 'warm'";
        // Waits for the service's claim, whose deadlock check fires first and undoes it.
        let _ = other.batch_execute(claim).await;
        other.batch_execute("ROLLBACK").await.unwrap();
    };
    let (answer, ()) = tokio::join!(faulty.post("K"), cross);
    assert_eq!(answer.status, 201, "{}", answer.code());
    assert_eq!(faulty.counts().await, (1, 1));
}

#[tokio::test]
async fn a_database_that_became_read_only_is_503_and_recovers_when_it_is_writable_again() {
    let faulty = Faulty::start(2).await;
    let sql = faulty.sql().await;
    let name: String = sql.query_one("SELECT current_database()", &[]).await.unwrap().get(0);
    let set = async |value: &str| {
        let text = format!("ALTER DATABASE {name} SET default_transaction_read_only = {value}");
        sql.batch_execute(&text).await.unwrap();
    };
    set("on").await;
    terminate_others(&sql).await;
    // The first ones may still find the ended connections.
    let mut last = faulty.post("K").await;
    for _ in 0..3 {
        last = faulty.post("K").await;
    }
    assert_not_executed(&last);
    sql.batch_execute("SET default_transaction_read_only = off").await.unwrap();
    set("off").await;
    assert_eq!(faulty.post("K").await.status, 201, "a connection to a read-only server is not used again");
    assert_eq!(faulty.counts().await, (1, 1));
}

/// Ends every other session of this database.
pub async fn terminate_others(sql: &tokio_postgres::Client) {
    let text = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid()";
    sql.execute(text, &[]).await.unwrap();
}

#[tokio::test]
async fn a_permanent_error_is_500_without_a_word_of_sql_and_leaves_nothing() {
    let breaks = [
        ("ALTER TABLE orders RENAME COLUMN amount TO gone", "ALTER TABLE orders RENAME COLUMN gone TO amount"),
        (
            "ALTER TABLE orders ADD CONSTRAINT small CHECK (amount < 10) NOT VALID",
            "ALTER TABLE orders DROP CONSTRAINT small",
        ),
    ];
    for (breaks, mends) in breaks {
        let faulty = Faulty::start(2).await;
        let sql = faulty.sql().await;
        sql.batch_execute(breaks).await.unwrap();
        let refused = faulty.post("K").await;
        assert_eq!((refused.status, refused.code().as_str()), (500, "internal_error"), "{breaks}");
        let text = String::from_utf8(refused.body).unwrap().to_lowercase();
        for word in ["insert", "select", "column", "constraint", "gone", "small", "amount", "cus_42", "sqlstate"] {
            assert!(!text.contains(word), "{word} in {text}");
        }
        assert_eq!(faulty.counts().await, (0, 0));
        sql.batch_execute(mends).await.unwrap();
        assert_eq!(faulty.post("K").await.status, 201);
    }
}

#[tokio::test]
async fn a_schema_that_changes_under_prepared_statements_does_not_stop_the_service() {
    let faulty = Faulty::start(1).await;
    assert_eq!(faulty.app.get("/v1/orders", "/v1/orders").await.status, 200);
    let sql = faulty.sql().await;
    // What a later migration may do: the row type of a prepared statement's result changes.
    sql.batch_execute("ALTER TABLE orders ALTER COLUMN version TYPE bigint").await.unwrap();
    sql.batch_execute("ALTER TABLE orders ALTER COLUMN version TYPE integer").await.unwrap();
    sql.batch_execute("ALTER TABLE idempotency_keys ADD COLUMN note text").await.unwrap();
    assert_eq!(faulty.post("K").await.status, 201);
    assert_eq!(faulty.app.get("/v1/orders", "/v1/orders").await.status, 200);
}

#[tokio::test]
async fn a_transaction_whose_statement_failed_is_never_reported_as_committed() {
    let mut client = postgres::connect(&postgres::database().await).await;
    client.batch_execute("CREATE TABLE t (n integer)").await.unwrap();
    let swallowed = run_tx(&mut client, async |transaction| {
        transaction.batch_execute("INSERT INTO t VALUES (1)").await.unwrap();
        // The fault: an error that nobody hands on. PostgreSQL then answers COMMIT with ROLLBACK.
        let _ = transaction.batch_execute("SELECT 1 / 0").await;
        Ok::<_, DbError>(())
    });
    assert!(swallowed.await.is_err());
    let handed_on = run_tx(&mut client, async |transaction| {
        transaction.batch_execute("INSERT INTO t VALUES (1)").await.map_err(|error| DbError::running(&error))?;
        Err::<(), _>(DbError::Decode { column: "n" })
    });
    assert_eq!(handed_on.await, Err(DbError::Decode { column: "n" }));
    assert_eq!(client.query_one("SELECT count(*) FROM t", &[]).await.unwrap().get::<_, i64>(0), 0);
    let good = run_tx(&mut client, async |transaction| {
        transaction.batch_execute("INSERT INTO t VALUES (1)").await.map_err(|error| DbError::running(&error))
    });
    good.await.unwrap();
    assert_eq!(client.query_one("SELECT count(*) FROM t", &[]).await.unwrap().get::<_, i64>(0), 1);
}

#[tokio::test]
async fn a_commit_that_the_server_refuses_is_an_error() {
    let mut client = postgres::connect(&postgres::database().await).await;
    let table = "CREATE TABLE t (n integer UNIQUE DEFERRABLE INITIALLY DEFERRED)";
    client.batch_execute(table).await.unwrap();
    let doubled = run_tx(&mut client, async |transaction| {
        transaction.batch_execute("INSERT INTO t VALUES (1), (1)").await.map_err(|error| DbError::running(&error))
    });
    assert!(doubled.await.unwrap_err().is_unique_violation());
}

#[tokio::test]
async fn the_order_of_a_refused_claim_is_not_there_to_read() {
    let faulty = Faulty::start(2).await;
    faulty.sql().await.batch_execute(&refusing("23514", 1)).await.unwrap();
    assert_eq!(faulty.app.post("K", &order_body()).await.status, 500);
    let known = faulty.app.get("/v1/idempotency-keys/K", "/v1/idempotency-keys/{idempotency_key}").await;
    assert_eq!(known.status, 404);
    assert_eq!(faulty.post("K").await.status, 201);
}
