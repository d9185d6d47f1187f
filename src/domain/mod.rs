//! Pure decisions: no I/O, no clock, no async. A moment is always an argument.
//!
//! Nothing here knows of PostgreSQL or HTTP; every other layer may use it.

pub mod api_key;
pub mod canonical;
pub mod claim;
pub mod cursor;
pub mod differing;
pub mod fields;
pub mod fingerprint;
pub mod ids;
pub mod json;
pub mod key;
pub mod order;
pub mod order_request;
pub mod org;
pub mod reply;
pub mod scope;
pub mod sealed;
pub mod validate;
