//! The properties, for the fuzz targets.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[path = "../../tests/fuzz/mod.rs"]
pub mod properties;
