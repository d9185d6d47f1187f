//! The integration tests: one binary, a real PostgreSQL, real HTTP.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::print_stderr)]

mod api_keys;
mod canary;
mod check_order;
mod clean_up;
mod command_line;
mod database_faults;
mod embedded;
mod fingerprint;
mod fingerprint_properties;
#[path = "../fuzz/mod.rs"]
mod fuzz;
mod fuzz_corpus;
mod gateway;
#[path = "../history/mod.rs"]
mod history;
mod history_checks;
mod house_rules;
mod idempotency;
mod in_flight;
mod inbox;
mod key_lookup;
mod key_syntax;
mod machines;
mod network;
mod openapi;
mod order_list;
mod order_reads;
mod order_reference;
mod payments;
mod processes;
mod races;
mod rate_limit;
mod raw_http;
mod replay;
mod schema;
mod service_pages;
mod sim;
mod sql_files;
mod steps;
mod support;
mod sweep;
mod tenants;
mod trace;
mod validation;
mod validation_amounts;
mod validation_json;
mod validation_text;
