//! Clients that hang up, connections that break.
