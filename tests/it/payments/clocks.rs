//! The program's clock is wrong by an hour, either way. Leases, waits and keeping times are the database's, so nothing is taken up
//! too early, nothing is left for an hour, and money is taken once.

use crate::support::app::TestApp;
use crate::support::payments::{LEASE, World, paid_body, use_gateway};
use crate::support::postgres;
use crate::support::work::{work, work_until};
use ichido::clock::Clock;
use serde_json::json;
use std::time::{Duration, Instant};
use time::Duration as Span;

const JUMPS: [Span; 2] = [Span::HOUR, Span::hours(-1)];

fn jumped(span: Span) -> Clock {
    Clock::Fixed(Clock::System.now() + span)
}

#[tokio::test]
async fn a_clock_that_is_an_hour_off_charges_once_and_settles_what_was_lost() {
    for jump in JUMPS {
        let (app, world) = (TestApp::start_at(postgres::database().await, jumped(jump)).await, World::start());
        use_gateway(&app.app, &app.org, &world.stripe()).await;
        assert_eq!(app.post("good", &paid_body("pm_card_visa")).await.status, 201, "{jump}");
        assert_eq!(app.post("good", &paid_body("pm_card_visa")).await.status, 200, "{jump}");
        let started = Instant::now();
        let lost = app.post("lost", &paid_body("pm_sim_lost_answer")).await;
        assert_eq!(lost.status, 202, "{jump}");
        work_until(&app, &lost.id(), "paid", |order| order["status"] == "confirmed").await;
        assert!(started.elapsed() < Duration::from_secs(15), "{jump}: settled only after {:?}", started.elapsed());
        assert_eq!(world.charges().await, 2, "{jump}");
    }
}

#[tokio::test]
async fn servers_whose_clocks_are_two_hours_apart_respect_each_others_leases() {
    for (holder, other) in [(JUMPS[0], JUMPS[1]), (JUMPS[1], JUMPS[0])] {
        let (url, world) = (postgres::database().await, World::start());
        let holder = TestApp::start_at(url.clone(), jumped(holder)).await;
        let mut other = TestApp::start_at(url, jumped(other)).await;
        other.org = holder.org.clone();
        use_gateway(&holder.app, &holder.org, &world.stripe()).await;
        let body = paid_body("pm_sim_slow_600");
        let meanwhile = async {
            tokio::time::sleep(Duration::from_millis(250)).await;
            work(&other).await;
            other.post("k", &body).await
        };
        let (first, meanwhile) = tokio::join!(holder.post("k", &body), meanwhile);
        assert_eq!(first.status, 201, "the holder keeps its lease");
        assert_eq!((meanwhile.status, meanwhile.code().as_str()), (409, "request_in_flight"));
        let wait: u64 = meanwhile.header("Retry-After").unwrap().parse().unwrap();
        assert!((1..=LEASE.as_secs()).contains(&wait), "told to wait for {wait} s");
        assert_eq!(other.post("k", &body).await.body, first.body);
        assert_eq!(world.charges().await, 1);
    }
}

#[tokio::test]
async fn a_clock_that_is_put_right_changes_nothing_that_was_told() {
    let (url, world) = (postgres::database().await, World::start());
    let wrong = TestApp::start_at(url.clone(), jumped(Span::HOUR)).await;
    use_gateway(&wrong.app, &wrong.org, &world.stripe()).await;
    let body = paid_body("pm_card_visa");
    let first = wrong.post("k", &body).await;
    let mut right = TestApp::start_at(url, Clock::System).await;
    right.org = wrong.org.clone();
    let replay = right.post("k", &body).await;
    assert_eq!((replay.status, &replay.body), (200, &first.body));
    let cancelled = right.cancel(&first.id(), "c").await;
    assert_eq!((cancelled.status, &cancelled.json()["status"]), (200, &json!("cancelled")));
    work_until(&right, &first.id(), "given back", |order| order["payment"]["status"] == "refunded").await;
    assert_eq!((world.count("charge", &first.id()).await, world.count("refund", &first.id()).await), (1, 1));
}
