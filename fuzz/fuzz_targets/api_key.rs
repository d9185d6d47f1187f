//! Looks for an input for which `tests/fuzz/api_key.rs` does not hold.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ichido_fuzz::properties::api_key::check(data));
