//! One run from its first process to its verdict.

use crate::Failure;
use crate::after_kill;
use crate::arguments::Arguments;
use crate::clients::{self, Manner, Record, Shared};
use crate::history::writer::Writer;
use crate::injector::Injector;
use crate::judge::{bite, check_history, judge, settle};
use crate::ledger::{Kind, Ledger, Violation};
use crate::notifications;
use crate::progress;
use crate::report::Report;
use crate::stack::Stack;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

/// Runs, and prints the table; whether nothing was violated.
pub async fn run(arguments: Arguments) -> Result<bool, Failure> {
    bite()?;
    let logs = directory();
    fs::create_dir_all(&logs)?;
    if let Some(shuffles) = arguments.notifications {
        return notifications::run(&arguments, shuffles, &logs).await;
    }
    let seed = arguments.seed.unwrap_or_else(rand::random);
    eprintln!("fault run: seed {seed}, {} faults, logs in {}", arguments.faults, logs.display());
    let stack = Stack::start(&arguments, &logs).await?;
    let ledger = Arc::new(Ledger::new(&logs)?);
    let over = CancellationToken::new();
    let book = logs.join("history.jsonl");
    let history = Arc::new(Writer::create(&book)?);
    let (api, clients) = (Arc::clone(&stack.api), u64::from(arguments.clients));
    // Who asks once more in the end is the one after all clients.
    let shared = Shared { api, ledger: Arc::clone(&ledger), history, client: clients, over: over.clone() };
    let telling = AbortOnDropHandle::new(tokio::spawn(progress::tell(Arc::clone(&ledger), arguments.faults)));

    let manner = Manner { paid: arguments.paid, cancels: arguments.cancels() };
    let mut crowd = JoinSet::new();
    for number in 0..arguments.clients {
        // A seed of its own for each, so that none depends on when another one draws.
        let own_seed = u64::from(seed) << 32 | u64::from(number + 1);
        crowd.spawn(clients::run(shared.clone(), number as usize, manner, own_seed));
    }
    let injector = Injector { stack: &stack, ledger: &ledger, single_kills: arguments.single_kills };
    injector.inject(arguments.faults, u64::from(seed) << 32).await?;
    let faults_stopped = Instant::now();
    over.cancel();
    eprintln!("{:4} s  the faults have stopped", ledger.elapsed().as_secs());
    let records: Vec<Record> = crowd.join_all().await.into_iter().flatten().collect();
    let evidence = settle(&stack, &shared, records, faults_stopped, arguments.max_cases).await?;
    drop(telling);

    shared.history.finish()?;
    let history = check_history(&book, &evidence, stack.gateway.as_ref())?;
    let of_history = history.violations.iter().map(|found| Violation::new(Kind::History, found.to_string()));
    for violation in judge(&evidence, arguments.max_cases).into_iter().chain(of_history) {
        ledger.violated(violation);
    }
    for what in stack.ended_by_themselves() {
        ledger.violated(Violation::new(Kind::Process, what));
    }
    if arguments.single_kills
        && let Some(late) = after_kill::check(&ledger.figures().after_kill)
    {
        ledger.violated(late);
    }
    let report =
        Report { arguments: &arguments, seed, stack: &stack, ledger: &ledger, evidence: &evidence, history: &history };
    println!("{report}");
    if let Some(file) = &arguments.json {
        fs::write(file, format!("{:#}\n", report.json()))?;
    }
    Ok(ledger.figures().violations.is_empty())
}

/// `target/faults`, wherever cargo's target directory is.
fn directory() -> PathBuf {
    let temporary = Path::new(env!("CARGO_TARGET_TMPDIR"));
    temporary.parent().unwrap_or(temporary).join("faults")
}
