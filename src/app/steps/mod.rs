//! Business steps: what is done for an order once it is paid. Each is an operation like a charge, with a policy that says how
//! to find out what became of it.

mod begin;
mod calling;
mod cases;
mod finding;
pub mod finish;
pub mod first_sending;
pub mod partners;
mod record;
pub mod run;
pub mod set_policy;

pub(in crate::app) use begin::{begin_steps, steps_of, stop_steps};
pub(in crate::app) use record::step_done;
