//! The limit on new claims.
