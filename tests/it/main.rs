//! The integration tests: one binary, a real PostgreSQL, real HTTP.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod api_keys;
mod canary;
mod clean_up;
mod command_line;
mod database_faults;
mod embedded;
mod fingerprint;
mod fingerprint_properties;
mod gateway;
mod house_rules;
mod idempotency;
mod key_syntax;
mod network;
mod openapi;
mod order_reads;
mod processes;
mod races;
mod rate_limit;
mod raw_http;
mod replay;
mod schema;
mod service_pages;
mod sql_files;
mod support;
mod tenants;
mod validation;
