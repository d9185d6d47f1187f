//! What the tests share.

pub mod app;
pub mod bodies;
pub mod contract;
pub mod held;
pub mod payments;
pub mod postgres;
pub mod process;
pub mod proxy;
pub mod raw;
pub mod scripted_http;
pub mod wait;
pub mod wire;
pub mod work;
