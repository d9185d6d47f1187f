//! Many steps at once: taken together, called side by side, recorded together.

use super::{KINDS, state, with_all_steps};
use crate::support::app::TestApp;
use crate::support::payments::{World, paid_body};
use crate::support::wait::until;
use ichido::app::recover_due::Recovery;
use ichido::domain::step::StepKind;
use std::time::Duration;

const ORDERS: usize = 12;

async fn paid_orders(app: &TestApp) -> Vec<String> {
    let mut ids = Vec::new();
    for n in 0..ORDERS {
        ids.push(app.post(&format!("k{n}"), &paid_body("pm_card_visa")).await.id());
    }
    ids
}

async fn rounds(recoveries: &[&Recovery]) {
    // Two, since the shipment waits for the stock.
    for _ in 0..2 {
        for recovery in recoveries {
            recovery.begin_due().await.unwrap();
        }
        for recovery in recoveries {
            recovery.finished().await;
        }
    }
}

async fn each_was_done_once(app: &TestApp, world: &World, ids: &[String]) {
    for id in ids {
        assert_eq!(app.order(id).await["status"], "completed");
        for kind in KINDS {
            assert_eq!(world.count(kind.as_str(), id).await, 1, "{} of {id}", kind.as_str());
        }
    }
    let again = "SELECT count(*) FROM operations WHERE attempts <> 1";
    assert_eq!(app.sql().await.query_one(again, &[]).await.unwrap().get::<_, i64>(0), 0);
}

#[tokio::test]
async fn each_is_done_once_and_told_once() {
    let (app, world) = with_all_steps().await;
    let ids = paid_orders(&app).await;
    rounds(&[&Recovery::new(app.app.clone())]).await;
    each_was_done_once(&app, &world, &ids).await;
    let told = "SELECT what, details ->> 'kind', details ->> 'from', details ->> 'to', details ->> 'gateway_reference',
            details -> 'order' ->> 'from', details -> 'order' ->> 'to'
        FROM journal WHERE order_id = $1::text::uuid AND details ->> 'kind' <> 'charge' ORDER BY entry_id";
    for id in &ids {
        let entries = app.sql().await.query(told, &[id]).await.unwrap();
        assert_eq!(entries.len(), KINDS.len());
        for (n, entry) in entries.iter().enumerate() {
            let text = |column| entry.get::<_, &str>(column);
            assert_eq!((text(0), text(2), text(3)), ("operation_attempted", "leased", "done"));
            assert!(text(4).starts_with(text(1)), "the partner's own name for it");
            // The last one is the shipment, and completes the order.
            let expected = if n + 1 == KINDS.len() { ("confirmed", "completed") } else { ("confirmed", "confirmed") };
            assert_eq!((text(5), text(6)), expected, "{n} {}", text(1));
        }
    }
}

#[tokio::test]
async fn two_processes_share_it() {
    let (app, world) = with_all_steps().await;
    let ids = paid_orders(&app).await;
    rounds(&[&Recovery::new(app.app.clone()), &Recovery::new(app.app.clone())]).await;
    each_was_done_once(&app, &world, &ids).await;
}

#[tokio::test]
async fn an_order_that_somebody_holds_keeps_nobody_else_waiting() {
    let (app, world) = with_all_steps().await;
    let ids = paid_orders(&app).await;
    let holder = app.sql().await;
    holder.batch_execute("BEGIN").await.unwrap();
    holder.execute("SELECT FROM orders WHERE order_id = $1::text::uuid FOR UPDATE", &[&ids[3]]).await.unwrap();
    let recovery = Recovery::new(app.app.clone());
    recovery.begin_due().await.unwrap();
    for id in ids.iter().filter(|id| **id != ids[3]) {
        until("the others are recorded", Duration::from_secs(1), || async {
            state(&app.order(id).await, StepKind::ConfirmationMail) == "done"
        })
        .await;
    }
    assert_eq!(state(&app.order(&ids[3]).await, StepKind::ConfirmationMail), "ready", "as it was shown before");
    holder.batch_execute("ROLLBACK").await.unwrap();
    recovery.finished().await;
    rounds(&[&recovery]).await;
    each_was_done_once(&app, &world, &ids).await;
}

#[tokio::test]
async fn whoever_lost_the_lease_still_tells_that_it_was_done() {
    let (app, world) = with_all_steps().await;
    let ids = paid_orders(&app).await;
    let recovery = Recovery::new(app.app.clone());
    recovery.begin_due().await.unwrap();
    // Somebody else takes all of it over while the partners work.
    let taken = "UPDATE operations SET lease_token = gen_random_uuid() WHERE state = 'leased'";
    app.sql().await.execute(taken, &[]).await.unwrap();
    recovery.finished().await;
    rounds(&[&recovery]).await;
    each_was_done_once(&app, &world, &ids).await;
}
