//! Waiting for something to be so, never for a time to pass.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};
use tokio_postgres::Client;

/// Polls until something holds; panics with `what` when it does not in time.
pub async fn until<F: Future<Output = bool>>(what: &str, limit: Duration, mut holds: impl FnMut() -> F) {
    let started = Instant::now();
    while !holds().await {
        assert!(started.elapsed() < limit, "not within {limit:?}: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Waits until a session waits for a lock that `holder` has.
pub async fn until_somebody_waits_for(holder: &Client) {
    let text = "SELECT count(*) FROM pg_stat_activity WHERE pg_backend_pid() = ANY(pg_blocking_pids(pid))";
    let waits = || async { holder.query_one(text, &[]).await.unwrap().get::<_, i64>(0) > 0 };
    until("a session waits for the lock", Duration::from_secs(10), waits).await;
}

/// Whether a process runs; a zombie has ended.
pub fn runs(pid: &str) -> bool {
    fs::read_to_string(Path::new("/proc").join(pid).join("stat")).is_ok_and(|stat| !stat.contains(") Z "))
}
