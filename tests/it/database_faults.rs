//! The database is down, full, locked, or cut off in the middle.
