//! Something in the database is held by somebody else.

use super::{Faulty, assert_not_executed};
use crate::support::app::{TestApp, new_org, order_body};
use crate::support::wait::until_somebody_waits_for;
use futures_util::future::join_all;
use std::time::{Duration, Instant};

/// A claim of the key `K`, in a transaction that is left open: what a server does that is paused in the middle. The
/// order and the answer are those of the key `warm`.
const CLAIM_OF_K: &str = "BEGIN; INSERT INTO idempotency_keys
    SELECT org_id, 'K', fingerprint_version, request_sha256, state, order_id, response_status, response_headers,
        response_body, now(), now(), NULL
    FROM idempotency_keys WHERE idempotency_key = 'warm'";

#[tokio::test]
async fn a_locked_table_is_503_not_executed_and_the_retry_makes_the_order() {
    let faulty = Faulty::start(2).await;
    let holder = faulty.sql().await;
    for table in ["idempotency_keys", "orders"] {
        holder.batch_execute(&format!("BEGIN; LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")).await.unwrap();
        assert_not_executed(&faulty.post(table).await);
        holder.batch_execute("ROLLBACK").await.unwrap();
        assert_eq!(faulty.post(table).await.status, 201);
    }
    assert_eq!(faulty.counts().await, (2, 2));
}

#[tokio::test]
async fn a_statement_that_takes_too_long_is_503_not_executed() {
    let faulty = Faulty::start(2).await;
    let sql = faulty.sql().await;
    let slow = "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN PERFORM pg_sleep(30); RETURN NEW; END $$;
        CREATE TRIGGER slow BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION slow()";
    sql.batch_execute(slow).await.unwrap();
    assert_not_executed(&faulty.post("K").await);
    sql.batch_execute("DROP TRIGGER slow ON orders").await.unwrap();
    assert_eq!(faulty.post("K").await.status, 201);
    assert_eq!(faulty.counts().await, (1, 1));
}

#[tokio::test]
async fn an_open_claim_of_the_same_key_is_503_in_bounded_time_and_then_the_truth() {
    let faulty = Faulty::start(2).await;
    let holder = faulty.sql().await;
    holder.batch_execute(CLAIM_OF_K).await.unwrap();
    assert_not_executed(&faulty.post("K").await);
    holder.batch_execute("COMMIT").await.unwrap();
    let (retry, warm) = (faulty.post("K").await, faulty.post("warm").await);
    assert_eq!((retry.status, &retry.body), (200, &warm.body));
    assert_eq!(faulty.counts().await, (0, 1));
}

#[tokio::test]
async fn an_open_claim_that_commits_meanwhile_answers_the_waiting_request_200() {
    let faulty = Faulty::start(2).await;
    let holder = faulty.sql().await;
    holder.batch_execute(CLAIM_OF_K).await.unwrap();
    let release = async {
        until_somebody_waits_for(&holder).await;
        holder.batch_execute("COMMIT").await.unwrap();
    };
    let (answer, ()) = tokio::join!(faulty.post("K"), release);
    assert_eq!((answer.status, &answer.body), (200, &faulty.post("warm").await.body));
    assert_eq!(faulty.counts().await, (0, 1));
}

#[tokio::test]
async fn an_open_claim_that_is_undone_meanwhile_answers_the_waiting_request_201() {
    let faulty = Faulty::start(2).await;
    let holder = faulty.sql().await;
    holder.batch_execute(CLAIM_OF_K).await.unwrap();
    let release = async {
        until_somebody_waits_for(&holder).await;
        holder.batch_execute("ROLLBACK").await.unwrap();
    };
    let (answer, ()) = tokio::join!(faulty.post("K"), release);
    assert_eq!(answer.status, 201);
    assert_eq!(faulty.counts().await, (1, 1));
}

#[tokio::test]
async fn a_full_pool_is_503_within_3_s_for_everybody_who_waits() {
    let faulty = Faulty::start(1).await;
    let holder = faulty.sql().await;
    holder.batch_execute("BEGIN; LOCK TABLE idempotency_keys IN ACCESS EXCLUSIVE MODE").await.unwrap();
    let keys: Vec<_> = (0..8).map(|n| format!("K{n}")).collect();
    let answers = join_all(keys.iter().map(|key| faulty.post(key))).await;
    assert!(answers.iter().all(|answer| answer.status == 503));
    let not_executed = answers.iter().filter(|answer| answer.code() == "unavailable").count();
    // The one whose turn came late may have been sent when its time was over.
    assert!(not_executed >= 7, "{not_executed} of 8");
    let orders = holder.query_one("SELECT count(*) - 1 FROM orders", &[]).await.unwrap();
    assert_eq!(orders.get::<_, i64>(0), 0);
    holder.batch_execute("ROLLBACK").await.unwrap();
    let answers = join_all(keys.iter().map(|key| faulty.post(key))).await;
    assert!(answers.iter().all(|answer| matches!(answer.status, 200 | 201)));
    assert_eq!(faulty.counts().await, (8, 8));
}

#[tokio::test]
async fn a_hundred_requests_on_one_key_do_not_keep_other_keys_waiting() {
    let faulty = Faulty::start(8).await;
    let body = order_body();
    let crowd = join_all((0..100).map(|_| faulty.app.post("crowded", &body)));
    let others = async {
        let mut slowest = Duration::ZERO;
        for n in 0..10 {
            let started = Instant::now();
            assert_eq!(faulty.app.post(&format!("other-{n}"), &body).await.status, 201);
            slowest = slowest.max(started.elapsed());
        }
        slowest
    };
    let (answers, slowest) = tokio::join!(crowd, others);
    assert_eq!(answers.iter().filter(|answer| answer.status == 201).count(), 1);
    let codes: Vec<_> = answers.iter().filter(|answer| answer.status >= 400).map(super::Answer::code).collect();
    // A slow machine may make some of so many wait too long for a connection; that they are told.
    assert!(codes.iter().all(|code| code == "unavailable"), "{codes:?}");
    assert!(slowest < Duration::from_secs(2), "{slowest:?}");
    assert_eq!(faulty.counts().await, (11, 11));
}

#[tokio::test]
async fn many_retries_of_a_key_that_somebody_holds_leave_everybody_else_alone() {
    let faulty = Faulty::start(4).await;
    let holder = faulty.sql().await;
    holder.batch_execute(CLAIM_OF_K).await.unwrap();
    let body = order_body();
    let retries = join_all((0..40).map(|_| faulty.app.post("K", &body)));
    let others = async {
        for n in 0..20 {
            assert_eq!(faulty.post(&format!("other-{n}")).await.status, 201);
            let ready = faulty.app.send(faulty.app.request(reqwest::Method::GET, "/readyz"), "/readyz").await;
            assert_eq!(ready.status, 200);
        }
    };
    let (retries, ()) = tokio::join!(retries, others);
    assert!(retries.iter().all(|answer| answer.status == 503), "{retries:?}");
    holder.batch_execute("COMMIT").await.unwrap();
    assert_eq!(faulty.post("K").await.status, 200);
}

/// Ten clients send the same ten locked keys again and again; an organisation that has nothing to do with them orders beside.
#[tokio::test(flavor = "multi_thread")]
async fn locked_keys_of_one_organisation_do_not_hold_up_another() {
    const LOCKED: usize = 20;
    let app = TestApp::start().await;
    let other = app.org(new_org()).await;
    let sql = app.sql().await;
    let claim = "INSERT INTO idempotency_keys
        (org_id, idempotency_key, fingerprint_version, request_sha256, state, order_id, created_at)
        SELECT $1, 'K' || n, 1, '\\x00', 'in_progress', '00000000-0000-7000-8000-000000000000', now()
        FROM generate_series(1, $2::bigint) n";
    sql.batch_execute("BEGIN").await.unwrap();
    sql.execute(claim, &[&app.org.id.0, &i64::try_from(LOCKED).unwrap()]).await.unwrap();
    let body = order_body();
    let until = Instant::now() + Duration::from_secs(5);
    let retries = join_all((1..=LOCKED).map(|n| {
        let (app, body) = (&app, &body);
        async move {
            while Instant::now() < until {
                assert_eq!(app.post(&format!("K{n}"), body).await.status, 503);
            }
        }
    }));
    let beside = join_all((0..8).map(|client| {
        let (app, other, body) = (&app, &other, &body);
        async move {
            let mut slowest = Duration::ZERO;
            for n in 0.. {
                if Instant::now() > until {
                    break;
                }
                let began = Instant::now();
                assert_eq!(app.post_as(&other.token, &format!("{client}-{n}"), body).await.status, 201);
                slowest = slowest.max(began.elapsed());
            }
            slowest
        }
    }));
    let (_, slowest) = tokio::join!(retries, beside);
    // Far from the time after which it would be given up.
    assert!(slowest.iter().max().unwrap() < &Duration::from_millis(1_500), "{slowest:?}");
}
