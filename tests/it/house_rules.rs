//! The house rules, held by reading the sources.

pub mod source;
