//! What happened to an order, told in one record: over HTTP and on the command line; and the ledger of effects as a list.

mod command;
mod notified;
mod operations;
pub mod orders;
