//! Looks for an input for which `tests/fuzz/notification.rs` does not hold.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ichido_fuzz::properties::notification::check(data));
