//! The inbox's tables: endpoints and their secrets, receipts, events and their aliases, and what notifications do to payments.

pub mod effects;
pub mod endpoints;
pub mod event_list;
pub mod events;
mod old_bodies;
pub mod receipts;
