//! Paid once, notified twice: a provider's notification may come twice, out of order, under two ids, before the order, or never.

mod commands;
mod disputes;
pub mod endpoint;
mod goes_on;
mod lists;
mod money;
mod old_bodies;
mod own_payments;
mod receiving;
mod refunds;
mod storm;
mod table;
mod two_attempts;
mod waiting;
