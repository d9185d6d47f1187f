//! The worker's rounds, one at a time, so that a test says when they are.

use crate::support::app::TestApp;
use ichido::app::recover_due::Recovery;
use serde_json::Value;
use std::time::{Duration, Instant};

/// One round of the worker, to its end.
pub async fn work(app: &TestApp) {
    let recovery = Recovery::new(app.app.clone());
    // What could not be looked at now is looked at in the next round.
    let _ = recovery.begin_due().await;
    recovery.finished().await;
}

/// Rounds of the worker until the order stands as expected.
pub async fn work_until(app: &TestApp, order_id: &str, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        work(app).await;
        let order = app.order(order_id).await;
        if fits(&order) {
            return order;
        }
        assert!(Instant::now() < end, "never {what}: {order}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
