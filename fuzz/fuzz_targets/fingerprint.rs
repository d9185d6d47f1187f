//! Looks for an input for which `tests/fuzz/fingerprint.rs` does not hold.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ichido_fuzz::properties::fingerprint::check(data));
