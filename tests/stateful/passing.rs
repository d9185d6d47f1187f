//! What time and operators do: the time to ask has come, the worker's rounds, the clean-up.

use crate::case::{Case, PATIENCE, POLL};
use crate::machine::Machine;
use crate::machine::order::{Back, Books, Truth};
use crate::stage::STAGE;
use crate::support::app::TestApp;
use ichido::app::clean_up::{DEFAULT_BATCH, clean_up};
use ichido::app::inbox::rematch::apply_waiting;
use ichido::app::recover_due::Recovery;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// More rounds than any work needs.
const ROUNDS: usize = 20;
/// How long a notification may take behind its delivery before the worker is called.
const BEHIND: Duration = Duration::from_millis(500);

impl Case {
    fn org_ids(&self) -> Vec<i64> {
        self.tenants.iter().map(|tenant| tenant.org.id.0).collect()
    }

    /// What has no answer is due, and what the gateway does not know was sent minutes ago.
    pub async fn later(&self, machine: &Machine) {
        let sql = &STAGE.sql;
        let due = "UPDATE operations SET next_attempt_at = now() WHERE org_id = ANY ($1) AND kind = 'charge' AND state = 'unknown'";
        sql.execute(due, &[&self.org_ids()]).await.unwrap();
        for place in machine.places() {
            let payment = &machine.orders[place.order].payments[place.payment];
            if payment.is_open() && payment.books == Books::Unknown && payment.truth == Truth::Absent {
                let old = "UPDATE operations SET first_sent_at = now() - interval '5 minutes',
                    last_sent_at = now() - interval '5 minutes' WHERE order_id = $1 AND kind = 'charge' AND fact = $2";
                let id = Uuid::parse_str(&self.ids[place.order]).unwrap();
                let fact = payment.attempt.unwrap_or_default().to_string();
                assert_eq!(sql.execute(old, &[&id, &fact]).await.unwrap(), 1);
            }
        }
    }

    /// The worker's rounds, until nothing is due; then what was told too early.
    pub async fn work(&self, machine: &Machine, app: &TestApp) {
        for _ in 0..ROUNDS {
            let recovery = Recovery::new(app.app.clone());
            let begun = recovery.begin_due().await.unwrap();
            recovery.finished().await;
            if begun == 0 {
                let due =
                    "UPDATE events SET next_attempt_at = now() WHERE org_id = ANY ($1) AND next_attempt_at IS NOT NULL";
                STAGE.sql.execute(due, &[&self.org_ids()]).await.unwrap();
                apply_waiting(&app.app).await.unwrap();
                return self.settled(machine).await;
            }
        }
        panic!("the work has no end");
    }

    /// Waits until every notification that was accepted is applied, but for those that wait for what is not known yet.
    pub async fn settled(&self, machine: &Machine) {
        let payments = machine.orders.iter().flat_map(|order| &order.payments);
        let parked = i64::try_from(payments.filter(|it| it.back == Back::Parked).count()).unwrap();
        let counts = "SELECT count(*) FILTER (WHERE outcome = 'pending'), count(*) FILTER (WHERE outcome = 'parked')
            FROM events WHERE org_id = ANY ($1)";
        let began = Instant::now();
        loop {
            let row = STAGE.sql.query_one(counts, &[&self.org_ids()]).await.unwrap();
            let (pending, waiting): (i64, i64) = (row.get(0), row.get(1));
            if (pending, waiting) == (0, parked) {
                return;
            }
            assert!(
                began.elapsed() < PATIENCE,
                "{pending} notifications are not applied, {waiting} instead of {parked} wait"
            );
            // What found its order locked behind its delivery is left to the worker.
            if began.elapsed() > BEHIND {
                let due = "UPDATE events SET next_attempt_at = now() WHERE org_id = ANY ($1) AND outcome = ANY ($2)";
                let left: &[&str] = if waiting > parked { &["pending", "parked"] } else { &["pending"] };
                STAGE.sql.execute(due, &[&self.org_ids(), &left]).await.unwrap();
                apply_waiting(&STAGE.server(0).app).await.unwrap();
            }
            sleep(POLL).await;
        }
    }

    /// What may be removed is past its time, and is removed.
    pub async fn expire(&self, app: &Arc<TestApp>) {
        let past = "UPDATE idempotency_keys SET expires_at = expires_at - interval '2 days'
            WHERE org_id = ANY ($1) AND state = 'completed'";
        STAGE.sql.execute(past, &[&self.org_ids()]).await.unwrap();
        clean_up(&app.app, DEFAULT_BATCH, &CancellationToken::new()).await.unwrap();
    }
}
