//! Get and list orders, look up keys.
