//! What holds for every input of the program's readers, whoever wrote it: one property for each, in one place for two uses.
//!
//! The fuzz targets in `fuzz/` look for an input for which a property does not hold; the integration tests replay the corpus in
//! `fuzz/corpus` on any machine. Nothing here may need more of the program than `domain`, nor a clock, nor chance.

pub mod api_key;
pub mod choices;
pub mod cursor;
pub mod fingerprint;
pub mod json;
pub mod key_header;
pub mod notification;
pub mod order;
pub mod signature;
pub mod spelling;

/// Panics for an input for which it does not hold.
pub type Property = fn(&[u8]);

/// Every target by its name, which is that of its file in `fuzz/fuzz_targets`, its corpus and its dictionary.
pub const TARGETS: [(&str, Property); 8] = [
    ("api_key", api_key::check),
    ("cursor", cursor::check),
    ("fingerprint", fingerprint::check),
    ("json", json::check),
    ("key_header", key_header::check),
    ("notification", notification::check),
    ("order", order::check),
    ("signature", signature::check),
];
