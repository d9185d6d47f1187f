//! Clients that take their time.

use super::{head, post, probe, refused};
use crate::support::app::{TestApp, order_body};
use crate::support::raw::Raw;
use crate::support::wait::{until, until_somebody_waits_for};
use std::time::{Duration, Instant};

#[tokio::test]
async fn a_body_that_stops_coming_is_408_after_10_s_and_makes_no_order() {
    let app = TestApp::start().await;
    let body = order_body().to_string();
    let mut raw = Raw::connect(&app.base).await;
    let started = Instant::now();
    raw.send(head(&app, "K", &format!("Content-Length: {}\r\n", body.len())) + &body[..body.len() - 1]).await;
    let answer = raw.answer().await;
    assert_eq!((answer.status, answer.problem().as_str()), (408, "request_timeout"));
    assert!(answer.closes(), "{answer:?}");
    assert!((9..14).contains(&started.elapsed().as_secs()), "{:?}", started.elapsed());
    // The last byte comes too late to be the body's end, and begins no request.
    raw.send(&body[body.len() - 1..]).await;
    raw.send(post(&app, "L")).await;
    raw.closed().await;
    assert_eq!(app.counts().await, (0, 0));
}

/// Each byte comes in time, and the whole does not.
#[tokio::test]
async fn a_body_that_drips_is_408_after_10_s_all_the_same() {
    let app = TestApp::start().await;
    let body = order_body().to_string();
    let mut raw = Raw::connect(&app.base).await;
    let started = Instant::now();
    raw.send(head(&app, "K", &format!("Content-Length: {}\r\n", body.len()))).await;
    for byte in body.as_bytes().chunks(1).take(24) {
        raw.send(byte).await;
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    let answer = raw.answer().await;
    assert_eq!((answer.status, answer.problem().as_str(), answer.closes()), (408, "request_timeout", true));
    assert!((11..16).contains(&started.elapsed().as_secs()), "{:?}", started.elapsed());
    assert_eq!(app.counts().await, (0, 0));
}

#[tokio::test]
async fn a_chunked_body_that_never_ends_does_not_keep_its_connection() {
    let app = TestApp::start().await;
    let mut raw = Raw::connect(&app.base).await;
    raw.send(head(&app, "K", "Transfer-Encoding: chunked\r\n") + "5\r\nhello\r\n").await;
    assert_eq!(raw.answer().await.status, 411);
    raw.closed().await;
}

#[tokio::test]
async fn a_head_that_never_ends_is_dropped_after_5_s() {
    let app = TestApp::start().await;
    let started = Instant::now();
    let silent = async {
        let mut raw = Raw::connect(&app.base).await;
        raw.send("POST /v1/orders HTTP/1.1\r\nHost: x\r\n").await;
        assert!(raw.rest().await.starts_with("HTTP/1.1 408"));
    };
    let dripping = async {
        let mut raw = Raw::connect(&app.base).await;
        for n in 0..12 {
            raw.send(format!("X-{n}: a\r\n")).await;
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        assert!(!raw.rest().await.contains(" 200 "));
    };
    let mute = async { Raw::connect(&app.base).await.rest().await };
    tokio::join!(silent, dripping, mute);
    assert!((4..10).contains(&started.elapsed().as_secs()), "{:?}", started.elapsed());
}

#[tokio::test]
async fn a_hundred_slow_connections_do_not_stop_a_normal_request() {
    let app = TestApp::start().await;
    let mut slow = Vec::new();
    for n in 0..100 {
        let mut raw = Raw::connect(&app.base).await;
        match n % 4 {
            0 => raw.send("POST /v1/orders HTTP/1.1\r\nHo").await,
            1 => raw.send(head(&app, &format!("slow-{n}"), "Content-Length: 5000\r\n") + "{").await,
            2 => raw.send(head(&app, &format!("slow-{n}"), "Transfer-Encoding: chunked\r\n")).await,
            _ => {}
        }
        slow.push(raw);
    }
    let started = Instant::now();
    assert_eq!(app.post("K", &order_body()).await.status, 201);
    assert!(started.elapsed() < Duration::from_secs(1), "{:?}", started.elapsed());
    assert_eq!(app.counts().await, (1, 1));
}

#[tokio::test]
async fn a_client_that_hangs_up_while_its_order_is_made_finds_it_afterwards() {
    let app = TestApp::start().await;
    let holder = app.sql().await;
    holder.batch_execute("BEGIN; LOCK TABLE orders IN ACCESS EXCLUSIVE MODE").await.unwrap();
    let mut raw = Raw::connect(&app.base).await;
    raw.send(post(&app, "K")).await;
    until_somebody_waits_for(&holder).await;
    raw.reset();
    holder.batch_execute("ROLLBACK").await.unwrap();
    let made = || async { app.counts().await == (1, 1) };
    until("the order is made", Duration::from_secs(5), made).await;
    assert_eq!(app.post("K", &order_body()).await.status, 200);
}

#[tokio::test]
async fn a_refusal_on_a_kept_connection_leaves_it_usable_when_the_body_was_read() {
    let app = TestApp::start().await;
    let mut raw = Raw::connect(&app.base).await;
    for n in 0..3 {
        raw.send(head(&app, &format!("K{n}"), "Content-Length: 2\r\n") + "{}").await;
        let answer = raw.answer().await;
        assert_eq!((answer.status, answer.problem().as_str()), (400, "invalid_request"));
    }
    raw.send(probe()).await;
    assert_eq!(raw.answer().await.status, 200);
    assert_eq!(refused(&app, "GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n").await.0, 404);
}
