//! SIGTERM and SIGINT: the end in order.

use super::Prepared;
use crate::support::postgres;
use crate::support::process::Program;
use crate::support::raw::Raw;
use crate::support::wait::{until, until_somebody_waits_for};
use rustix::process::Signal;
use std::time::{Duration, Instant};
use tokio::net::TcpStream;

#[tokio::test]
async fn a_request_in_flight_is_answered_and_idle_connections_are_not_waited_for() {
    for signal in [Signal::TERM, Signal::INT] {
        let prepared = Prepared::new().await;
        let mut running = Program::serve(&prepared.url, "127.0.0.1:0").start();
        let base = running.base().await;
        let mut idle = Vec::new();
        for _ in 0..5 {
            let mut connection = Raw::connect(&base).await;
            connection.send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n").await;
            assert_eq!(connection.answer().await.status, 200);
            idle.push(connection);
        }
        // Connections that have never sent anything.
        let silent = [Raw::connect(&base).await, Raw::connect(&base).await];
        let holder = postgres::connect(&prepared.url).await;
        holder.batch_execute("BEGIN; LOCK TABLE orders IN ACCESS EXCLUSIVE MODE").await.unwrap();
        let stop = async {
            until_somebody_waits_for(&holder).await;
            running.signal(signal);
            tokio::time::sleep(Duration::from_millis(900)).await;
            holder.batch_execute("ROLLBACK").await.unwrap();
            Instant::now()
        };
        let (seen, released) = tokio::join!(prepared.post(&base, "K"), stop);
        assert_eq!(seen.expect("an answer").status, 201);
        let ended = running.ended_within(Duration::from_secs(5)).await;
        assert!(released.elapsed() < Duration::from_secs(3), "{:?}", released.elapsed());
        assert_eq!(ended.status.code(), Some(0), "{ended:?}");
        assert_eq!(prepared.counts().await, (1, 1));
        drop((idle, silent));
    }
}

#[tokio::test]
async fn a_connection_that_has_come_before_others_are_refused_is_answered() {
    let prepared = Prepared::new().await;
    let mut running = Program::serve(&prepared.url, "127.0.0.1:0").start();
    let base = running.base().await;
    let address = base.strip_prefix("http://").unwrap().to_owned();
    let new = Raw::connect(&base).await;
    let mut used = Raw::connect(&base).await;
    used.send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n").await;
    assert_eq!(used.answer().await.status, 200);
    running.signal(Signal::TERM);
    let refused = async {
        while TcpStream::connect(&address).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), refused).await.expect("connections are refused");
    for mut connection in [new, used] {
        connection.send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n").await;
        let answer = connection.answer().await;
        assert_eq!(
            (answer.status, answer.headers.get("connection").and_then(|value| value.to_str().ok())),
            (200, Some("close"))
        );
    }
    let ended = running.ended_within(Duration::from_secs(5)).await;
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    assert!(!running.err().contains("Error accepting"), "{}", running.err());
}

#[tokio::test]
async fn readyz_says_no_first_while_requests_are_still_served() {
    let prepared = Prepared::new().await;
    let mut running = Program::new(&["serve", "--listen", "127.0.0.1:0"])
        .database(&prepared.url)
        .env("ICHIDO_DRAIN", "1500ms")
        .start();
    let base = running.base().await;
    assert_eq!(prepared.get(&base, "/readyz").await.unwrap().status, 200);
    running.signal(Signal::TERM);
    let signalled = Instant::now();
    let not_ready = || async { prepared.get(&base, "/readyz").await.is_some_and(|seen| seen.status == 503) };
    until("readyz says no", Duration::from_millis(1_200), not_ready).await;
    assert_eq!(prepared.post(&base, "K").await.unwrap().status, 201);
    let ended = running.ended_within(Duration::from_secs(8)).await;
    assert!(signalled.elapsed() >= Duration::from_millis(1_500), "{:?}", signalled.elapsed());
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    assert!(prepared.get(&base, "/healthz").await.is_none());
}

#[tokio::test]
async fn a_second_signal_does_not_wait_for_the_drain() {
    let prepared = Prepared::new().await;
    let mut running =
        Program::new(&["serve", "--listen", "127.0.0.1:0", "--drain", "30s"]).database(&prepared.url).start();
    let base = running.base().await;
    running.signal(Signal::TERM);
    let not_ready = || async { prepared.get(&base, "/readyz").await.is_some_and(|seen| seen.status == 503) };
    until("readyz says no", Duration::from_secs(5), not_ready).await;
    running.signal(Signal::TERM);
    assert_eq!(running.ended_within(Duration::from_secs(5)).await.status.code(), Some(0));
}

#[tokio::test]
async fn a_worker_ends_with_0() {
    let prepared = Prepared::new().await;
    for signal in [Signal::TERM, Signal::INT] {
        let mut running = Program::new(&["worker"]).database(&prepared.url).start();
        until("the worker works", Duration::from_secs(20), || async { running.err().contains("working") }).await;
        running.signal(signal);
        let ended = running.ended_within(Duration::from_secs(5)).await;
        assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    }
}
