//! The Idempotency-Key header.
