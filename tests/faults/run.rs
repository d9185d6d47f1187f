//! One run from its first process to its verdict.

use crate::Failure;
use crate::after_kill;
use crate::arguments::Arguments;
use crate::clients::{self, Manner, Record, Shared};
use crate::family::Family;
use crate::fault::{LINES, Line};
use crate::history::writer::Writer;
use crate::injector::Injector;
use crate::judge::{bite, check_history, judge, settle};
use crate::ledger::{Kind, Ledger, Violation};
use crate::notifications;
use crate::progress;
use crate::proxy::Proxy;
use crate::report::Report;
use crate::rolling;
use crate::stack::Stack;
use crate::storm;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

/// So many faults break each line in each way.
const EACH_LINE_IN_EACH_WAY: u32 = 28;

/// Runs, and prints the table; whether nothing was violated.
pub async fn run(arguments: Arguments) -> Result<bool, Failure> {
    bite()?;
    let logs = directory();
    fs::create_dir_all(&logs)?;
    if let Some(shuffles) = arguments.notifications {
        return notifications::run(&arguments, shuffles, &logs).await;
    }
    let seed = arguments.seed.unwrap_or_else(rand::random);
    eprintln!("fault run: seed {seed}, {}, {} faults, logs in {}", arguments.run(), arguments.faults(), logs.display());
    let stack = Stack::start(&arguments, &logs).await?;
    let ledger = Arc::new(Ledger::new(&logs)?);
    let over = CancellationToken::new();
    let book = logs.join("history.jsonl");
    let history = Arc::new(Writer::create(&book)?);
    let (api, clients) = (Arc::clone(&stack.api), u64::from(arguments.clients));
    // Who asks once more in the end is the one after all clients.
    let shared = Shared { api, ledger: Arc::clone(&ledger), history, client: clients, over: over.clone() };
    let telling = AbortOnDropHandle::new(tokio::spawn(progress::tell(Arc::clone(&ledger), arguments.faults())));

    let (records, faults_stopped) = load(&stack, &shared, &arguments, seed).await?;
    let evidence = settle(&stack, &shared, records, faults_stopped, arguments.max_cases).await?;
    drop(telling);

    shared.history.finish()?;
    let history = check_history(&book, &evidence, &stack.gateways)?;
    let of_history = history.violations.iter().map(|found| Violation::new(Kind::History, found.to_string()));
    for violation in
        judge(&evidence, arguments.max_cases).into_iter().chain(of_history).chain(unbroken(&arguments, &stack))
    {
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

/// What clients do and what strikes them meanwhile; what each key came to, and when the faults stopped.
async fn load(
    stack: &Stack,
    shared: &Shared,
    arguments: &Arguments,
    seed: u32,
) -> Result<(Vec<Record>, Instant), Failure> {
    let manner = Manner { paid: arguments.paid, cancels: arguments.cancels() };
    if let Some(keys) = arguments.storm {
        return Ok((storm::run(shared, keys, manner, seed).await, Instant::now()));
    }
    let crowd = crowd(shared, arguments, manner, seed);
    if let Some(rounds) = arguments.rolling {
        rolling::deploy(stack, &shared.ledger, rounds, seed).await?;
    } else {
        let injector = Injector { stack, ledger: &shared.ledger, family: arguments.family() };
        injector.inject(arguments.faults(), u64::from(seed) << 32).await?;
    }
    let faults_stopped = Instant::now();
    shared.over.cancel();
    eprintln!("{:4} s  the faults have stopped", shared.ledger.elapsed().as_secs());
    Ok((crowd.join_all().await.into_iter().flatten().collect(), faults_stopped))
}

/// The clients, each with a seed of its own, so that none depends on when another one draws.
fn crowd(shared: &Shared, arguments: &Arguments, manner: Manner, seed: u32) -> JoinSet<Vec<Record>> {
    let mut crowd = JoinSet::new();
    for number in 0..arguments.clients {
        let (shared, own_seed) = (shared.clone(), u64::from(seed) << 32 | u64::from(number + 1));
        if arguments.rolling.is_some() {
            crowd.spawn(rolling::client(shared, number as usize, manner, own_seed));
        } else {
            crowd.spawn(clients::run(shared, number as usize, manner, own_seed));
        }
    }
    crowd
}

/// Lines on which no request was struck, or nothing passed in pieces, though each was to be broken in each way.
fn unbroken(arguments: &Arguments, stack: &Stack) -> Vec<Violation> {
    if arguments.family() != Family::Lines || arguments.faults() < EACH_LINE_IN_EACH_WAY {
        return Vec::new();
    }
    let all = |line, count: fn(&Proxy) -> u64| stack.proxies(line).into_iter().map(count).sum::<u64>();
    let untried = |line: &Line| all(*line, Proxy::struck) == 0 || all(*line, Proxy::split_count) == 0;
    let there = LINES.into_iter().filter(|line| !stack.proxies(*line).is_empty());
    let lines = there.filter(untried).map(|line| format!("the {}", line.name()));
    lines.map(|what| Violation::new(Kind::NothingStruck, what)).collect()
}

/// `target/faults`, wherever cargo's target directory is.
fn directory() -> PathBuf {
    let temporary = Path::new(env!("CARGO_TARGET_TMPDIR"));
    temporary.parent().unwrap_or(temporary).join("faults")
}
