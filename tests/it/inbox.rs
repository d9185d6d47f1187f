//! Paid once, notified twice: a provider's notification may come twice, out of order, under two ids, before the order, or never.

mod commands;
pub mod endpoint;
mod lists;
mod money;
mod own_payments;
mod receiving;
mod refunds;
mod storm;
mod table;
mod waiting;
