//! The design, model-checked: one order under one key, clients that try again, processes that die between any two steps,
//! answers that are lost, leases that end, notifications early, late and twice, a cancellation, a person.
//!
//! What is decided, the program's own pure functions decide (`ichido::domain`): what a claim means, where a charge goes, how
//! to ask, what a fact makes of the order, what a notification may change. What surrounds them is written down here as the
//! statements and the use cases have it: which conditions a statement repeats, what one transaction holds together. The
//! model has no clock: a lease or a wait may end at any moment, and whoever works may be slower than anything else.
//!
//! Plain `cargo test` looks at small worlds. `MODEL=full` looks at larger ones (`make verify-model`), and
//! `VERIFY_JSON=FILE` adds the figures to a file.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod check;
mod design;
mod flaws;
mod gateway;
mod properties;
mod settle;
mod state;
#[path = "../tally/mod.rs"]
mod tally;
mod work;
