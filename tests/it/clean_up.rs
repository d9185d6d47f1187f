//! Expired keys are removed, and nothing else.
