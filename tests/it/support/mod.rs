//! What the tests share.

pub mod app;
pub mod contract;
pub mod postgres;
pub mod scripted_http;
