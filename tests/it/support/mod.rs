//! What the tests share.

pub mod app;
pub mod contract;
pub mod postgres;
pub mod process;
pub mod proxy;
pub mod raw;
pub mod wait;
