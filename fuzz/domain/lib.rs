//! The pure part of the program: the very files of `src/domain`, which need no server, no database and no HTTP.

#[macro_use]
#[path = "../../src/planted.rs"]
pub mod planted;

#[path = "../../src/domain/mod.rs"]
pub mod domain;
