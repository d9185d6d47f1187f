//! What the gateway has told cannot be recorded: nobody waits for that without end, and nobody waits for somebody else.

use crate::support::app::{TestApp, new_org};
use crate::support::payments::{paid_body, start, use_gateway};
use futures_util::future::join_all;
use std::time::{Duration, Instant};

/// The disk is full, as far as the first organisation's payments are concerned.
const FULL: &str = "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'no space' USING ERRCODE = '53100'; END $$;
    CREATE TRIGGER full_disk BEFORE UPDATE ON payments FOR EACH ROW WHEN (OLD.org_id = 1) EXECUTE FUNCTION full_disk()";

async fn pay(app: &TestApp, token: &str, key: String) -> (u16, Duration) {
    let began = Instant::now();
    let answer = app.post_as(token, &key, &paid_body("pm_card_visa")).await;
    (answer.status, began.elapsed())
}

#[tokio::test(flavor = "multi_thread")]
async fn payments_that_cannot_be_recorded_are_answered_in_time_and_hold_up_nobody() {
    const STUCK: usize = 60;
    let (app, world) = start().await;
    let other = app.org(new_org()).await;
    use_gateway(&app.app, &other, &world.stripe()).await;
    assert_eq!(app.org.id.0, 1);
    app.sql().await.batch_execute(FULL).await.unwrap();
    let stuck = join_all((0..STUCK).map(|n| pay(&app, &app.org.token, format!("stuck-{n}"))));
    let beside = join_all((0..STUCK).map(|n| pay(&app, &other.token, format!("beside-{n}"))));
    let (stuck, beside) = tokio::join!(stuck, beside);
    for (status, took) in stuck {
        // The call, and as long as a client waits for its outcome to be recorded.
        assert!(status == 503 && took < Duration::from_secs(9), "{status} after {took:?}");
    }
    for (status, took) in beside {
        assert!(status == 201 && took < Duration::from_secs(5), "{status} after {took:?}");
    }
}
