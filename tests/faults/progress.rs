//! A line on stderr every few seconds.

use crate::ledger::{Figures, Ledger};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

const EVERY: Duration = Duration::from_secs(5);

/// Tells how it goes, until it is dropped.
pub async fn tell(ledger: Arc<Ledger>, faults: u32) {
    loop {
        sleep(EVERY).await;
        eprintln!("{}", line(&ledger, faults));
    }
}

fn line(ledger: &Ledger, faults: u32) -> String {
    let Figures { requests, answers, faults: injected, settled, violations, .. } = ledger.figures();
    let answers: Vec<_> = answers.iter().map(|(label, count)| format!("{label}: {count}")).collect();
    format!(
        "{:4} s  faults {}/{faults}  requests {requests}  settled {settled}  violations {}  {}",
        ledger.elapsed().as_secs(),
        injected.values().sum::<u64>(),
        violations.len(),
        answers.join(", ")
    )
}
