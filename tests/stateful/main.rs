//! The model-based test: random sequences of what clients, the gateway, operators and time can do, carried out on real servers over
//! HTTP and on a model without a database, whose answers and whose state have to be the same all along.
//!
//! Plain `cargo test` tries few short sequences; `make verify-stateful` tries `CASES` of `OPERATIONS`, by `SEED`. What fails is made as short
//! as it can be, told, and tried first from then on (`proptest-regressions/stateful.txt`).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a case that panics fails, and says where"
)]
#![allow(clippy::print_stderr, reason = "progress, and the seed")]

mod case;
mod compare;
mod gateway;
mod judge;
mod machine;
mod operation;
mod passing;
mod stage;
#[path = "../it/support/mod.rs"]
#[allow(dead_code, reason = "the other tests use more of it")]
mod support;

use case::Case;
use machine::Machine;
use operation::Operation;
use proptest::test_runner::{Config, FileFailurePersistence, RngAlgorithm, TestError, TestRng, TestRunner};
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest};
use serde_json::json;
use std::cell::Cell;
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::panic;
use std::time::Instant;

/// Without the variables.
const CASES: u32 = 24;
const OPERATIONS: usize = 40;
const SEED: u64 = 1;
/// How often a sequence that fails is tried again to make it shorter, and for how long.
const SHORTENINGS: u32 = 2_000;
const SHORTENING_MS: u32 = 120_000;
/// How many choices in a row may turn out not to be possible.
const REJECTS: u32 = 100_000;

const KNOWN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/proptest-regressions/stateful.txt");

fn number<T: std::str::FromStr>(name: &str, default: T) -> T {
    match env::var(name) {
        Ok(text) if !text.is_empty() => text.parse().unwrap_or_else(|_| panic!("{name} is no number: {text}")),
        _ => default,
    }
}

#[test]
fn the_service_does_what_the_model_says() {
    let (cases, operations, seed) = (number("CASES", CASES), number("OPERATIONS", OPERATIONS), number("SEED", SEED));
    assert!(cases > 0 && operations > 0, "nothing to try");
    eprintln!("stateful: {cases} cases of {operations} operations, SEED={seed}");
    let planted = env::var("ICHIDO_PLANTED").is_ok_and(|name| !name.is_empty());
    let known = (!planted).then(|| Box::new(FileFailurePersistence::Direct(KNOWN)) as Box<_>);
    let config = Config {
        cases,
        failure_persistence: known,
        max_shrink_iters: SHORTENINGS,
        max_shrink_time: SHORTENING_MS,
        max_local_rejects: REJECTS,
        max_global_rejects: REJECTS,
        ..Config::default()
    };
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let (began, done) = (Instant::now(), Cell::new(0_usize));
    let hook = panic::take_hook();
    // Each try that fails panics; only the last one is told.
    panic::set_hook(Box::new(|_| {}));
    let strategy = Machine::sequential_strategy(operations..=operations);
    let outcome = TestRunner::new_with_rng(config.clone(), rng).run(&strategy, |(machine, operations, seen)| {
        let tried = operations.len();
        Case::test_sequential(config.clone(), machine, operations, seen);
        done.set(done.get() + tried);
        Ok(())
    });
    panic::set_hook(hook);
    let seconds = began.elapsed().as_secs_f64();
    report(done.get(), u32::from(outcome.is_err()), seed, seconds);
    eprintln!("stateful: {} operations in {seconds:.1} s", done.get());
    match outcome {
        Ok(()) => {}
        Err(TestError::Fail(why, (_, operations, _))) => panic!("{}", told(&why.to_string(), &operations, seed)),
        Err(TestError::Abort(why)) => panic!("it could not be tried: {why}"),
    }
}

/// The shortest sequence that fails.
fn told(why: &str, operations: &[Operation], seed: u64) -> String {
    let mut told = format!("{why}\nSEED={seed}, after\n");
    for (number, operation) in operations.iter().enumerate() {
        let _ = writeln!(told, "{:3}. {operation:?}", number + 1);
    }
    told
}

/// Writes the figures, where they are asked for.
fn report(operations: usize, violations: u32, seed: u64, seconds: f64) {
    if let Some(file) = env::var_os("VERIFY_JSON").filter(|file| !file.is_empty()) {
        let figures = json!({
            "run": "stateful", "faults": 0, "operations": operations, "violations": violations, "seed": seed,
            "seconds": seconds,
        });
        fs::write(&file, format!("{figures}\n")).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    }
}
