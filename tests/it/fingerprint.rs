//! What makes a request the same, seen through HTTP.
