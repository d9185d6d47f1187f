//! Orders with a payment, against the simulated world: what clients see, and what really happened there.

mod cancelling;
mod clocks;
mod cuts;
mod deciding;
mod flow;
mod freed_keys;
mod late;
mod races;
mod read_only;
mod stuck;
mod together;
pub mod unknown;
