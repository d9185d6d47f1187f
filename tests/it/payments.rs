//! Orders with a payment, against the simulated world: what clients see, and what really happened there.

mod cancelling;
mod cuts;
mod deciding;
mod flow;
mod late;
mod races;
mod together;
pub mod unknown;
