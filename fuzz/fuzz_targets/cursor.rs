//! Looks for an input for which `tests/fuzz/cursor.rs` does not hold.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ichido_fuzz::properties::cursor::check(data));
