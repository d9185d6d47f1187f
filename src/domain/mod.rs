//! Pure decisions: no I/O, no clock, no async. A moment is always an argument.
//!
//! Nothing here knows of PostgreSQL or HTTP; every other layer may use it.

pub mod api_key;
pub mod backoff;
pub mod canonical;
pub mod case;
pub mod case_view;
pub mod claim;
pub mod cursor;
pub mod differing;
pub mod fields;
pub mod fingerprint;
pub mod ids;
pub mod inbox;
pub mod json;
pub mod key;
pub mod masked;
pub mod operation;
pub mod operation_view;
pub mod order;
pub mod order_request;
pub mod org;
pub mod payment;
pub mod question;
pub mod reply;
pub mod scope;
pub mod sealed;
pub mod step;
pub mod sweep;
pub mod trace;
pub mod validate;
