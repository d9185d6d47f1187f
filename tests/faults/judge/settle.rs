//! Waits until nothing moves any more, and asks once more about what no client has an answer to.

use crate::Failure;
use crate::clients::{Record, Shared, until_definite};
use crate::judge::{Evidence, judge};
use crate::ledger::Kind;
use crate::stack::Stack;
use futures_util::future::join_all;
use rand::SeedableRng;
use rand::rngs::StdRng;
use std::time::{Duration, Instant};
use tokio::time::sleep;

/// After the faults have stopped, everything has to be settled within this time.
pub const LIMIT: Duration = Duration::from_mins(1);
/// How long a key is asked about that no client got an answer to.
const LAST_QUESTION: Duration = Duration::from_secs(20);
/// So many are asked about at once, and so many altogether.
const AT_ONCE: usize = 32;
const MOST_QUESTIONS: usize = 320;
const POLL: Duration = Duration::from_secs(2);

/// The evidence once nothing is unfinished, or [`LIMIT`] after the faults stopped.
pub async fn settle(
    stack: &Stack,
    shared: &Shared,
    mut records: Vec<Record>,
    faults_stopped: Instant,
    max_cases: usize,
) -> Result<Evidence, Failure> {
    let mut evidence = wait(stack, records, faults_stopped, max_cases).await?;
    records = std::mem::take(&mut evidence.records);
    if records.iter().all(|record| record.told.is_some()) {
        return Ok(Evidence { records, ..evidence });
    }
    let unanswered: Vec<_> = records.iter_mut().filter(|record| record.told.is_none()).take(MOST_QUESTIONS).collect();
    shared.ledger.log(&format!("asking once more about {} keys without an answer", unanswered.len()));
    let mut unanswered = unanswered.into_iter().peekable();
    while unanswered.peek().is_some() {
        let questions = unanswered.by_ref().take(AT_ONCE).map(|record| async move {
            let mut random = StdRng::seed_from_u64(0);
            record.told = until_definite(shared, &record.call.clone(), &mut random, LAST_QUESTION).await;
        });
        join_all(questions).await;
    }
    wait(stack, records, faults_stopped, max_cases).await
}

/// Looks again and again, as long as what is wrong may still come right by itself.
async fn wait(stack: &Stack, records: Vec<Record>, since: Instant, max_cases: usize) -> Result<Evidence, Failure> {
    let mut evidence = Evidence::collect(stack, records).await?;
    while since.elapsed() < LIMIT && may_still_settle(&evidence, max_cases) {
        sleep(POLL).await;
        evidence = Evidence::collect(stack, std::mem::take(&mut evidence.records)).await?;
    }
    Ok(evidence)
}

fn may_still_settle(evidence: &Evidence, max_cases: usize) -> bool {
    let unsettled = |kind| matches!(kind, Kind::Unfinished | Kind::WrongRefund | Kind::WrongStep | Kind::Cases);
    judge(evidence, max_cases).iter().any(|violation| unsettled(violation.kind))
}
