//! Ichido (一度, "once"): creates orders so that a retry, a repeated request or a crash never makes a second one.
//!
//! The modules in the order in which a request meets them; ARCHITECTURE.md walks through one.

#[macro_use]
pub mod failpoint; // where a test may end, fail or delay the program
#[macro_use]
pub mod planted; // faults for the tests to catch

pub mod app; // use cases, one verb for each file
pub mod budget; // memory that many share
pub mod cli; // the command line: serve, worker, dev, migrate, org, key, cleanup, check
pub mod clock; // the program's clock
pub mod config; // settings from the environment, checked together
pub mod db; // PostgreSQL, one function for each statement
pub mod domain; // pure decisions
pub mod embedded; // a private PostgreSQL for `dev`, tests and benches
pub mod gateway; // payment gateways: what is certain after a call, and what is not
pub mod http; // routes: parse, call one use case, render
pub mod metrics; // counters for /metrics
pub mod sim; // the simulated world: Stripe and partners that count effects
pub mod startup; // puts the parts together and refuses what is not safe
pub mod telemetry; // logs
pub mod worker; // periodic jobs
